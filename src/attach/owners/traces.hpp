// What attachments left on the node, whether or not their records can be read.
#pragma once

#include <rdmanet/ipam/lease.hpp>
#include <rdmanet/state/attachment_store.hpp>

#include <optional>
#include <vector>

namespace rdmanet::attach {

struct Trace {
    state::AttachmentRecord record; // put together from leases and a file's name where there is none
    std::optional<state::Unreadable> unreadable;
};

/// Every attachment that left a trace: a record, a file that should be one, leases whose record was never written or
/// was lost. A file whose name tells no attachment comes with an empty key.
[[nodiscard]] std::vector<Trace> list_traces(const state::AttachmentStore& records,
                                             const std::vector<ipam::Lease>& leases);

} // namespace rdmanet::attach
