#include <rdmanet/ops/lease_places.hpp>

#include <rdmanet/cluster/place.hpp>

#include <algorithm>

namespace rdmanet::ops {

bool LeasePlaces::includes(const std::string& space, const base::IpPrefix& subnet) const {
    if (!network) return true;
    const auto is_in = [&](const std::string& its_space, const base::IpPrefix& its) {
        return cluster::network_of(space) == cluster::network_of(its_space) && cluster::overlap(its, subnet);
    };
    return std::ranges::any_of(network->ranges,
                               [&](const auto& range) { return is_in(range.space, range.range.subnet()); }) ||
           std::ranges::any_of(network->addresses,
                               [&](const auto& fixed) { return is_in(fixed.space, fixed.address); });
}

bool LeasePlaces::includes(const std::string& space, const base::IpAddress& address) const {
    return includes(space, base::IpPrefix::make(address, base::address_bits(address.family())).value());
}

} // namespace rdmanet::ops
