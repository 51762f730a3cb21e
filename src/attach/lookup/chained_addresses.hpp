// Addresses that an earlier plugin of the list chose for our interface.
#pragma once

#include <rdmanet/cni/request.hpp>
#include <rdmanet/cni/result.hpp>
#include <rdmanet/config/config.hpp>

namespace rdmanet::attach {

/// ipvlan without "ipam" takes the addresses and routes of prevResult, as the reference ipvlan plugin does. Addresses
/// of an interface that is already in the pod are not taken. Empty for other kinds of attachment.
[[nodiscard]] cni::Result chained_addresses(const cni::Request& request, const config::Config& config);

/// prevResult without what chained_addresses() takes.
[[nodiscard]] cni::Result prev_result_without_chained_addresses(const cni::Request& request,
                                                                const config::Config& config);

} // namespace rdmanet::attach
