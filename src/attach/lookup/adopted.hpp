// Addresses that an earlier plugin of the list chose, for an interface of ours.
#pragma once

#include <rdmanet/cni/request.hpp>
#include <rdmanet/cni/result.hpp>
#include <rdmanet/config/config.hpp>

namespace rdmanet::attach {

/// As the reference plugin does: ipvlan without "ipam" sets up the addresses and routes of prevResult, and what the
/// earlier plugin made is its parent. Addresses of an interface in the pod are set up already. Empty for other kinds.
[[nodiscard]] cni::Result adopt_addresses(const cni::Request& request, const config::Config& config);

/// prevResult without what adopt_addresses() takes: its content before ours.
[[nodiscard]] cni::Result rest_of_prev_result(const cni::Request& request, const config::Config& config);

} // namespace rdmanet::attach
