// Lists all attachments that the node knows, even if their records are lost or cannot be read.
#pragma once

#include <rdmanet/ipam/lease.hpp>
#include <rdmanet/state/attachment_store.hpp>

#include <optional>
#include <vector>

namespace rdmanet::attach {

struct KnownAttachment {
    state::AttachmentRecord record;              // without one: put together from the leases or from the file's name
    std::optional<state::Unreadable> unreadable; // its record's file cannot be read
};

/// Every attachment that has a record, an unreadable record, or leases without a record. If the name of an unreadable
/// file is not that of a record, its key is empty.
[[nodiscard]] std::vector<KnownAttachment> list_known_attachments(const state::AttachmentStore& records,
                                                                  const std::vector<ipam::Lease>& leases);

} // namespace rdmanet::attach
