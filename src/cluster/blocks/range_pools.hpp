// The pools of a range that is to be cut into blocks.
#pragma once

#include "blocks_api.hpp"

#include <rdmanet/base/deadline.hpp>
#include <rdmanet/ipam/range.hpp>

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace rdmanet::cluster {

class RangePools {
public:
    /// `api` and `range` must outlive it.
    RangePools(BlocksApi& api, const RangeObject& range) : api_(api), range_(range) {}

    /// Marks the pools: store "whereabouts" gives nothing from them afterwards. Returns the addresses that they have,
    /// and those in what may be a slice of a node that is gone. Unless the range is moving, there must be none: throws
    /// ipam::StoreError.
    [[nodiscard]] std::vector<ipam::Interval> take(const base::Deadline& deadline);

    /// The same addresses, of a range that has moved, and what may be a slice of a node that is gone. Marks nothing.
    [[nodiscard]] std::vector<ipam::Interval> look(const base::Deadline& deadline);

    /// Throws if the range has been in pools and this user sees none of it.
    void require_namespace(const base::Deadline& deadline);

    /// Those from which whereabouts or store "whereabouts" may give addresses of the range, without their records.
    enum class Slices : std::uint8_t { of_nodes, all };
    [[nodiscard]] std::vector<PoolHead> list(const base::Deadline& deadline, Slices slices = Slices::of_nodes);
    /// The addresses of the range that the pool has, marked or not.
    [[nodiscard]] std::vector<ipam::Interval> addresses_in(const PoolHead& pool) const;

private:
    /// What all pools but those that were `seen` have, and what may be slices.
    [[nodiscard]] std::vector<ipam::Interval> look_beside(const std::set<std::string>& seen,
                                                          const base::Deadline& deadline);
    [[nodiscard]] bool make_marked(const base::Deadline& deadline);
    [[nodiscard]] std::optional<PoolHead> find(const std::string& name, const base::Deadline& deadline);
    [[nodiscard]] std::vector<ipam::Interval> mark(const std::string& name, const base::Deadline& deadline);

    BlocksApi& api_;
    const RangeObject& range_;
};

} // namespace rdmanet::cluster
