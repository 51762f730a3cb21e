#include <rdmanet/kernel/address.hpp>

#include "message.hpp"

#include <rdmanet/base/format.hpp>

#include <linux/if_addr.h>
#include <linux/rtnetlink.h>

#include <cerrno>

namespace rdmanet::kernel {
namespace {

using base::Family;
using base::IpPrefix;

/// IFA_LOCAL is the own address if IFA_ADDRESS is the peer's. For IPv4 both are present; IPv6 has IFA_LOCAL only with
/// a peer.
std::optional<Address> parse_address(const nlmsghdr& message, unsigned ifindex) {
    const auto parsed = parse_message<ifaddrmsg>(message, RTM_NEWADDR);
    if (!parsed || parsed->first.ifa_index != ifindex) return std::nullopt;
    const auto& [header, attributes] = *parsed;
    const auto local = attributes.find(IFA_LOCAL);
    const auto address = parse_ip(header.ifa_family, local ? local : attributes.find(IFA_ADDRESS));
    const auto prefix = address ? IpPrefix::make(*address, header.ifa_prefixlen) : std::nullopt;
    if (!prefix) return std::nullopt;
    const std::uint32_t flags = attributes.find_u32(IFA_FLAGS).value_or(header.ifa_flags);
    return Address{.prefix = *prefix, .is_duplicate = (flags & IFA_F_DADFAILED) != 0};
}

Message address_message(int type, int flags, unsigned ifindex, const IpPrefix& prefix) {
    ifaddrmsg header{};
    header.ifa_family = address_family(prefix.family());
    header.ifa_prefixlen = static_cast<std::uint8_t>(prefix.length());
    header.ifa_index = ifindex;
    Message request(type, flags | NLM_F_ACK, header);
    request.put_ip(IFA_LOCAL, prefix.address());
    request.put_ip(IFA_ADDRESS, prefix.address());
    return request;
}

} // namespace

std::vector<Address> list_addresses(Socket& socket, unsigned ifindex) {
    socket.demand_strict_checks();
    ifaddrmsg header{};
    header.ifa_index = ifindex;
    Message request(RTM_GETADDR, 0, header);
    return socket.list<Address>(request, fmt::format("list addresses of interface number {}", ifindex),
                                [&](const nlmsghdr& message, std::vector<Address>& found) {
                                    if (const auto address = parse_address(message, ifindex)) found.push_back(*address);
                                });
}

void add_address(Socket& socket, unsigned ifindex, const IpPrefix& prefix, Dad dad) {
    Message request = address_message(RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL, ifindex, prefix);
    if (dad != Dad::full) request.put_u32(IFA_FLAGS, dad == Dad::none ? IFA_F_NODAD : IFA_F_OPTIMISTIC);
    if (prefix.family() == Family::v4 && prefix.length() <= 30) request.put_ip(IFA_BROADCAST, prefix.last());
    const Answer answer = socket.ask(request);
    if (answer.errno_value != 0 && answer.errno_value != EEXIST)
        throw NetlinkError(fmt::format("add address {} to interface number {}", prefix, ifindex), answer.errno_value,
                           answer.kernel_message);
}

} // namespace rdmanet::kernel
