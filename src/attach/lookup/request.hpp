// What the pod or the network asks for. The pod can say it in several places (CNI_ARGS, "args", "runtimeConfig").
#pragma once

#include <rdmanet/base/mac_address.hpp>
#include <rdmanet/cni/request.hpp>
#include <rdmanet/config/config.hpp>
#include <rdmanet/ipam/allocator.hpp>

#include <optional>
#include <vector>

namespace rdmanet::attach {

/// The addresses that the pod asks for.
[[nodiscard]] std::vector<ipam::RequestedAddress> requested_addresses(const cni::Request& request);

/// The MAC that the pod asks for, or else that of the configuration.
[[nodiscard]] std::optional<base::MacAddress> wanted_mac(const cni::Request& request, const config::Config& config);

/// The VF settings that the configuration and the pod ask for.
[[nodiscard]] base::VfSettings wanted_settings(const cni::Request& request, const config::Config& config);

} // namespace rdmanet::attach
