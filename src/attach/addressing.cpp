#include "addressing.hpp"

#include <rdmanet/base/text.hpp>
#include <rdmanet/kernel/address.hpp>
#include <rdmanet/kernel/announce.hpp>
#include <rdmanet/kernel/route.hpp>
#include <rdmanet/kernel/sysctl.hpp>

#include <algorithm>

namespace rdmanet::attach {
namespace {

using base::concat;

bool has_v6(const std::vector<cni::IpConfig>& ips) {
    return std::any_of(ips.begin(), ips.end(),
                       [](const cni::IpConfig& ip) { return ip.address.family() == base::Family::v6; });
}

std::optional<base::IpAddress> first_gateway(const std::vector<cni::IpConfig>& ips, base::Family family) {
    for (const cni::IpConfig& ip : ips)
        if (ip.gateway && ip.gateway->family() == family) return ip.gateway;
    return std::nullopt;
}

/// Unset, the kernel takes 1024 for IPv6; one less wins over it. For IPv4 it is 0, and the last added wins.
std::uint32_t metric_of(const cni::Route& route) {
    constexpr std::uint32_t kAheadOfKernelDefault = 1023;
    if (route.priority) return *route.priority;
    return route.dst.is_default_route() && route.dst.family() == base::Family::v6 ? kAheadOfKernelDefault : 0;
}

kernel::Route to_kernel(const cni::Route& route, const kernel::Link& link, const std::vector<cni::IpConfig>& ips) {
    kernel::Route wanted{.destination = *base::IpPrefix::make(route.dst.network(), route.dst.length()),
                         .gateway = route.gw};
    if (!wanted.gateway) wanted.gateway = first_gateway(ips, route.dst.family());
    wanted.ifindex = link.ifindex;
    wanted.table = route.table.value_or(kernel::kMainTable);
    wanted.metric = metric_of(route);
    wanted.scope = route.scope;
    wanted.mtu = route.mtu;
    wanted.advertised_mss = route.advmss;
    return wanted;
}

bool is_left_out(const cni::Route& route, PodSide& pod, DefaultRoute policy) {
    if (!route.dst.is_default_route() || policy == DefaultRoute::always) return false;
    if (route.table.value_or(kernel::kMainTable) != kernel::kMainTable) return false;
    return policy == DefaultRoute::never || kernel::find_default_route(pod.route, route.dst.family()).has_value();
}

} // namespace

void add_addresses(PodSide& pod, const kernel::Link& link, const std::vector<cni::IpConfig>& ips) {
    if (has_v6(ips)) kernel::enable_ipv6(pod.netns, link.name);
    for (const cni::IpConfig& ip : ips)
        kernel::add_address(pod.route, link.ifindex, ip.address, {.skip_duplicate_detection = true});
}

std::vector<cni::Route> add_routes(PodSide& pod, const kernel::Link& link, const cni::Result& wanted,
                                   DefaultRoute policy, const base::Logger& log) {
    std::vector<cni::Route> added;
    for (const cni::Route& route : wanted.routes) {
        if (is_left_out(route, pod, policy)) {
            log.info(concat("left out route ", route.dst, " of interface \"", link.name,
                            "\": the pod keeps its default route (\"defaultRoute\")"));
            continue;
        }
        (void)kernel::add_route(pod.route, to_kernel(route, link, wanted.ips), kernel::RouteOrder::prepended);
        added.push_back(route);
    }
    return added;
}

void announce(PodSide& pod, const kernel::Link& link, const std::vector<cni::IpConfig>& ips, const base::Logger& log) {
    if (!link.mac()) return;
    try {
        std::vector<base::IpAddress> addresses;
        addresses.reserve(ips.size());
        for (const cni::IpConfig& ip : ips) addresses.push_back(ip.address.address());
        kernel::announce(pod.netns, link.ifindex, *link.mac(), addresses);
    } catch (const base::Error& error) {
        log.warn(error.what()); // neighbours find out by themselves, a little later
    }
}

} // namespace rdmanet::attach
