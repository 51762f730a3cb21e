// Unicast routes over rtnetlink (linux/rtnetlink.h).
#pragma once

#include <rdmanet/base/ip_address.hpp>
#include <rdmanet/kernel/netlink_socket.hpp>

#include <cstdint>
#include <optional>
#include <vector>

namespace rdmanet::kernel {

constexpr std::uint32_t kMainTable = 254; // RT_TABLE_MAIN

struct Route {
    base::IpPrefix destination;               // the network: without host bits
    std::optional<base::IpAddress> gateway{}; // may be IPv6 for an IPv4 destination (RTA_VIA)
    unsigned ifindex = 0;                     // 0: found through the gateway
    std::uint32_t table = kMainTable;
    std::uint32_t metric = 0;                      // 0: the kernel's default, which is 1024 for IPv6
    std::optional<std::uint8_t> scope{};           // RT_SCOPE_*; unset: link without a gateway, universe with one
    std::optional<std::uint32_t> mtu{};            // bytes
    std::optional<std::uint32_t> advertised_mss{}; // bytes
};

/// The route is put before other routes with its destination, table and metric, and the kernel uses the first. IPv6
/// spreads traffic over all of them. An identical route stays as it is. Throws NetlinkError. ENETUNREACH: the gateway
/// is not on a connected network. EINVAL: host bits in the destination, or an impossible scope. ENETDOWN: the
/// interface is down. ENODEV: it is absent.
void add_route(Socket& socket, const Route& route);

struct RouteFilter {
    std::optional<base::Family> family;
    std::optional<unsigned> ifindex;
    std::optional<std::uint32_t> table;
};

/// Routes that pass the filter, in the kernel's order. A route with several next hops becomes one Route for each. An
/// absent interface or table gives an empty list. Throws NetlinkError.
[[nodiscard]] std::vector<Route> list_routes(Socket& socket, const RouteFilter& filter);

/// The route that packets to an address take: its destination is the address itself. nullopt if there is none, or the
/// address is the namespace's own. With `source`, the packets have that source address, which must be the namespace's:
/// rules may choose by it (ip-rule(8)). Throws NetlinkError.
[[nodiscard]] std::optional<Route> find_route_to(Socket& socket, const base::IpAddress& address,
                                                 const std::optional<base::IpAddress>& source = {});

/// The default route of the main table with the lowest metric.
[[nodiscard]] std::optional<Route> find_default_route(Socket& socket, base::Family family);

} // namespace rdmanet::kernel
