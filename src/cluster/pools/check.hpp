// Whether a pool may be used: no AddressRange covers it, no block has its addresses, and the server keeps what records
// say.
#pragma once

#include "../blocks/blocks_api.hpp"
#include "api.hpp"
#include "pool.hpp"

#include <rdmanet/base/boot_memory.hpp>
#include <rdmanet/base/deadline.hpp>
#include <rdmanet/kube/api.hpp>

#include <string>

namespace rdmanet::cluster {

/// What this node has found out of pools in this boot.
class CheckedPools {
public:
    /// `cluster`: how the node reaches it.
    CheckedPools(std::string state_directory, std::string boot_id, std::string cluster)
        : directory_(std::move(state_directory)), boot_id_(std::move(boot_id)), cluster_(std::move(cluster)) {}

    /// The UID of the pool of that place that was checked; empty: none was.
    [[nodiscard]] std::string find(const Place& place) const;
    void note(const Place& place, const std::string& uid) const { note(memory_of(place), uid); }
    void forget(const Place& place) const;
    /// That the server keeps the interface of a record.
    [[nodiscard]] bool has_interfaces() const;
    void note_interfaces() const { note(memory_of_interfaces(), "kept"); }

private:
    void note(const base::BootMemory& memory, const std::string& answer) const;
    [[nodiscard]] base::BootMemory memory_of(const Place& place) const;
    [[nodiscard]] base::BootMemory memory_of_interfaces() const;

    std::string directory_;
    std::string boot_id_;
    std::string cluster_;
};

class PoolCheck {
public:
    PoolCheck(kube::Api& api, WhereaboutsApi& objects, const CheckedPools& checked, std::string name_space)
        : api_(api), objects_(objects), checked_(checked), name_space_(std::move(name_space)) {}

    /// Throws RangeMoved if an AddressRange covers the place, and ipam::StoreError if blocks still have its addresses.
    void require_nobody_else(const Place& place, const base::Deadline& deadline);
    /// The same, but asks nobody if this node knows the pool and it has no mark. False: it was unmarked, and is to be read
    /// again. Also throws ipam::StoreError if the server drops the interfaces of records.
    [[nodiscard]] bool may_use(const Place& place, const Pool& pool, const base::Deadline& deadline);

private:
    void require_interfaces(const base::Deadline& deadline);

    BlocksApi api_;
    WhereaboutsApi& objects_;
    const CheckedPools& checked_;
    std::string name_space_;
};

} // namespace rdmanet::cluster
