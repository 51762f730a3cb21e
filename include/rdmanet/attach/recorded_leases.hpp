// The leases of this node: in the journal's records, and in its lease stores.
#pragma once

#include <rdmanet/attach/node.hpp>
#include <rdmanet/base/deadline.hpp>
#include <rdmanet/ipam/lease.hpp>
#include <rdmanet/ipam/store/block_file.hpp>
#include <rdmanet/state/attachment_store.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace rdmanet::attach {

/// All of them, those of younger attachments first. They replace a lost lease store. `boot_id` is the present boot's.
/// `store` is the kind of the store that they are in; empty: the node's own.
[[nodiscard]] std::vector<ipam::Lease> list_recorded_leases(const state::AttachmentStore& records,
                                                            const std::string& boot_id, std::string_view store = {});

struct NodeLeases {
    std::vector<ipam::Lease> own;       // in the node's own store
    std::vector<ipam::Lease> in_blocks; // of the cluster
    std::vector<ipam::Block> blocks;
};
/// Repairs and changes nothing.
[[nodiscard]] NodeLeases read_node_leases(const Node& node, const state::AttachmentStore& records,
                                          const base::Deadline& deadline);

/// Those in this node's own store and in its blocks. Repairs and changes nothing.
[[nodiscard]] std::vector<ipam::Lease> read_leases(const Node& node, const state::AttachmentStore& records,
                                                   const base::Deadline& deadline);

} // namespace rdmanet::attach
