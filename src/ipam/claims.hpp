// Turns a configuration and a pod's requests into claims for the store.
#pragma once

#include <rdmanet/ipam/allocator.hpp>

#include <string>
#include <vector>

namespace rdmanet::ipam {

/// Whether static addresses are leased as others are. The objects of whereabouts have no records of them.
[[nodiscard]] bool claims_static_addresses(const Config& config);

/// One claim for each range, then one for each static address that is claimed. Throws RequestedAddressInvalid for a
/// requested address that no range can give. Adds a warning if the requested prefix length is not that of the range.
[[nodiscard]] std::vector<Claim> claims_for(const Config& config, const std::vector<RequestedAddress>& requested,
                                            std::vector<std::string>& warnings);

/// A claim for any address of the range.
[[nodiscard]] Claim claim_for(const ConfiguredRange& range, std::chrono::seconds cooldown);

} // namespace rdmanet::ipam
