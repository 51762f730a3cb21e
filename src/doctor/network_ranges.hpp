// Ranges of a network, and the subnets that the host has elsewhere.
#pragma once

#include <rdmanet/attach/misfit.hpp>
#include <rdmanet/config/config.hpp>
#include <rdmanet/kernel/link.hpp>
#include <rdmanet/kernel/netlink_socket.hpp>

#include <optional>
#include <vector>

namespace rdmanet::doctor {

/// A range that overlaps the subnet of another interface than the parent: the network's pods look for hosts of that
/// subnet behind their own interface. `route` is a socket of the host, and `links` are the host's. Throws
/// kernel::NetlinkError.
[[nodiscard]] std::optional<attach::Misfit> find_range_misfit(const config::Config& config, kernel::Socket& route,
                                                              const std::vector<kernel::Link>& links,
                                                              const kernel::Link& parent);

} // namespace rdmanet::doctor
