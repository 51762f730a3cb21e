// What the records of a pool say: whose they are, as leases, and which address a claim may have.
#pragma once

#include "pool.hpp"

#include <rdmanet/base/ip_address.hpp>
#include <rdmanet/cluster/place.hpp>
#include <rdmanet/ipam/lease.hpp>
#include <rdmanet/ipam/store.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

namespace rdmanet::cluster {

[[nodiscard]] bool is_own(const PoolRecord& record, const ipam::OwnerKey& key);

/// Whether the record still says what the lease was made from.
[[nodiscard]] bool is_unchanged(const PoolRecord& record, const ipam::Lease& lease);

/// Records as leases. A record has the container, the pod and the interface.
class WhereaboutsRecords {
public:
    /// As the journal of this node knows the owner, by container and interface; may be empty.
    using KnownOwner = std::function<std::optional<ipam::Owner>(const std::string&, const std::string&)>;
    explicit WhereaboutsRecords(KnownOwner known_owner) : known_owner_(std::move(known_owner)) {}

    [[nodiscard]] ipam::Lease lease_of(const Place& place, const PoolRecord& record, std::size_t slot) const;

    /// Whether this node can examine the owner. Without a journal it may know all.
    [[nodiscard]] bool is_local(const PoolRecord& record) const;

private:
    [[nodiscard]] std::optional<ipam::Owner> find_owner(const PoolRecord& record) const;
    [[nodiscard]] ipam::Owner owner_of(const PoolRecord& record) const;

    KnownOwner known_owner_;
};

/// What `usable` and the prefix length say of the subnet: a range lies in one.
[[nodiscard]] Place place_of(const ipam::Claim& claim);

[[nodiscard]] bool is_in(const ipam::Claim& claim, const base::IpAddress& address);

/// The lowest free address that does not rest, by `resting` with the time since when each does. If all that are free
/// rest, and the claim does not leave them alone, it is the one that has done so for longest.
[[nodiscard]] std::optional<base::IpAddress> choose_free(const ipam::Claim& claim, const Pool& pool,
                                                         const std::set<base::IpAddress>& reserved,
                                                         const std::map<base::IpAddress, std::int64_t>& resting);

} // namespace rdmanet::cluster
