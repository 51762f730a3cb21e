// The leases of this node in blocks of the cluster, for operations that start from the node and not from a network.
#pragma once

#include "node_store.hpp"

#include <rdmanet/attach/node.hpp>
#include <rdmanet/base/deadline.hpp>
#include <rdmanet/cluster/blocks_store.hpp>
#include <rdmanet/ipam/lease.hpp>
#include <rdmanet/ipam/store/block_file.hpp>
#include <rdmanet/state/attachment_store.hpp>

#include <string>
#include <vector>

namespace rdmanet::attach {

inline constexpr const char* kBlocks = "blocks"; // state::LeaseStore::kind

/// The file of the leases in blocks. A new one starts with those in the journal's records of this boot.
[[nodiscard]] ipam::BlockFile open_block_leases(const Node& node, const state::AttachmentStore& records);

/// Who this node is for the cluster, with the name that it has there; empty: the host's name.
[[nodiscard]] cluster::BlocksStore::Options block_options(const Node& node, const std::string& node_name);

/// False without a file: then this node has never had a block.
[[nodiscard]] bool has_block_file(const Node& node);

// These first rebuild a damaged file from the journal, and do nothing if there is none.

/// All leases on this node: those of its own store, and those in its blocks.
[[nodiscard]] std::vector<ipam::Lease> list_all_leases(NodeStore& leases, const state::AttachmentStore& records,
                                                       const Node& node, const base::Deadline& deadline);
void release_block_leases(const ipam::OwnerKey& key, const Node& node, const state::AttachmentStore& records,
                          const base::Deadline& deadline);

/// Gives blocks back to their clusters, and finds out what became of requests without an answer. Returns what failed,
/// one sentence for each cluster: the file remembers it for the next call.
[[nodiscard]] std::vector<std::string> settle_blocks(const Node& node, const state::AttachmentStore& records,
                                                     const base::Deadline& deadline);

/// The same for blocks of an earlier boot, where no ADD of this boot has used blocks of the cluster that `kubeconfig`
/// leads to. Asks once a boot. Throws ipam::StoreError.
void look_for_earlier_blocks(const std::string& kubeconfig, const std::string& node_name, const Node& node,
                             const state::AttachmentStore& records, const base::Deadline& deadline);

} // namespace rdmanet::attach
