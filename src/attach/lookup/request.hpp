// What the pod and the network ask for, wherever the conventions let them say it.
#pragma once

#include <rdmanet/base/mac_address.hpp>
#include <rdmanet/cni/request.hpp>
#include <rdmanet/config/config.hpp>
#include <rdmanet/ipam/allocator.hpp>

#include <optional>
#include <vector>

namespace rdmanet::attach {

/// Addresses that the pod asked for, from wherever the conventions let it.
[[nodiscard]] std::vector<ipam::RequestedAddress> requested_addresses(const cni::Request& request);

/// What the pod asked for, else the configuration's.
[[nodiscard]] std::optional<base::MacAddress> wanted_mac(const cni::Request& request, const config::Config& config);

/// What the pod or the configuration asks the VF to be.
[[nodiscard]] base::VfSettings wanted_settings(const cni::Request& request, const config::Config& config);

} // namespace rdmanet::attach
