// Records of a pool as leases. A record has the container, the pod and the interface.
#pragma once

#include "pool.hpp"

#include <rdmanet/cluster/pools_store.hpp>
#include <rdmanet/ipam/lease.hpp>

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <utility>

namespace rdmanet::cluster {

[[nodiscard]] bool is_own(const PoolRecord& record, const ipam::OwnerKey& key);

/// Whether the record still says what the lease was made from.
[[nodiscard]] bool is_unchanged(const PoolRecord& record, const ipam::Lease& lease);

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

} // namespace rdmanet::cluster
