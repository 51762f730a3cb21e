// What other stores have of a range that has come from them: AddressRange's `held`, sorted and disjoint.
#pragma once

#include "blocks/objects.hpp"

#include <rdmanet/base/ip_address.hpp>
#include <rdmanet/ipam/range.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace rdmanet::cluster {

[[nodiscard]] bool is_held(const std::vector<ipam::Interval>& held, const base::IpAddress& address);
/// Throws ipam::RequestedAddressTaken if it is.
void require_not_held(const std::vector<ipam::Interval>& held, const base::IpAddress& requested);
/// Behind "the range is full"; empty if nothing is held. `others`: ranges that have a part of these addresses, too.
[[nodiscard]] std::string describe_held(base::Uint128 count, std::size_t others = 0);
[[nodiscard]] std::string describe_held(const std::vector<ipam::Interval>& held);

/// What a pool says of the range: empty if store "whereabouts" may give all its addresses. Otherwise it is another text
/// after each move, and where the range is in pools, after each change of `held`. So a claim or a mark that was decided
/// before comes too late.
[[nodiscard]] std::string mark_of_pools(const RangeObject& range);
/// The store that a mark names.
[[nodiscard]] std::string store_of_mark(const std::string& mark);

} // namespace rdmanet::cluster
