// A range has one store on a node. Each store would give the addresses of another one again, because it does not know
// them.
#pragma once

#include "node_store.hpp"

#include <rdmanet/attach/node.hpp>
#include <rdmanet/base/deadline.hpp>
#include <rdmanet/ipam/config.hpp>
#include <rdmanet/ipam/lease.hpp>
#include <rdmanet/state/attachment_store.hpp>

#include <optional>
#include <string>
#include <vector>

namespace rdmanet::attach {

struct RangeOnNode {
    ipam::Range range;
    std::string leases; // "2 leases"
};

/// The first range of the network that has leases in the node's own store.
[[nodiscard]] std::optional<RangeOnNode> find_range_on_node(const ipam::Config& network, NodeStore& on_node,
                                                            const Node& node, const base::Deadline& deadline);

// These throw ipam::StoreError. Two ADDs of one range with different stores may begin at the same moment. So each looks
// again after it has written its own lease, or the journal's record before a claim: one of them sees the other.

/// If a store that is not the network's has leases of its ranges, as far as this node knows. Asks no server: stores of
/// the cluster obey what theirs has recorded.
void require_in_one_store(const ipam::Config& network, NodeStore& on_node, const Node& node,
                          const state::AttachmentStore& records, const base::Deadline& deadline);

/// If an attachment of this node has one of these leases, new ones of a store of the cluster, from another such store.
void require_given_once(const std::vector<ipam::Lease>& fresh, const ipam::Config& network, const Node& node,
                        const state::AttachmentStore& records);

} // namespace rdmanet::attach
