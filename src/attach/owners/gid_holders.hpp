// Who has taken the places of a GID table that many pods share.
#pragma once

#include <rdmanet/base/deadline.hpp>
#include <rdmanet/kernel/rdma.hpp>
#include <rdmanet/state/attachment_store.hpp>

#include <string>

namespace rdmanet::attach {

/// `pod "default/a", interface "net1" (280), the node's interface "eth1" (2)`: the three that have the most entries,
/// and how many entries others have. Visits the namespace of each attachment on the port, as a pod may have given
/// itself more addresses than ADD did; where that can't be, the record's addresses count. Throws base::Error where
/// the table, the records or the node's interfaces can't be read.
[[nodiscard]] std::string describe_gid_holders(const kernel::RdmaPort& port, const state::AttachmentStore& records,
                                               const base::Deadline& deadline);

} // namespace rdmanet::attach
