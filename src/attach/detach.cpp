#include "detach.hpp"

#include "leases.hpp"
#include "owed.hpp"

#include "owners/attachment.hpp"
#include "steps/contain.hpp"
#include "steps/registry.hpp"

#include <rdmanet/base/text.hpp>

#include <algorithm>
#include <cstdint>
#include <variant>

namespace rdmanet::attach {
namespace {

/// Runs `act`; a failure becomes a sentence instead of ending the rest, and false.
template <class Act>
bool attempt(StillHeld& held, std::string_view what, Act&& act) {
    try {
        act();
        return true;
    } catch (const base::Error& error) {
        held.push_back(base::concat(what, ": ", error.what()));
        return false;
    }
}

/// Who undoes: an ADD what it has begun itself, or anybody what an earlier one has left.
enum class Undoing : std::uint8_t { own_add, earlier_add };

/// What a step did to the kernel ended with the kernel: by now the device with that address is as this boot's
/// administrator has made it, and not to be touched. What is in files of other programs may be on a disk.
bool outlives_boot(const state::Step& step) {
    return state::holds_nothing(step);
}

/// An IPAM plugin that refused the ADD owes nothing after this, whatever it says: most often its own configuration is
/// wrong, which no repetition mends. The ADD itself leaves that to the DEL that every runtime sends after it: with the
/// record gone, that one could not know.
bool settles(const state::Step& step, const base::Error& why, Undoing undoing, const base::Logger& log) {
    const auto* delegate = std::get_if<state::DelegateIpam>(&step);
    if (delegate == nullptr || !delegate->refused || undoing == Undoing::own_add) return false;
    log.warn(base::concat(describe(step),
                          ": its ADD was refused, so it is taken to hold none, although its DEL fails (", why.what(),
                          ')'));
    return true;
}

void revert_or_settle(const state::Step& step, const RevertContext& context, Undoing undoing) {
    try {
        revert(step, context);
    } catch (const base::Error& error) {
        if (!settles(step, error, undoing, context.log)) throw;
    }
}

/// What the journal says of the attachment from now on. A record that was put together from what is in the pod is not
/// written down.
void save_owed(const state::AttachmentRecord& owed, const state::AttachmentStore& records) {
    const auto outcome = records.load(owed.key);
    const auto* recorded = std::get_if<state::AttachmentRecord>(&outcome);
    if (recorded != nullptr && recorded->to_text() != owed.to_text()) records.save(owed);
}

/// What can't be looked at proves nothing.
template <class Proof>
bool is_provable(Proof&& proof) try {
    return proof();
} catch (const base::Error&) {
    return false;
}

/// Whoever still has the device must not use it as the host's. Returns how many steps that has put before the moves.
std::size_t contain(state::AttachmentRecord& owed, const state::AttachmentStore& records, StillHeld& held) {
    const std::size_t before = owed.steps.size();
    attempt(held, base::concat("link of device ", owed.device()), [&] {
        if (const std::string done = contain_device(owed, records); !done.empty())
            held.push_back(base::concat("device ", owed.device(), ": until it is home, ", done));
    });
    return owed.steps.size() - before;
}

/// Steps that wait for one that failed are not tried.
void undo_steps(state::AttachmentRecord& owed, const RevertContext& context, Undoing undoing, bool same_boot,
                StillHeld& held) {
    std::vector<state::Step> failed;
    for (std::size_t at = owed.steps.size(); at-- > 0;) {
        const state::Step step = owed.steps[at];
        if (std::any_of(failed.begin(), failed.end(), [&](const auto& other) { return waits_for(step, other); }))
            continue;
        const bool is_gone = !same_boot && !outlives_boot(step);
        if (is_gone || attempt(held, describe(step), [&] { revert_or_settle(step, context, undoing); })) {
            leave_owed(owed, at);
            continue;
        }
        if (is_move(step) && std::none_of(failed.begin(), failed.end(), is_move) &&
            is_provable([&] { return is_still_with_attachment(step, context); }))
            at += contain(owed, context.records, held);
        failed.push_back(step);
    }
}

StillHeld undo(const state::AttachmentRecord& record, const Caller& caller, Undoing undoing, const Node& node,
               const state::AttachmentStore& records, ipam::SqliteStore& leases, const base::Deadline& deadline,
               StillHeld held = {}, const std::vector<ipam::Lease>& fresh = {}) {
    const RevertContext context{.record = record,
                                .caller = caller,
                                .records = records,
                                .log = node.log,
                                .deadline = deadline,
                                .is_of_owner = undoing == Undoing::own_add || caller.is_del};
    state::AttachmentRecord owed = all_owed(record);
    owed.removal_unfinished = record.removal_unfinished || undoing == Undoing::earlier_add;
    undo_steps(owed, context, undoing, record.boot_id == node.boot_id, held);
    const bool has_no_leases = attempt(held, "addresses", [&] {
        if (!record.key.has_leases()) return;
        if (undoing == Undoing::own_add)
            withdraw_leases(leases, record.key, fresh, node,
                            deadline); // no program of the pod has run: they need no rest
        else if (!has_leases_beside(record.key, records))
            release_leases(leases, record.key, node, deadline);
    });
    forget_given_back(owed, has_no_leases);
    attempt(held, "journal record", [&] { held.empty() ? records.remove(record.key) : save_owed(owed, records); });
    settle_owed_names({.records = records, .boot_id = node.boot_id, .log = node.log});
    return held;
}

} // namespace

Caller caller_of(const cni::Request& request) {
    return {.netns_path = request.netns_path,
            .cni_path = request.path_text,
            .ipam_type = request.conf.ipam_type.value_or(""),
            .config = request.stdin_text,
            .is_del = request.command == cni::Command::del};
}

StillHeld detach(const state::AttachmentRecord& record, const Caller& caller, const Node& node,
                 const state::AttachmentStore& records, ipam::SqliteStore& leases, const base::Deadline& deadline,
                 StillHeld held) {
    return undo(record, caller, Undoing::earlier_add, node, records, leases, deadline, std::move(held));
}

void undo_failed_add(const state::AttachmentRecord& record, const std::vector<ipam::Lease>& fresh, const Caller& caller,
                     const Node& node, const state::AttachmentStore& records, ipam::SqliteStore& leases) {
    const auto deadline = base::Deadline::in(kUndoTimeout);
    for (const std::string& what : undo(record, caller, Undoing::own_add, node, records, leases, deadline, {}, fresh))
        node.log.error(base::concat("still held after a failed ADD: ", what));
}

cni::CniError still_held_error(const StillHeld& held) {
    std::string message = "still held: ";
    for (const std::string& what : held) message += base::concat(&what == held.data() ? "" : "; ", what);
    return {cni::ErrorCode::still_held, message};
}

} // namespace rdmanet::attach
