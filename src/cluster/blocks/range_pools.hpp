// The pools of a range that is to be cut into blocks.
#pragma once

#include "blocks_api.hpp"

#include <rdmanet/base/deadline.hpp>

#include <optional>
#include <string>
#include <vector>

namespace rdmanet::cluster {

class RangePools {
public:
    /// `api` and `range` must outlive it.
    RangePools(BlocksApi& api, const RangeObject& range) : api_(api), range_(range) {}

    /// Marks the pools: store "whereabouts" gives nothing from them afterwards. Throws ipam::StoreError if one of them has
    /// a record.
    void take(const base::Deadline& deadline);

private:
    [[nodiscard]] std::vector<PoolHead> list(const base::Deadline& deadline);
    [[nodiscard]] bool make_marked(const base::Deadline& deadline);
    [[nodiscard]] std::optional<PoolHead> find_empty(const std::string& name, const base::Deadline& deadline);
    void mark(const std::string& name, const base::Deadline& deadline);

    BlocksApi& api_;
    const RangeObject& range_;
};

} // namespace rdmanet::cluster
