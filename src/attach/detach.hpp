// Undoes an attachment. DEL, GC and the rollback of a failed ADD all use this code.
#pragma once

#include "lookup/call.hpp"
#include "owners/liveness.hpp"

#include <rdmanet/base/deadline.hpp>
#include <rdmanet/cni/error.hpp>
#include <rdmanet/state/attachment_record.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace rdmanet::attach {

/// What could not be undone, one sentence each. Empty if everything is undone.
using StillHeld = std::vector<std::string>;

/// Undoes the record's steps from the last to the first, releases the leases, and removes the record. If something
/// could not be undone, the record stays and keeps only that. A failure does not stop the rest. The attachment's lock
/// must be held. `held` is what the caller knows to be held already; the result begins with it.
[[nodiscard]] StillHeld detach(const state::AttachmentRecord& record, const Call& call, StillHeld held = {});

/// The rollback of an ADD, with a deadline of its own. As detach(), but logs what is still held. The leases that this
/// ADD took (`fresh`) need no cooldown, because no program of the pod has run.
void undo_failed_add(const state::AttachmentRecord& record, const std::vector<ipam::Lease>& fresh, const Call& call);

/// Whether nothing is left of the attachment but addresses that it owes to a store of the cluster.
[[nodiscard]] bool is_only_owing(const state::AttachmentRecord& record);

/// Throws Error if detach() could not give addresses back to the cluster.
void require_given_back(const state::AttachmentKey& key, const Call& call);

/// Gives back what these attachments owe to stores of the cluster, whatever their pods do: DEL, or the ADD that failed,
/// was the owner's word. The caller must not hold the lock of an attachment.
[[nodiscard]] StillHeld pay_owed_addresses(const std::vector<state::AttachmentRecord>& owing, const Call& call,
                                           const base::Deadline& for_locks, const base::Deadline& deadline);

/// The same for all that owe, at the end of a call that has just used the cluster's store. Failures are only logged.
void pay_owed_addresses_soon(const Call& call);

/// The error of DEL and GC: one message that names everything still held, and `fix`, a sentence.
[[nodiscard]] cni::CniError still_held_error(const StillHeld& held, std::string_view fix);

} // namespace rdmanet::attach
