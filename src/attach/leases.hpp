// Between the journal and the lease store: each can be told from the other.
#pragma once

#include <rdmanet/attach/node.hpp>
#include <rdmanet/base/deadline.hpp>
#include <rdmanet/ipam/lease.hpp>
#include <rdmanet/ipam/store/sqlite_store.hpp>
#include <rdmanet/state/attachment_store.hpp>

#include <vector>

namespace rdmanet::attach {

[[nodiscard]] ipam::OwnerKey owner_key(const state::AttachmentKey& key);
[[nodiscard]] ipam::Owner owner_of(const state::AttachmentRecord& record);
[[nodiscard]] std::vector<state::RecordedLease> to_recorded(const std::vector<ipam::Lease>& leases);

/// The node's lease store. Made anew, it starts with the leases that the journal knows.
[[nodiscard]] ipam::SqliteStore open_leases(const Node& node, const state::AttachmentStore& records);

// A damaged store is put right first, from the journal: DEL and GC must not fail for ever because a file is broken.

/// Whether the attachment's record in another role names its leases: they are given back with that one.
[[nodiscard]] bool has_leases_beside(const state::AttachmentKey& key, const state::AttachmentStore& records);

/// Gives back what the attachment holds.
void release_leases(ipam::SqliteStore& leases, const state::AttachmentKey& key, const Node& node,
                    const base::Deadline& deadline);

/// The same after an ADD that failed: what it took, `fresh`, no program can have used, so that doesn't rest.
void withdraw_leases(ipam::SqliteStore& leases, const state::AttachmentKey& key, const std::vector<ipam::Lease>& fresh,
                     const Node& node, const base::Deadline& deadline);

[[nodiscard]] std::vector<ipam::Lease> find_leases(ipam::SqliteStore& leases, const state::AttachmentKey& key,
                                                   const Node& node, const base::Deadline& deadline);

[[nodiscard]] std::vector<ipam::Lease> list_leases(ipam::SqliteStore& leases, const Node& node,
                                                   const base::Deadline& deadline);

} // namespace rdmanet::attach
