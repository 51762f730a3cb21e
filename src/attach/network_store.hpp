// Where a network's addresses are kept: on the node, or in the pools or blocks of a cluster. A network has all of its
// ranges in one place.
#pragma once

#include "node_store.hpp"

#include <rdmanet/attach/node.hpp>
#include <rdmanet/base/deadline.hpp>
#include <rdmanet/ipam/config.hpp>
#include <rdmanet/state/attachment_record.hpp>
#include <rdmanet/state/attachment_store.hpp>

#include <optional>
#include <string>

namespace rdmanet::attach {

/// The configuration with its place. Asks the cluster what this node does not know: which AddressRanges there are,
/// and, for a network that reaches it otherwise than its node, which cluster it is. Throws ipam::StoreError for ranges
/// of several places, for a range that another place has or would give as well, for a network of another cluster than
/// the node's, and if the server does not answer; json::ValueError for what the place has no room for.
[[nodiscard]] ipam::Config settle_store(const ipam::Config& config, NodeStore& on_node, const Node& node,
                                        const state::AttachmentStore& records, const base::Deadline& deadline);

/// The same for an attachment whose earlier ADD has, or may get, leases in the cluster.
[[nodiscard]] ipam::Config settle_store(const ipam::Config& config, const std::optional<state::LeaseStore>& earlier,
                                        NodeStore& on_node, const Node& node, const state::AttachmentStore& records,
                                        const base::Deadline& deadline);

/// Throws what can be said of a network with a cluster without a request.
void require_possible(const ipam::Config& config, NodeStore& on_node, const Node& node, const base::Deadline& deadline);

/// An ADD has addresses of it.
void note_cluster(const ipam::StoreChoice& store, const Node& node);

/// As far as this node knows it without asking: pools, if nothing says that the ranges are in blocks.
[[nodiscard]] ipam::Config remembered_store(const ipam::Config& config, const Node& node,
                                            const state::AttachmentStore& records);

/// For people: "keep leases in blocks, ...".
[[nodiscard]] std::string describe_store(const ipam::StoreChoice& store);

} // namespace rdmanet::attach
