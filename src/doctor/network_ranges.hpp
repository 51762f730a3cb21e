// Ranges of a network, and the subnets that the host has elsewhere.
#pragma once

#include <rdmanet/attach/misfit.hpp>
#include <rdmanet/config/config.hpp>
#include <rdmanet/kernel/link.hpp>
#include <rdmanet/kernel/route.hpp>

#include <optional>
#include <vector>

namespace rdmanet::doctor {

/// A range that overlaps the subnet of another interface than the parent: the network's pods look for hosts of that
/// subnet behind their own interface. Two interfaces can be in one network, as rails often are. So a range that also
/// overlaps a subnet of the parent is taken for right. `routes` and `links` are the host's. Asks nobody.
[[nodiscard]] std::optional<attach::Misfit> find_range_misfit(const config::Config& config,
                                                              const std::vector<kernel::Route>& routes,
                                                              const std::vector<kernel::Link>& links,
                                                              const kernel::Link& parent);

} // namespace rdmanet::doctor
