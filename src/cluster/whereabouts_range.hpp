// The range of a pool, which another store may have.
#pragma once

#include "blocks/blocks_api.hpp"
#include "pool.hpp"
#include "range_memory.hpp"

#include <rdmanet/base/deadline.hpp>
#include <rdmanet/kube/api.hpp>

#include <functional>
#include <string>
#include <utility>

namespace rdmanet::cluster {

class WhereaboutsRange {
public:
    /// `state_directory` may be empty: then nothing is remembered. `node_name` is for an AddressRange that this makes.
    WhereaboutsRange(kube::Api& api, std::string state_directory, std::string node_name,
                     std::function<void(const std::string&)> warn)
        : api_(api), memory_(std::move(state_directory)), node_name_(std::move(node_name)), warn_(std::move(warn)) {}

    /// Whether store "whereabouts" may give addresses of the pool: the cluster has the range for this store, as an
    /// AddressRange says, which is made if it is absent. Asks once for each boot and pool, and while the pool is marked.
    /// False if the pool is to be read again. Throws ipam::StoreError if another store has the range.
    [[nodiscard]] bool may_give(const Place& place, const Pool& pool, const base::Deadline& deadline);

    /// For who only asks: changes nothing in the cluster. Throws if another store has the range. `pool`: nullptr if there
    /// is none.
    void require_own(const Place& place, const Pool* pool, const base::Deadline& deadline) const;

private:
    [[nodiscard]] bool record(const Place& place, const Pool& pool, BlocksApi& api, const base::Deadline& deadline);

    kube::Api& api_;
    RangeMemory memory_;
    std::string node_name_;
    std::function<void(const std::string&)> warn_;
};

} // namespace rdmanet::cluster
