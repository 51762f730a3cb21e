#include "route_parse.hpp"

#include "ip_attributes.hpp"
#include "message.hpp"

#include <linux/rtnetlink.h>

#include <algorithm>

namespace rdmanet::kernel {
namespace {

using base::Family;
using base::IpAddress;
using base::IpPrefix;

std::optional<IpAddress> parse_gateway(Family family, const Attributes& attributes) {
    if (const auto via = attributes.find(RTA_VIA); via && via->size() > 2) {
        std::uint16_t other = 0;
        __builtin_memcpy(&other, via->data(), sizeof other);
        return parse_ip(other, via->subspan(sizeof other));
    }
    return parse_ip(address_family(family), attributes.find(RTA_GATEWAY));
}

std::optional<Route> parse_common(const rtmsg& header, const Attributes& attributes, Family family) {
    const IpAddress address = parse_ip(header.rtm_family, attributes.find(RTA_DST)).value_or(IpAddress(family, 0));
    const auto destination = IpPrefix::make(address, header.rtm_dst_len);
    if (!destination) return std::nullopt;
    Route route{.destination = *destination, .gateway = parse_gateway(family, attributes)};
    route.ifindex = attributes.find_u32(RTA_OIF).value_or(0);
    route.table = attributes.find_u32(RTA_TABLE).value_or(header.rtm_table);
    route.metric = attributes.find_u32(RTA_PRIORITY).value_or(0);
    route.scope = header.rtm_scope;
    const Attributes metrics = attributes.nest(RTA_METRICS);
    route.mtu = metrics.find_u32(RTAX_MTU);
    route.advertised_mss = metrics.find_u32(RTAX_ADVMSS);
    return route;
}

/// RTA_MULTIPATH holds rtnexthop structures, each followed by its own attributes.
std::vector<Route> split_next_hops(const Route& common, Bytes hops) {
    std::vector<Route> routes;
    while (hops.size() >= sizeof(rtnexthop)) {
        rtnexthop hop{};
        __builtin_memcpy(&hop, hops.data(), sizeof hop);
        if (hop.rtnh_len < sizeof hop || hop.rtnh_len > hops.size()) break;
        Route route = common;
        route.ifindex = static_cast<unsigned>(hop.rtnh_ifindex);
        route.gateway =
            parse_gateway(common.destination.family(), Attributes(hops.subspan(sizeof hop, hop.rtnh_len - sizeof hop)));
        routes.push_back(route);
        hops = hops.subspan(std::min<std::size_t>(RTNH_ALIGN(hop.rtnh_len), hops.size()));
    }
    return routes;
}

} // namespace

std::vector<Route> parse_routes(const nlmsghdr& message, Family family) {
    const auto parsed = parse_message<rtmsg>(message, RTM_NEWROUTE);
    if (!parsed) return {};
    const auto& [header, attributes] = *parsed;
    if (header.rtm_family != address_family(family) || header.rtm_type != RTN_UNICAST) return {};
    const auto route = parse_common(header, attributes, family);
    if (!route) return {};
    const auto hops = attributes.find(RTA_MULTIPATH);
    return hops ? split_next_hops(*route, *hops) : std::vector<Route>{*route};
}

} // namespace rdmanet::kernel
