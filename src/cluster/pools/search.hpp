// Which address of a pool a claim may have.
#pragma once

#include "pool.hpp"

#include <rdmanet/base/ip_address.hpp>
#include <rdmanet/ipam/store.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <set>

namespace rdmanet::cluster {

/// What `usable` and the prefix length say of the subnet: a range lies in one.
[[nodiscard]] Place place_of(const ipam::Claim& claim);

[[nodiscard]] bool is_in(const ipam::Claim& claim, const base::IpAddress& address);

/// The lowest address that no record has and that is not among `avoided`. As many steps as there are records below it.
[[nodiscard]] std::optional<base::IpAddress> lowest_free(const ipam::Claim& claim, const Pool& pool,
                                                         const std::set<base::IpAddress>& avoided);

/// The lowest free address that does not rest, by `resting` with the time since when each does. If all that are free
/// rest, and the claim does not leave them alone, it is the one that has done so for longest.
[[nodiscard]] std::optional<base::IpAddress> choose_free(const ipam::Claim& claim, const Pool& pool,
                                                         const std::set<base::IpAddress>& reserved,
                                                         const std::map<base::IpAddress, std::int64_t>& resting);

} // namespace rdmanet::cluster
