#include "network_ranges.hpp"

#include <rdmanet/base/format.hpp>

#include <algorithm>
#include <string>
#include <variant>

namespace rdmanet::doctor {
namespace {

using kernel::Link;
using kernel::Route;

bool overlap(const base::IpPrefix& one, const base::IpPrefix& other) {
    return one.family() == other.family() && (one.contains(other.network()) || other.contains(one.network()));
}

/// The subnets that the network's pods take for their own.
std::vector<base::IpPrefix> subnets_of(const config::Config& config) {
    std::vector<base::IpPrefix> subnets;
    if (const auto* ipam = std::get_if<ipam::Config>(&config.ipam)) {
        for (const auto& configured : ipam->ranges) subnets.push_back(configured.range.subnet());
        for (const auto& configured : ipam->addresses) subnets.push_back(configured.address);
    }
    return subnets;
}

/// Whether the interface is the parent, a child of it, or what it is on: these lead to the same hosts.
bool is_on_parents_wire(const Link& link, const Link& parent) {
    return link.ifindex == parent.ifindex || link.is_child_of(parent.ifindex) || parent.is_child_of(link.ifindex);
}

/// Whether the host is in the destination's subnet.
bool is_connected(const Route& route) {
    return !route.gateway && !route.destination.is_default_route() && !route.destination.address().is_link_local();
}

std::optional<attach::Misfit> find_misfit(const base::IpPrefix& subnet, const std::vector<Route>& routes,
                                          const std::vector<Link>& links, const Link& parent) {
    const Link* other = nullptr;
    std::string destination;
    for (const Route& route : routes) {
        if (!is_connected(route) || !overlap(subnet, route.destination)) continue;
        const auto link = std::ranges::find_if(links, [&](const Link& each) { return each.ifindex == route.ifindex; });
        if (link == links.end()) continue;
        if (is_on_parents_wire(*link, parent)) return std::nullopt;
        if (other != nullptr) continue;
        other = &*link;
        destination = route.destination.to_string();
    }
    if (other == nullptr) return std::nullopt;
    return attach::Misfit{
        .what = fmt::format("its range {}/{} overlaps {} of interface {}, so its pods may not reach hosts behind {}",
                            subnet.network(), subnet.length(), destination, other->name, other->name),
        .fix = fmt::format("unless {} and {} are in one network, choose a range outside of {}", other->name,
                           parent.name, destination)};
}

} // namespace

std::optional<attach::Misfit> find_range_misfit(const config::Config& config, const std::vector<Route>& routes,
                                                const std::vector<Link>& links, const Link& parent) {
    for (const base::IpPrefix& subnet : subnets_of(config))
        if (auto misfit = find_misfit(subnet, routes, links, parent)) return misfit;
    return std::nullopt;
}

} // namespace rdmanet::doctor
