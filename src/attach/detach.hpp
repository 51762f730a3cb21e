// Undoing an attachment: the one piece of code behind DEL, GC and the rollback of a failed ADD.
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
#include <vector>

namespace rdmanet::attach {

[[nodiscard]] Caller caller_of(const cni::Request& request);

/// What could not be undone, one sentence each; empty if all is gone.
using StillHeld = std::vector<std::string>;

/// Replays the record's steps backwards, gives back the leases, and removes the record if nothing is held any more;
/// else leaves in it what is owed. Each part is tried whatever became of the others. The attachment's lock must be
/// held. `held`: what is known to be held beforehand; it is in the result.
[[nodiscard]] StillHeld detach(const state::AttachmentRecord& record, const Caller& caller, const Node& node,
                               const state::AttachmentStore& records, ipam::SqliteStore& leases,
                               const base::Deadline& deadline, StillHeld held = {});

/// For the rollback of an ADD, beyond its deadline: as detach(), and what is still held is logged. The leases that it
/// took, `fresh`, don't rest: no program of the pod has run.
void undo_failed_add(const state::AttachmentRecord& record, const std::vector<ipam::Lease>& fresh, const Caller& caller,
                     const Node& node, const state::AttachmentStore& records, ipam::SqliteStore& leases);

/// What DEL and GC answer then: one error that names all of it.
[[nodiscard]] cni::CniError still_held_error(const StillHeld& held);

} // namespace rdmanet::attach
