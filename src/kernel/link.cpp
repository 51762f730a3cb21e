#include <rdmanet/kernel/link.hpp>

#include "message.hpp"
#include "parse.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>

#include <linux/if.h>
#include <linux/if_arp.h>
#include <linux/if_link.h>
#include <linux/ip.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

namespace rdmanet::kernel {
namespace {

using base::quoted;

// Attributes since Linux 6.3, which the headers of a build may not have (IFLA_..., linux/if_link.h).
constexpr int kGsoIpv4MaxSize = 63;
constexpr int kGroIpv4MaxSize = 64;

Macvlan parse_macvlan(const Attributes& data) {
    Macvlan macvlan;
    macvlan.mode = static_cast<MacvlanMode>(data.find_u32(IFLA_MACVLAN_MODE).value_or(0));
    macvlan.broadcast_queue_length = data.find_u32(IFLA_MACVLAN_BC_QUEUE_LEN);
    return macvlan;
}

Ipvlan parse_ipvlan(const Attributes& data) {
    Ipvlan ipvlan;
    ipvlan.mode = static_cast<IpvlanMode>(data.find_u16(IFLA_IPVLAN_MODE).value_or(0));
    ipvlan.flag = static_cast<IpvlanFlag>(data.find_u16(IFLA_IPVLAN_FLAGS).value_or(0));
    return ipvlan;
}

Ipoib parse_ipoib(const Attributes& data) {
    Ipoib ipoib;
    ipoib.pkey = data.find_u16(IFLA_IPOIB_PKEY);
    if (const auto mode = data.find_u16(IFLA_IPOIB_MODE)) ipoib.mode = static_cast<IpoibMode>(*mode);
    return ipoib;
}

void parse_kind(const Attributes& info, Link& link) {
    Bytes data;
    info.read({{IFLA_INFO_KIND, &link.kind}, {IFLA_INFO_DATA, &data}});
    if (link.kind == "macvlan") link.macvlan = parse_macvlan(Attributes(data));
    if (link.kind == "ipvlan") link.ipvlan = parse_ipvlan(Attributes(data));
    if (link.kind == "ipoib") link.ipoib = parse_ipoib(Attributes(data));
}

void parse_xdp(const Attributes& xdp, Link& link) {
    const auto add = [&](int attribute, std::uint32_t mode) {
        if (const auto id = xdp.find_u32(attribute)) link.xdp.push_back({.id = *id, .mode = mode});
    };
    add(IFLA_XDP_SKB_PROG_ID, XDP_FLAGS_SKB_MODE);
    add(IFLA_XDP_DRV_PROG_ID, XDP_FLAGS_DRV_MODE);
    add(IFLA_XDP_HW_PROG_ID, XDP_FLAGS_HW_MODE);
}

Message get_link_message(unsigned ifindex = 0) {
    ifinfomsg header{};
    header.ifi_index = static_cast<int>(ifindex);
    Message request(RTM_GETLINK, 0, header);
    request.put_u32(IFLA_EXT_MASK, RTEXT_FILTER_SKIP_STATS);
    return request;
}

std::string_view kind_name(const Macvlan&) {
    return "macvlan";
}
std::string_view kind_name(const Ipvlan&) {
    return "ipvlan";
}
std::string_view kind_name(const Ipoib&) {
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

std::optional<Link> find(Socket& socket, Message& request, std::string_view what) {
    const Answer answer = socket.ask(request);
    if (answer.errno_value == ENODEV) return std::nullopt;
    if (answer.errno_value != 0)
        throw NetlinkError(fmt::format("look up interface {}", what), answer.errno_value, answer.kernel_message);
    return answer.message == nullptr ? std::nullopt : parse_link(*answer.message);
}

void change_altname(Socket& socket, int type, int flags, unsigned ifindex, std::string_view altname) {
    ifinfomsg header{};
    header.ifi_index = static_cast<int>(ifindex);
    Message request(type, flags, header);
    request.nest(IFLA_PROP_LIST, [&] { request.put_text(IFLA_ALT_IFNAME, altname); });
    socket.execute(request,
                   fmt::format("{} alternative name {}", type == RTM_NEWLINKPROP ? "add" : "remove", quoted(altname)));
}

constexpr std::size_t kQueuePairBytes = 4;
constexpr std::size_t kInfinibandBytes = kQueuePairBytes + 16;

/// Kinds whose IFLA_LINK is the other end of a pair, not a link below.
bool is_end_of_pair(const Link& link) {
    return link.kind == "veth" || link.kind == "netkit";
}

} // namespace

std::optional<Link> parse_link(const nlmsghdr& message) {
    const auto parsed = parse_message<ifinfomsg>(message, RTM_NEWLINK);
    if (!parsed) return std::nullopt;
    const auto& [header, attributes] = *parsed;
    Link link;
    link.ifindex = static_cast<unsigned>(header.ifi_index);
    link.hardware_type = header.ifi_type;
    link.flags = header.ifi_flags;
    Bytes address;
    Bytes kind;
    Bytes xdp;
    attributes.read({{IFLA_IFNAME, &link.name},
                     {IFLA_IFALIAS, &link.alias},
                     {IFLA_QDISC, &link.qdisc},
                     {IFLA_PARENT_DEV_NAME, &link.parent_device},
                     {IFLA_ADDRESS, &address},
                     {IFLA_MTU, &link.mtu},
                     {IFLA_LINK, &link.parent_ifindex},
                     {IFLA_LINK_NETNSID, &link.parent_netnsid},
                     {IFLA_MASTER, &link.master_ifindex},
                     {IFLA_GROUP, &link.tuning.group},
                     {IFLA_TXQLEN, &link.tuning.transmit_queue_length},
                     {IFLA_GSO_MAX_SIZE, &link.tuning.gso_max_size},
                     {IFLA_GSO_MAX_SEGS, &link.tuning.gso_max_segments},
                     {IFLA_GRO_MAX_SIZE, &link.tuning.gro_max_size},
                     {kGsoIpv4MaxSize, &link.tuning.gso_ipv4_max_size},
                     {kGroIpv4MaxSize, &link.tuning.gro_ipv4_max_size},
                     {IFLA_LINKINFO, &kind},
                     {IFLA_XDP, &xdp}});
    link.hardware_address.assign(address.begin(), address.end());
    link.ipv6_address_mode = attributes.nest(IFLA_AF_SPEC).nest(AF_INET6).find_u8(IFLA_INET6_ADDR_GEN_MODE);
    for (const Bytes altname : attributes.nest(IFLA_PROP_LIST).find_all(IFLA_ALT_IFNAME))
        link.altnames.emplace_back(altname.begin(), std::find(altname.begin(), altname.end(), '\0'));
    parse_kind(Attributes(kind), link);
    parse_xdp(Attributes(xdp), link);
    return link;
}

std::optional<Link> find_link(Socket& socket, const base::InterfaceName& name) {
    Message request = get_link_message();
    request.put_text(IFLA_IFNAME, name.to_string());
    return find(socket, request, quoted(name.to_string()));
}

std::optional<Link> find_link(Socket& socket, unsigned ifindex) {
    if (ifindex == 0) return std::nullopt; // the kernel would answer EINVAL: no name, no number
    Message request = get_link_message(ifindex);
    return find(socket, request, fmt::format("number {}", ifindex));
}

std::optional<Link> find_link_by_altname(Socket& socket, std::string_view altname) {
    // The kernel refuses longer ones with ERANGE (linux/if.h, ALTIFNAMSIZ counts the zero byte).
    if (altname.empty() || altname.size() >= ALTIFNAMSIZ) return std::nullopt;
    Message request = get_link_message();
    request.put_text(IFLA_ALT_IFNAME, altname);
    return find(socket, request, quoted(altname));
}

std::vector<Link> list_links(Socket& socket, std::optional<unsigned> master_ifindex) {
    Message request = get_link_message();
    if (master_ifindex) request.put_u32(IFLA_MASTER, *master_ifindex);
    return socket.list<Link>(request, "list interfaces", [&](const nlmsghdr& message, std::vector<Link>& found) {
        auto link = parse_link(message);
        if (link && (!master_ifindex || link->master_ifindex == master_ifindex)) found.push_back(*std::move(link));
    });
}

std::vector<Link> list_lower_links(Socket& socket, const std::vector<Link>& uppers) {
    std::vector<Link> lowers;
    for (const Link& upper : uppers) {
        if (is_end_of_pair(upper)) continue;
        if (upper.parent_ifindex && !upper.parent_netnsid) {
            if (auto parent = find_link(socket, *upper.parent_ifindex)) lowers.push_back(*std::move(parent));
        } else if (!upper.kind.empty()) {
            for (Link& port : list_links(socket, upper.ifindex)) lowers.push_back(std::move(port));
        }
    }
    return lowers;
}

void add_link(Socket& socket, const ChildSpec& child) {
    Message request = new_link_message(child);
    if (child.netns != nullptr) request.put_u32(IFLA_NET_NS_FD, static_cast<std::uint32_t>(child.netns->fd()));
    const auto kind = std::visit([](const auto& chosen) { return kind_name(chosen); }, child.kind);
    socket.execute(request,
                   fmt::format("create {} {} on {}", kind, quoted(child.name.to_string()), quoted(child.parent_name)));
}

Removed remove_link(Socket& socket, unsigned ifindex) {
    ifinfomsg header{};
    header.ifi_index = static_cast<int>(ifindex);
    Message request(RTM_DELLINK, NLM_F_ACK, header);
    const Answer answer = socket.ask(request);
    if (answer.errno_value == ENODEV) return Removed::was_absent;
    if (answer.errno_value != 0)
        throw NetlinkError(fmt::format("remove interface number {}", ifindex), answer.errno_value,
                           answer.kernel_message);
    return Removed::yes;
}

void change_link(Socket& socket, unsigned ifindex, const LinkChange& change) {
    ifinfomsg header{};
    header.ifi_index = static_cast<int>(ifindex);
    const auto set_flag = [&](unsigned flag, std::optional<bool> on) {
        if (on) header.ifi_change |= flag;
        if (on.value_or(false)) header.ifi_flags |= flag;
    };
    if (change.state) set_flag(IFF_UP, *change.state == AdminState::up);
    set_flag(IFF_PROMISC, change.promiscuous);
    set_flag(IFF_ALLMULTI, change.all_multicast);
    Message request(RTM_NEWLINK, 0, header);
    if (change.netns != nullptr) request.put_u32(IFLA_NET_NS_FD, static_cast<std::uint32_t>(change.netns->fd()));
    if (change.name) request.put_text(IFLA_IFNAME, change.name->to_string());
    if (change.mac) request.put(IFLA_ADDRESS, change.mac->bytes());
    if (change.mtu) request.put_u32(IFLA_MTU, *change.mtu);
    // Without the zero byte: the kernel takes a text of no bytes as a request to remove the alias (dev_set_alias(),
    // net/core/dev.c).
    if (change.alias)
        request.put(IFLA_IFALIAS, {reinterpret_cast<const unsigned char*>(change.alias->data()), change.alias->size()});
    const auto put_number = [&](int attribute, const std::optional<std::uint32_t>& value) {
        if (value) request.put_u32(attribute, *value);
    };
    put_number(IFLA_GROUP, change.tuning.group);
    put_number(IFLA_TXQLEN, change.tuning.transmit_queue_length);
    put_number(IFLA_GSO_MAX_SIZE, change.tuning.gso_max_size);
    put_number(IFLA_GSO_MAX_SEGS, change.tuning.gso_max_segments);
    put_number(IFLA_GRO_MAX_SIZE, change.tuning.gro_max_size);
    put_number(kGsoIpv4MaxSize, change.tuning.gso_ipv4_max_size);
    put_number(kGroIpv4MaxSize, change.tuning.gro_ipv4_max_size);
    if (change.ipv6_address_mode)
        request.nest(IFLA_AF_SPEC, [&] {
            request.nest(AF_INET6, [&] { request.put_u8(IFLA_INET6_ADDR_GEN_MODE, *change.ipv6_address_mode); });
        });
    socket.execute(request, fmt::format("change interface number {}", ifindex));
}

void announce_ipv4_when_up(Socket& socket, unsigned ifindex) {
    ifinfomsg header{};
    header.ifi_index = static_cast<int>(ifindex);
    Message request(RTM_NEWLINK, 0, header);
    request.nest(IFLA_AF_SPEC, [&] { // inet_set_link_af(), net/ipv4/devinet.c
        request.nest(AF_INET,
                     [&] { request.nest(IFLA_INET_CONF, [&] { request.put_u32(IPV4_DEVCONF_ARP_NOTIFY, 1); }); });
    });
    socket.execute(request, fmt::format("set arp_notify of interface number {}", ifindex));
}

void detach_xdp(Socket& socket, unsigned ifindex, const XdpProgram& program) {
    ifinfomsg header{};
    header.ifi_index = static_cast<int>(ifindex);
    Message request(RTM_NEWLINK, 0, header);
    request.nest(IFLA_XDP, [&] {
        request.put_value(IFLA_XDP_FD, std::int32_t{-1});
        request.put_u32(IFLA_XDP_FLAGS, program.mode);
    });
    socket.execute(request, fmt::format("detach XDP program {} from interface number {}", program.id, ifindex));
}

void add_altname(Socket& socket, unsigned ifindex, std::string_view altname) {
    change_altname(socket, RTM_NEWLINKPROP, NLM_F_CREATE | NLM_F_EXCL | NLM_F_APPEND, ifindex, altname);
}

void remove_altname(Socket& socket, unsigned ifindex, std::string_view altname) {
    change_altname(socket, RTM_DELLINKPROP, 0, ifindex, altname);
}

bool Link::is_up() const {
    return (flags & IFF_UP) != 0;
}
bool Link::is_promiscuous() const {
    return (flags & IFF_PROMISC) != 0; // dev_get_flags(), net/core/dev.c, reports what was requested
}
bool Link::is_all_multicast() const {
    return (flags & IFF_ALLMULTI) != 0;
}

bool Link::can_send() const {
    constexpr unsigned kAll = IFF_UP | IFF_RUNNING | IFF_LOWER_UP;
    return (flags & kAll) == kAll && qdisc != "noop";
}

/// An IPoIB child does not name its parent if the parent has the same index in its own namespace. The kernel cannot
/// tell the two apart (nla_put_iflink(), net/core/rtnetlink.c), because an IPoIB child has no link_netnsid, unlike
/// macvlan and ipvlan children.
bool Link::is_child_of(unsigned parent) const {
    if (parent_ifindex) return parent_ifindex == parent;
    return kind == "ipoib" && ifindex == parent;
}

std::optional<base::MacAddress> Link::mac() const {
    base::MacAddress::Bytes bytes{};
    if (hardware_address.size() != bytes.size()) return std::nullopt;
    std::copy(hardware_address.begin(), hardware_address.end(), bytes.begin());
    return base::MacAddress(bytes);
}

std::string Link::hardware_address_text() const {
    return base::hex_pairs(hardware_address);
}

bool Link::is_infiniband() const {
    return hardware_type == ARPHRD_INFINIBAND;
}

std::optional<base::IpAddress> Link::port_gid() const {
    if (!is_infiniband() || hardware_address.size() != kInfinibandBytes) return std::nullopt;
    return base::IpAddress::from_bytes(base::Family::v6, &hardware_address.at(kQueuePairBytes));
}

std::optional<base::Guid> Link::port_guid() const {
    const auto gid = port_gid();
    return gid ? std::optional(base::Guid::from_gid(*gid)) : std::nullopt;
}

std::optional<base::IpAddress> parse_port_gid(std::string_view hardware_address) {
    const auto bytes = base::parse_hex_pairs<kInfinibandBytes>(hardware_address);
    if (!bytes) return std::nullopt;
    return base::IpAddress::from_bytes(base::Family::v6, &bytes->at(kQueuePairBytes));
}

} // namespace rdmanet::kernel
