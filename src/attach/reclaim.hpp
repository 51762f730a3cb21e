// Taking back what attachments of pods that are gone have left, and no DEL came for.
#pragma once

#include "detach.hpp"
#include "session.hpp"

#include "owners/liveness.hpp"

#include <rdmanet/attach/node.hpp>
#include <rdmanet/base/deadline.hpp>
#include <rdmanet/ipam/lease.hpp>
#include <rdmanet/ipam/store/sqlite_store.hpp>
#include <rdmanet/state/attachment_store.hpp>

#include <string>
#include <vector>

namespace rdmanet::attach {

/// Undoes what stale attachments have left on the device, once whoever works on its owners, a DEL for one, is done.
/// Throws CniError if it can't be undone. No attachment's lock may be held.
void reclaim_device(const std::string& device, Session& session, const base::Deadline& deadline);

/// Undoes an attachment if its pod is provably gone by the time that its lock is had. No attachment's lock may be held.
[[nodiscard]] StillHeld undo_stale(const state::AttachmentKey& key, PodProbe& pods, const Node& node,
                                   const state::AttachmentStore& records, ipam::SqliteStore& leases,
                                   const base::Deadline& deadline);

/// Undoes what is left of dead attachments whose leases another one has been given, so that no address is written down
/// for two. What is not dead, or in use, is left alone; failures are logged, GC comes to it again. No attachment's lock
/// may be held.
void undo_reclaimed(const std::vector<ipam::OwnerKey>& keys, const Node& node, const state::AttachmentStore& records,
                    ipam::SqliteStore& leases);

} // namespace rdmanet::attach
