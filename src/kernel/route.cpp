#include <rdmanet/kernel/route.hpp>

#include "ip_attributes.hpp"
#include "list.hpp"
#include "message.hpp"
#include "route_parse.hpp"

#include <rdmanet/base/format.hpp>

#include <linux/rtnetlink.h>

#include <algorithm>
#include <cerrno>

namespace rdmanet::kernel {
namespace {

using base::Family;
using base::IpAddress;

void put_gateway(Message& request, Family family, const IpAddress& gateway) {
    if (gateway.family() == family) return put_ip(request, RTA_GATEWAY, gateway);
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
    if (route.destination.length() > 0) put_ip(request, RTA_DST, route.destination.address());
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
    return list<Route>(socket, request, "list routes", [&](const nlmsghdr& message, std::vector<Route>& found) {
        for (Route& route : parse_routes(message, family))
            if (passes(route, filter)) found.push_back(route);
    });
} catch (const NetlinkError& error) {
    if (means_none(error.errno_value())) return {};
    throw;
}

} // namespace

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
    put_ip(request, RTA_DST, address);
    if (source) put_ip(request, RTA_SRC, *source);
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
