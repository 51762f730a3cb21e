// What a node and its clusters say of its blocks, for `gc`.
#pragma once

#include <rdmanet/attach/node.hpp>
#include <rdmanet/base/deadline.hpp>
#include <rdmanet/state/attachment_store.hpp>

#include <string>
#include <vector>

namespace rdmanet::attach {

/// Asks each cluster what it says of this node's blocks, and gives back those that the node has no use for. Returns one
/// sentence for each cluster whose blocks are not confirmed, or not all given back: the next call tries again.
[[nodiscard]] std::vector<std::string> confirm_blocks(const Node& node, const state::AttachmentStore& records,
                                                      const base::Deadline& deadline);

/// The same for the cluster that `kubeconfig` leads to, where this node knows no range with blocks: those of an earlier
/// boot go back, also if a backup has brought them again. Throws ipam::StoreError.
void look_for_earlier_blocks(const std::string& kubeconfig, const std::string& node_name, const Node& node,
                             const state::AttachmentStore& records, const base::Deadline& deadline);

} // namespace rdmanet::attach
