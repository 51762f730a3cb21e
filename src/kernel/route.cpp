#include <rdmanet/kernel/route.hpp>

#include "message.hpp"
#include "parse.hpp"

#include <rdmanet/base/format.hpp>

#include <linux/rtnetlink.h>

#include <algorithm>
#include <cerrno>

namespace rdmanet::kernel {
namespace {

using base::Family;
using base::IpAddress;
using base::IpPrefix;

void put_gateway(Message& request, Family family, const IpAddress& gateway) {
    if (gateway.family() == family) return request.put_ip(RTA_GATEWAY, gateway);
    // struct rtvia: the family as u16, then the address.
    const std::uint16_t other = address_family(gateway.family());
    unsigned char via[sizeof other + 16];
    __builtin_memcpy(via, &other, sizeof other);
    const auto bytes = gateway.bytes();
    std::copy(bytes.begin(), bytes.end(), via + sizeof other);
    request.put(RTA_VIA, {via, sizeof other + gateway.byte_count()});
}

void put_metrics(Message& request, const Route& route) {
    if (!route.mtu && !route.advertised_mss) return;
    request.nest(RTA_METRICS, [&] {
        if (route.mtu) request.put_u32(RTAX_MTU, *route.mtu);
        if (route.advertised_mss) request.put_u32(RTAX_ADVMSS, *route.advertised_mss);
    });
}

// Without NLM_F_EXCL and NLM_F_APPEND the kernel puts the route before others to the same destination
// (fib_table_insert(), net/ipv4/fib_trie.c).
Message route_message(const Route& route, std::uint8_t scope) {
    rtmsg header{};
    header.rtm_family = address_family(route.destination.family());
    header.rtm_dst_len = static_cast<std::uint8_t>(route.destination.length());
    header.rtm_table = route.table < 256 ? static_cast<std::uint8_t>(route.table) : std::uint8_t{RT_TABLE_COMPAT};
    header.rtm_protocol = RTPROT_BOOT; // set by an administrator, as with "ip route add"
    header.rtm_scope = scope;
    header.rtm_type = RTN_UNICAST;
    Message request(RTM_NEWROUTE, NLM_F_CREATE | NLM_F_ACK, header);
    if (route.destination.length() > 0) request.put_ip(RTA_DST, route.destination.address());
    if (route.gateway) put_gateway(request, route.destination.family(), *route.gateway);
    if (route.ifindex != 0) request.put_u32(RTA_OIF, route.ifindex);
    if (route.metric != 0) request.put_u32(RTA_PRIORITY, route.metric);
    request.put_u32(RTA_TABLE, route.table);
    put_metrics(request, route);
    return request;
}

std::uint8_t scope_of(const Route& route) {
    return route.scope.value_or(route.gateway ? RT_SCOPE_UNIVERSE : RT_SCOPE_LINK);
}

std::string name_of(const Route& route) {
    std::string name = fmt::format("route to {}", route.destination);
    if (route.gateway) name += fmt::format(" via {}", *route.gateway);
    if (route.ifindex != 0) name += fmt::format(" on interface number {}", route.ifindex);
    return route.table == kMainTable ? name : fmt::format("{} in table {}", name, route.table);
}

bool passes(const Route& route, const RouteFilter& filter) {
    return (!filter.ifindex || route.ifindex == *filter.ifindex) && (!filter.table || route.table == *filter.table);
}

// A kernel with IPv6 switched off has no IPv6 routes. ENOENT: no such table.
bool means_none(int errno_value) {
    return errno_value == EAFNOSUPPORT || errno_value == EOPNOTSUPP || errno_value == ENODEV || errno_value == ENOENT;
}

std::vector<Route> list_family(Socket& socket, Family family, const RouteFilter& filter) try {
    rtmsg header{};
    header.rtm_family = address_family(family);
    Message request(RTM_GETROUTE, 0, header);
    if (filter.table) request.put_u32(RTA_TABLE, *filter.table);
    if (filter.ifindex) request.put_u32(RTA_OIF, *filter.ifindex);
    return socket.list<Route>(request, "list routes", [&](const nlmsghdr& message, std::vector<Route>& found) {
        for (Route& route : parse_routes(message, family))
            if (passes(route, filter)) found.push_back(route);
    });
} catch (const NetlinkError& error) {
    if (means_none(error.errno_value())) return {};
    throw;
}

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

void add_route(Socket& socket, const Route& route) {
    Message request = route_message(route, scope_of(route));
    const Answer answer = socket.ask(request);
    if (answer.errno_value != 0 && answer.errno_value != EEXIST)
        throw NetlinkError(fmt::format("add {}", name_of(route)), answer.errno_value, answer.kernel_message);
}

std::vector<Route> list_routes(Socket& socket, const RouteFilter& filter) {
    socket.demand_strict_checks();
    std::vector<Route> routes;
    for (const Family family : {Family::v4, Family::v6}) {
        if (filter.family && *filter.family != family) continue;
        for (Route& route : list_family(socket, family, filter)) routes.push_back(route);
    }
    return routes;
}

std::optional<Route> find_route_to(Socket& socket, const IpAddress& address, const std::optional<IpAddress>& source) {
    const auto bits = static_cast<std::uint8_t>(base::address_bits(address.family()));
    rtmsg header{};
    header.rtm_family = address_family(address.family());
    header.rtm_dst_len = bits;
    if (source) header.rtm_src_len = bits;
    Message request(RTM_GETROUTE, 0, header);
    request.put_ip(RTA_DST, address);
    if (source) request.put_ip(RTA_SRC, *source);
    const Answer answer = socket.ask(request);
    if (answer.errno_value == ENETUNREACH || answer.errno_value == EHOSTUNREACH || means_none(answer.errno_value))
        return std::nullopt;
    if (answer.errno_value != 0)
        throw NetlinkError(fmt::format("find the route to {}", address), answer.errno_value, answer.kernel_message);
    const std::vector<Route> routes =
        answer.message == nullptr ? std::vector<Route>() : parse_routes(*answer.message, address.family());
    return routes.empty() ? std::nullopt : std::optional(routes.front());
}

std::optional<Route> find_default_route(Socket& socket, Family family) {
    std::optional<Route> best;
    for (Route& route : list_routes(socket, {.family = family, .ifindex = {}, .table = kMainTable}))
        if (route.destination.is_default_route() && (!best || route.metric < best->metric)) best = route;
    return best;
}

} // namespace rdmanet::kernel
