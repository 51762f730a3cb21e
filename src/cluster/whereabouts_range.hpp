// The range of a pool, which another store may have.
#pragma once

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

    /// Whether the cluster has the pool's range for this store: an AddressRange says so, which is made if it is absent.
    /// Asks once for each boot and pool. False if the pool has changed. Throws ipam::StoreError if another store has the
    /// range.
    [[nodiscard]] bool is_ours(const Place& place, const Pool& pool, const base::Deadline& deadline);

private:
    kube::Api& api_;
    RangeMemory memory_;
    std::string node_name_;
    std::function<void(const std::string&)> warn_;
};

} // namespace rdmanet::cluster
