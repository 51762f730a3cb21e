// From a configuration and what a pod asked for to what is asked of the store.
#pragma once

#include <rdmanet/ipam/allocator.hpp>

#include <string>
#include <vector>

namespace rdmanet::ipam {

/// One claim for each range, then one for each static address. Throws RequestedAddressInvalid for a requested address
/// that no range can give; adds to `warnings` where its prefix length isn't that of the range.
[[nodiscard]] std::vector<Claim> claims_for(const Config& config, const std::vector<RequestedAddress>& requested,
                                            std::vector<std::string>& warnings);

/// Any address of the range.
[[nodiscard]] Claim claim_for(const ConfiguredRange& range, std::chrono::seconds cooldown);

} // namespace rdmanet::ipam
