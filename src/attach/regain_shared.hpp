// Leases of a living attachment that a store of the cluster lacks.
#pragma once

#include <rdmanet/attach/node.hpp>
#include <rdmanet/base/deadline.hpp>
#include <rdmanet/ipam/store.hpp>
#include <rdmanet/state/attachment_store.hpp>

#include <chrono>
#include <vector>

namespace rdmanet::attach {

inline constexpr std::chrono::seconds kRegainTimeout{30}; // of one attachment

/// Makes them in the store that the record names, as ipam::Store::regain(). That store outlives this node: what may be
/// owed to it is in the record before it is asked for, in case this process is killed, or gets no answer. The caller
/// has the attachment's lock.
[[nodiscard]] std::vector<ipam::Regained> regain_shared(state::AttachmentRecord& record,
                                                        const std::vector<ipam::Lease>& leases, const Node& node,
                                                        const state::AttachmentStore& records,
                                                        const base::Deadline& deadline);

} // namespace rdmanet::attach
