// The leases of this node in blocks of the cluster, for operations that start from the node and not from a network.
#pragma once

#include "node_store.hpp"

#include <rdmanet/attach/node.hpp>
#include <rdmanet/base/deadline.hpp>
#include <rdmanet/ipam/lease.hpp>
#include <rdmanet/ipam/store/block_file.hpp>
#include <rdmanet/state/attachment_store.hpp>

#include <string>
#include <vector>

namespace rdmanet::attach {

/// The file of the leases in blocks. A new one starts with those in the journal's records of this boot.
[[nodiscard]] ipam::BlockFile open_block_leases(const Node& node, const state::AttachmentStore& records);

/// False without a file: then this node has had no block in this boot.
[[nodiscard]] bool has_block_file(const Node& node);

// These first rebuild a damaged file from the journal, and do nothing if there is none.

/// All leases on this node: those of its own store, and those in its blocks.
[[nodiscard]] std::vector<ipam::Lease> list_all_leases(NodeStore& leases, const state::AttachmentStore& records,
                                                       const Node& node, const base::Deadline& deadline);
void release_block_leases(const ipam::OwnerKey& key, const Node& node, const state::AttachmentStore& records,
                          const base::Deadline& deadline);

} // namespace rdmanet::attach
