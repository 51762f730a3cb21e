#include "link_parse.hpp"

#include "message.hpp"

#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include <algorithm>

namespace rdmanet::kernel {
namespace {

void parse_macvlan(const Attributes& data, Link& link) {
    Macvlan macvlan;
    macvlan.mode = static_cast<MacvlanMode>(data.find_u32(IFLA_MACVLAN_MODE).value_or(0));
    macvlan.broadcast_queue_length = data.find_u32(IFLA_MACVLAN_BC_QUEUE_LEN);
    link.macvlan = macvlan;
}

void parse_ipvlan(const Attributes& data, Link& link) {
    Ipvlan ipvlan;
    ipvlan.mode = static_cast<IpvlanMode>(data.find_u16(IFLA_IPVLAN_MODE).value_or(0));
    ipvlan.flag = static_cast<IpvlanFlag>(data.find_u16(IFLA_IPVLAN_FLAGS).value_or(0));
    link.ipvlan = ipvlan;
}

void parse_ipoib(const Attributes& data, Link& link) {
    Ipoib ipoib;
    ipoib.pkey = data.find_u16(IFLA_IPOIB_PKEY);
    if (const auto mode = data.find_u16(IFLA_IPOIB_MODE)) ipoib.mode = static_cast<IpoibMode>(*mode);
    link.ipoib = ipoib;
}

void parse_kind(const Attributes& info, Link& link) {
    link.kind = info.text(IFLA_INFO_KIND);
    const Attributes data = info.nest(IFLA_INFO_DATA);
    if (link.kind == "macvlan") parse_macvlan(data, link);
    if (link.kind == "ipvlan") parse_ipvlan(data, link);
    if (link.kind == "ipoib") parse_ipoib(data, link);
}

void parse_names(const Attributes& attributes, Link& link) {
    link.name = attributes.text(IFLA_IFNAME);
    link.alias = attributes.text(IFLA_IFALIAS);
    link.qdisc = attributes.text(IFLA_QDISC);
    link.parent_device = attributes.text(IFLA_PARENT_DEV_NAME);
    link.ipv6_address_mode = attributes.nest(IFLA_AF_SPEC).nest(AF_INET6).find_u8(IFLA_INET6_ADDR_GEN_MODE);
    for (const Bytes altname : attributes.nest(IFLA_PROP_LIST).find_all(IFLA_ALT_IFNAME))
        link.altnames.emplace_back(altname.begin(), std::find(altname.begin(), altname.end(), '\0'));
}

void parse_numbers(const Attributes& attributes, Link& link) {
    link.mtu = attributes.find_u32(IFLA_MTU).value_or(0);
    link.tuning = {.group = attributes.find_u32(IFLA_GROUP),
                   .transmit_queue_length = attributes.find_u32(IFLA_TXQLEN),
                   .gso_max_size = attributes.find_u32(IFLA_GSO_MAX_SIZE),
                   .gso_max_segments = attributes.find_u32(IFLA_GSO_MAX_SEGS),
                   .gro_max_size = attributes.find_u32(IFLA_GRO_MAX_SIZE),
                   .gso_ipv4_max_size = attributes.find_u32(kGsoIpv4MaxSize),
                   .gro_ipv4_max_size = attributes.find_u32(kGroIpv4MaxSize)};
    link.parent_ifindex = attributes.find_u32(IFLA_LINK);
    link.parent_netnsid = attributes.find_i32(IFLA_LINK_NETNSID);
    link.master_ifindex = attributes.find_u32(IFLA_MASTER);
    if (const auto address = attributes.find(IFLA_ADDRESS))
        link.hardware_address.assign(address->begin(), address->end());
}

void parse_xdp(const Attributes& xdp, Link& link) {
    const auto add = [&](int attribute, std::uint32_t mode) {
        if (const auto id = xdp.find_u32(attribute)) link.xdp.push_back({.id = *id, .mode = mode});
    };
    add(IFLA_XDP_SKB_PROG_ID, XDP_FLAGS_SKB_MODE);
    add(IFLA_XDP_DRV_PROG_ID, XDP_FLAGS_DRV_MODE);
    add(IFLA_XDP_HW_PROG_ID, XDP_FLAGS_HW_MODE);
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
    parse_names(attributes, link);
    parse_numbers(attributes, link);
    parse_kind(attributes.nest(IFLA_LINKINFO), link);
    parse_xdp(attributes.nest(IFLA_XDP), link);
    return link;
}

} // namespace rdmanet::kernel
