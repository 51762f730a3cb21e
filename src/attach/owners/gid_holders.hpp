// Who holds the entries of a GID table that many pods share.
#pragma once

#include <rdmanet/base/deadline.hpp>
#include <rdmanet/kernel/rdma.hpp>
#include <rdmanet/state/attachment_store.hpp>

#include <string>

namespace rdmanet::attach {

/// `pod "default/a", interface "net1" (280), the node's interface "eth1" (2)`: the three holders with the most
/// entries, and how many entries the others have. Reads the addresses in each pod on the port, because a pod may have
/// added some itself. If it cannot enter a pod's namespace, it uses the addresses of the record. Throws base::Error
/// if the table, the records or the node's interfaces cannot be read.
[[nodiscard]] std::string describe_gid_holders(const kernel::RdmaPort& port, const state::AttachmentStore& records,
                                               const base::Deadline& deadline);

} // namespace rdmanet::attach
