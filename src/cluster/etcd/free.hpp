// Free addresses among those that etcd has. Nothing here reads the leases of a whole range: etcd counts, and only where
// an address is free are keys read, a page at a time.
#pragma once

#include "keys.hpp"

#include <rdmanet/etcd/transaction.hpp>
#include <rdmanet/ipam/store.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <vector>

namespace rdmanet::cluster {

/// Asks etcd; what a transaction answers.
using RunEtcd = std::function<etcd::Answer(const etcd::Transaction&)>;

/// Keys of the addresses in the interval.
[[nodiscard]] etcd::Range range_of(const EtcdKeys& keys, const ipam::Claim& claim, const ipam::Interval& interval);

/// One of the claim's addresses, always the same one for the same `seed`, and different ones for different seeds.
[[nodiscard]] base::Uint128 scattered(const ipam::Claim& claim, std::uint64_t seed);

/// The claim's interval that has the address, from there on.
[[nodiscard]] std::optional<ipam::Interval> rest_of(const ipam::Claim& claim, base::Uint128 address);

/// The first address of the interval that is neither among the keys, which were read from its beginning on, nor among
/// `avoided`. nullopt if there is none as far as the keys go.
[[nodiscard]] std::optional<base::IpAddress> gap_in(const etcd::Found& keys, const ipam::Claim& claim,
                                                    const ipam::Interval& interval,
                                                    const std::set<base::IpAddress>& avoided);

/// Any free address of the claim, in a few requests however large and full its range is. nullopt: there was none.
[[nodiscard]] std::optional<base::IpAddress> find_free(const EtcdKeys& keys, const ipam::Claim& claim,
                                                       const std::set<base::IpAddress>& avoided, std::uint64_t seed,
                                                       const RunEtcd& run);

/// How many of each interval's addresses are leased.
[[nodiscard]] std::vector<std::uint64_t> count_leases(const EtcdKeys& keys, const ipam::Claim& claim,
                                                      const std::vector<ipam::Interval>& intervals, const RunEtcd& run);

} // namespace rdmanet::cluster
