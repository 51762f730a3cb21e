// What the node's own store has of a network's ranges. A store of the cluster does not know these leases, and may give
// their addresses again.
#pragma once

#include <rdmanet/attach/node.hpp>
#include <rdmanet/base/deadline.hpp>
#include <rdmanet/ipam/config.hpp>
#include <rdmanet/ipam/store/sqlite_store.hpp>

#include <optional>
#include <string>

namespace rdmanet::attach {

struct RangeOnNode {
    ipam::Range range;
    std::string leases; // "2 leases"
};

/// The first range of the network that has leases in the node's own store.
[[nodiscard]] std::optional<RangeOnNode> find_range_on_node(const ipam::Config& network, ipam::SqliteStore& on_node,
                                                            const Node& node, const base::Deadline& deadline);

/// Throws ipam::StoreError if the store of `network` and the node's own one would give the same addresses, as far as
/// this node knows without asking anybody.
void require_in_one_store(const ipam::Config& network, ipam::SqliteStore& on_node, const Node& node,
                          const base::Deadline& deadline);

} // namespace rdmanet::attach
