// The range of a pool, which another store may have.
#pragma once

#include "blocks/blocks_api.hpp"
#include "pool.hpp"
#include "range_memory.hpp"

#include <rdmanet/base/deadline.hpp>
#include <rdmanet/kube/api.hpp>

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace rdmanet::cluster {

class WhereaboutsRange {
public:
    /// `state_directory` may be empty: then nothing is remembered. `node_name` is for an AddressRange that this makes.
    WhereaboutsRange(kube::Api& api, std::string state_directory, std::string node_name,
                     std::function<void(const std::string&)> warn)
        : api_(api), memory_(std::move(state_directory)), node_name_(std::move(node_name)), warn_(std::move(warn)) {}

    /// What other stores have of the pool's range, sorted and disjoint, if the cluster has the range for this store: an
    /// AddressRange says so, which is made if it is absent. Asks once for each boot and pool, and while the pool is marked.
    /// nullopt if the pool is to be read again. Throws ipam::StoreError if another store has the range.
    [[nodiscard]] std::optional<std::vector<ipam::Interval>> find_held(const Place& place, const Pool& pool,
                                                                       const base::Deadline& deadline);

    /// The same for who only asks. Changes nothing in the cluster. `pool`: nullptr if there is none.
    [[nodiscard]] std::vector<ipam::Interval> look(const Place& place, const Pool* pool,
                                                   const base::Deadline& deadline) const;

private:
    [[nodiscard]] std::optional<std::vector<ipam::Interval>>
    find_recorded(const Place& place, const Pool& pool, BlocksApi& api, const base::Deadline& deadline);

    kube::Api& api_;
    RangeMemory memory_;
    std::string node_name_;
    std::function<void(const std::string&)> warn_;
};

} // namespace rdmanet::cluster
