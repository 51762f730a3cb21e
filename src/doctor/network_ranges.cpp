#include "network_ranges.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/kernel/route.hpp>

#include <algorithm>
#include <variant>

namespace rdmanet::doctor {
namespace {

using kernel::Link;

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

/// The other interface of a route to a subnet that the host is in.
const Link* find_other(const kernel::Route& route, const std::vector<Link>& links, const Link& parent) {
    if (route.gateway || route.destination.is_default_route() || route.destination.address().is_link_local())
        return nullptr;
    const auto link =
        std::find_if(links.begin(), links.end(), [&](const Link& each) { return each.ifindex == route.ifindex; });
    return link == links.end() || is_on_parents_wire(*link, parent) ? nullptr : &*link;
}

} // namespace

std::optional<attach::Misfit> find_range_misfit(const config::Config& config, kernel::Socket& route,
                                                const std::vector<Link>& links, const Link& parent) {
    const auto subnets = subnets_of(config);
    if (subnets.empty()) return std::nullopt;
    for (const kernel::Route& connected :
         kernel::list_routes(route, {.family = {}, .ifindex = {}, .table = kernel::kMainTable})) {
        const Link* const other = find_other(connected, links, parent);
        if (other == nullptr) continue;
        for (const base::IpPrefix& subnet : subnets)
            if (overlap(subnet, connected.destination))
                return attach::Misfit{.what = fmt::format("its range {}/{} overlaps {} of interface {}, so its pods do "
                                                          "not reach hosts behind {}",
                                                          subnet.network(), subnet.length(), connected.destination,
                                                          other->name, other->name),
                                      .cure = "choose a range that no other interface of the node has in its subnet"};
    }
    return std::nullopt;
}

} // namespace rdmanet::doctor
