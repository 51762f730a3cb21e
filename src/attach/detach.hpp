// Undoes an attachment. DEL, GC and the rollback of a failed ADD all use this code.
#pragma once

#include "owners/liveness.hpp"
#include "steps/context.hpp"

#include <rdmanet/attach/node.hpp>
#include <rdmanet/base/deadline.hpp>
#include <rdmanet/cni/error.hpp>
#include <rdmanet/cni/request.hpp>
#include <rdmanet/ipam/store/sqlite_store.hpp>
#include <rdmanet/state/attachment_record.hpp>
#include <rdmanet/state/attachment_store.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace rdmanet::attach {

[[nodiscard]] Caller caller_of(const cni::Request& request);

/// What could not be undone, one sentence each. Empty if everything is undone.
using StillHeld = std::vector<std::string>;

/// Undoes the record's steps from the last to the first, releases the leases, and removes the record. If something
/// could not be undone, the record stays and keeps only that. A failure does not stop the rest. The attachment's lock
/// must be held. `held` is what the caller knows to be held already; the result begins with it.
[[nodiscard]] StillHeld detach(const state::AttachmentRecord& record, const Caller& caller, const Node& node,
                               const state::AttachmentStore& records, ipam::SqliteStore& leases,
                               const base::Deadline& deadline, StillHeld held = {});

/// The rollback of an ADD, with a deadline of its own. As detach(), but logs what is still held. The leases that this
/// ADD took (`fresh`) need no cooldown, because no program of the pod has run.
void undo_failed_add(const state::AttachmentRecord& record, const std::vector<ipam::Lease>& fresh, const Caller& caller,
                     const Node& node, const state::AttachmentStore& records, ipam::SqliteStore& leases);

/// The error of DEL and GC: one message that names everything still held, and `cure`, a sentence.
[[nodiscard]] cni::CniError still_held_error(const StillHeld& held, std::string_view cure);

} // namespace rdmanet::attach
