#include <rdmanet/kernel/link.hpp>

#include "message.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>

#include <linux/if.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>

namespace rdmanet::kernel {
namespace {

using base::quoted;

std::string_view kind_name(const Macvlan&) {
    return "macvlan";
}
std::string_view kind_name(const Ipvlan&) {
    return "ipvlan";
}
constexpr std::string_view kind_name(const Ipoib&) {
    return "ipoib";
}

void put_data(Message& request, const Macvlan& macvlan) {
    request.put_u32(IFLA_MACVLAN_MODE, static_cast<std::uint32_t>(macvlan.mode));
    if (macvlan.broadcast_queue_length) request.put_u32(IFLA_MACVLAN_BC_QUEUE_LEN, *macvlan.broadcast_queue_length);
}

void put_data(Message& request, const Ipvlan& ipvlan) {
    request.put_u16(IFLA_IPVLAN_MODE, static_cast<std::uint16_t>(ipvlan.mode));
    request.put_u16(IFLA_IPVLAN_FLAGS, static_cast<std::uint16_t>(ipvlan.flag));
}

/// Multicast groups of programs in the pod need "umcast" (Documentation/infiniband/ipoib.rst).
void put_data(Message& request, const Ipoib& ipoib) {
    if (ipoib.pkey) request.put_u16(IFLA_IPOIB_PKEY, *ipoib.pkey);
    if (ipoib.mode) request.put_u16(IFLA_IPOIB_MODE, static_cast<std::uint16_t>(*ipoib.mode));
    request.put_u16(IFLA_IPOIB_UMCAST, 1);
}

void put_kind(Message& request, const std::variant<Macvlan, Ipvlan, Ipoib>& kind) {
    std::visit(
        [&](const auto& chosen) {
            request.nest(IFLA_LINKINFO, [&] {
                request.put_text(IFLA_INFO_KIND, kind_name(chosen));
                request.nest(IFLA_INFO_DATA, [&] { put_data(request, chosen); });
            });
        },
        kind);
}

/// The whole message except the namespace.
Message new_link_message(const ChildSpec& child) {
    ifinfomsg header{};
    header.ifi_index = static_cast<int>(child.ifindex);
    if (child.up) header.ifi_change = header.ifi_flags = IFF_UP;
    Message request(RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, header);
    request.put_text(IFLA_IFNAME, child.name.to_string());
    request.put_u32(IFLA_LINK, child.parent_ifindex);
    if (child.mac) request.put(IFLA_ADDRESS, child.mac->bytes());
    if (child.mtu) request.put_u32(IFLA_MTU, *child.mtu);
    put_kind(request, child.kind);
    return request;
}

void execute(Socket& socket, Message& request, const ChildSpec& child) {
    const auto kind = std::visit([](const auto& chosen) { return kind_name(chosen); }, child.kind);
    socket.execute(request,
                   fmt::format("create {} {} on {}", kind, quoted(child.name.to_string()), quoted(child.parent_name)));
}

} // namespace

void add_link(Socket& socket, const ChildSpec& child) {
    Message request = new_link_message(child);
    if (child.netns != nullptr) request.put_u32(IFLA_NET_NS_FD, static_cast<std::uint32_t>(child.netns->fd()));
    execute(socket, request, child);
}

} // namespace rdmanet::kernel
