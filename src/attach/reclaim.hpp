// Reclaims what stale attachments hold. Their pods are dead, and no DEL came for them.
#pragma once

#include "detach.hpp"
#include "result.hpp"

#include "owners/liveness.hpp"

#include <rdmanet/attach/node.hpp>
#include <rdmanet/base/deadline.hpp>
#include <rdmanet/ipam/lease.hpp>
#include <rdmanet/state/attachment_store.hpp>

#include <string>
#include <vector>

namespace rdmanet::attach {

/// Undoes the stale attachments that have the device. First waits for a DEL that is working on one of them. Throws
/// CniError if something cannot be undone, and DirectoryError. The caller must not hold the lock of an attachment.
void reclaim_device(const std::string& device, const Call& call);

/// Takes the attachment's lock, and undoes the attachment if its pod is then proven dead. Throws DirectoryError if the
/// state directory does not let it lock. The caller must not hold the lock of an attachment.
[[nodiscard]] StillHeld undo_stale(const state::AttachmentKey& key, PodProbe& pods, const Call& call);

/// Undoes the rest of stale attachments whose leases were reclaimed, so that no address is in two records. It skips
/// an attachment that is not proven dead. Failures are only logged, because GC tries again. The caller must not hold
/// the lock of an attachment.
void undo_reclaimed(const std::vector<ipam::OwnerKey>& keys, const Call& call);

} // namespace rdmanet::attach
