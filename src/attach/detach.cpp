#include "detach.hpp"

#include "remaining.hpp"

#include "lookup/call.hpp"
#include "steps/delegate.hpp"
#include "steps/rdma_names.hpp"
#include "steps/registry.hpp"
#include "steps/vf_settings.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/ipam/config.hpp>
#include <rdmanet/ipam/errors.hpp>
#include <rdmanet/state/state_directory.hpp>
#include <rdmanet/state/topic.hpp>

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <variant>

namespace rdmanet::attach {
namespace {

/// Runs `act`. If it fails with any exception, adds a sentence to `held` and returns false, so that the rest goes on.
template <class Act>
bool attempt(StillHeld& held, std::string_view what, Act&& act) {
    try {
        act();
        return true;
    } catch (const std::exception& error) {
        held.push_back(fmt::format("{}: {}", what, error.what()));
        return false;
    }
}

/// Whose work is undone: that of the failed ADD that calls, or that of an earlier ADD.
enum class Undoing : std::uint8_t { own_add, earlier_add };

/// Changes of the kernel end with a reboot. Undoing them later would change what the administrator set up since.
/// Files of other programs may be on a disk, and survive.
bool outlives_boot(const state::Step& step) {
    return is_for_others(step);
}

/// Whether the failure of an IPAM plugin's DEL can be ignored, because that plugin refused the ADD and so holds
/// nothing. Most often its own configuration is wrong, and repeating DEL would not help. The rollback of ADD does not
/// ignore it: the record must stay for the DEL that every runtime sends after a failed ADD.
bool is_ignorable(const state::Step& step, const base::Error& why, Undoing undoing, const base::Logger& log) {
    if (undoing == Undoing::own_add || !is_settled_by_one_attempt(step)) return false;
    log.warn(fmt::format("{}: the plugin refused the ADD and so holds nothing; the failure of its DEL is ignored ({})",
                         describe(step), why.what()));
    return true;
}

void revert_step(const state::Step& step, const Undo& undo, Undoing undoing) {
    try {
        revert(step, undo);
    } catch (const base::Error& error) {
        if (!is_ignorable(step, error, undoing, undo.call.log)) throw;
    }
}

/// Writes what is not yet undone, if the journal has a record. One that DEL put together without a record is not
/// written.
void save_remaining(const state::AttachmentRecord& remaining, const state::AttachmentStore& records) {
    const auto outcome = records.load(remaining.key);
    const auto* recorded = std::get_if<state::AttachmentRecord>(&outcome);
    if (recorded != nullptr && recorded->to_text() != remaining.to_text()) records.save(remaining);
}

bool is_absent(const state::AttachmentKey& key, const state::AttachmentStore& records) {
    return std::holds_alternative<state::NoRecord>(records.load(key));
}

/// False if the proof itself fails: what cannot be read proves nothing.
template <class Proof>
bool is_provable(Proof&& proof) try {
    return proof();
} catch (const std::exception&) {
    return false;
}

/// Keeps the pod from using a device that could not be taken back, once its settings are the host's again. Returns
/// how many steps it inserted before the moves.
std::size_t disconnect(state::AttachmentRecord& remaining, const state::AttachmentStore& records, StillHeld& held) {
    const std::size_t before = remaining.steps.size();
    attempt(held, fmt::format("link of device {}", remaining.device()), [&] {
        if (const std::string done = disconnect_device(remaining, records); !done.empty())
            held.push_back(fmt::format("device {}: until it is back on the host, {}", remaining.device(), done));
    });
    return remaining.steps.size() - before;
}

/// Undoes the steps from the last to the first. A step that must wait for a failed one is not tried.
void undo_steps(state::AttachmentRecord& remaining, const Undo& undo, Undoing undoing, StillHeld& held) {
    const bool same_boot = undo.record.boot_id == undo.call.node.boot_id;
    std::vector<state::Step> failed;
    for (std::size_t at = remaining.steps.size(); at-- > 0;) {
        const state::Step step = remaining.steps[at];
        if (std::any_of(failed.begin(), failed.end(), [&](const auto& other) { return waits_for(step, other); }))
            continue;
        const bool is_gone = !same_boot && !outlives_boot(step);
        if (is_gone || attempt(held, describe(step), [&] { revert_step(step, undo, undoing); })) {
            drop_undone_step(remaining, at);
            continue;
        }
        if (is_move(step) && std::none_of(failed.begin(), failed.end(), is_move) &&
            is_provable([&] { return is_still_with_attachment(step, undo); }))
            at += disconnect(remaining, undo.call.records, held);
        failed.push_back(step);
    }
}

std::string describe_leases(const state::AttachmentRecord& record) {
    std::string text = "addresses";
    for (const state::RecordedLease& lease : record.leases)
        text += fmt::format("{}{}", &lease == record.leases.data() ? " " : ", ", lease.address);
    return text;
}

StillHeld undo_record(const state::AttachmentRecord& record, const Call& call, Undoing undoing, StillHeld held = {},
                      const std::vector<ipam::Lease>& fresh = {}) {
    const state::AttachmentStore& records = call.records;
    leases::Leases& leases = call.leases;
    const Undo undo{.call = call, .record = record, .is_of_owner = undoing == Undoing::own_add || call.is_del()};
    // A record that the caller could not read holds more than `record`, which was put together from what exists.
    const bool is_read = held.empty();
    state::AttachmentRecord remaining = all_remaining(record);
    remaining.removal_unfinished = record.removal_unfinished || undoing == Undoing::earlier_add;
    undo_steps(remaining, undo, undoing, held);
    bool is_owed = false;        // to a store that can't be asked now
    std::string directory_fault; // that may be why the node's own store refused
    const bool has_no_leases = attempt(held, describe_leases(record), [&] {
        if (!record.key.has_leases()) return;
        const bool are_its_own = undoing == Undoing::own_add || !leases::has_leases_in_other_role(record.key, records);
        for (const ipam::Lease& lease : are_its_own ? leases::recorded_leases_of(record) : std::vector<ipam::Lease>())
            records.forget_address(lease.space, lease.address.address(), record.key);
        if (record.lease_store && are_its_own) is_owed = leases.give_back(remaining, fresh, call.deadline).has_value();
        // The node may have some of a repeated ADD, or of one that was killed early or whose record is lost.
        try {
            if (undoing == Undoing::own_add)
                leases.withdraw_on_node(record.key, fresh, call.deadline);
            else if (are_its_own)
                leases.release_on_node(record.key, call.deadline);
        } catch (const ipam::StoreError&) {
            directory_fault = state::find_write_fault(call.node.state_directory);
            throw;
        }
    });
    drop_released(remaining, has_no_leases && !is_owed);
    remaining.removal_unfinished = remaining.removal_unfinished || is_owed;
    const bool is_recorded = attempt(held, "journal record", [&] {
        if (held.empty() && !is_owed)
            records.remove(record.key);
        else if (is_owed && is_read && !is_absent(record.key, records))
            records.save(remaining);
        else if (is_read)
            save_remaining(remaining, records);
    });
    if (is_recorded && !directory_fault.empty()) // otherwise the error of the journal names the fault
        held.back() += fmt::format(", because {}", directory_fault);
    restore_waiting_names(call);
    return held;
}

} // namespace

StillHeld detach(const state::AttachmentRecord& record, const Call& call, StillHeld held) {
    return undo_record(record, call, Undoing::earlier_add, std::move(held));
}

void undo_failed_add(const state::AttachmentRecord& record, const std::vector<ipam::Lease>& fresh, const Call& call) {
    const Call undoing = call.to_undo(base::Deadline::in(kUndoTimeout));
    for (const std::string& what : undo_record(record, undoing, Undoing::own_add, {}, fresh))
        call.log.error(fmt::format("still held after a failed ADD: {}", what));
}

namespace {

/// Nothing but addresses, and perhaps what their giving back has to wait for.
bool holds_nothing_else(const state::AttachmentRecord& record) {
    return record.steps.empty();
}

/// More than what a late request may leave.
bool owes_known_addresses(const state::AttachmentRecord& record) {
    return record.owes_addresses() && !record.lease_store->is_released;
}

constexpr const char* kNotTakenBack = "the cluster's lease store did not take them back: the log has the reason";

void pay(const state::AttachmentKey& key, const Call& call, const base::Deadline& for_lock,
         const base::Deadline& deadline) {
    const state::AttachmentStore& records = call.records;
    const base::FileLock lock = records.lock(key, for_lock);
    const auto outcome = records.load(key);
    const auto* record = std::get_if<state::AttachmentRecord>(&outcome);
    if (record == nullptr || !record->owes_addresses()) return;
    state::AttachmentRecord remaining = *record;
    const auto owed = call.leases.give_back(remaining, {}, deadline);
    drop_released(remaining, !owed);
    if (!owed && holds_nothing_else(remaining))
        records.remove(key);
    else if (remaining.to_text() != record->to_text())
        records.save(remaining);
    if (owed && owes_known_addresses(remaining)) throw base::Error(*owed);
}

} // namespace

void require_given_back(const state::AttachmentKey& key, const Call& call) {
    const auto outcome = call.records.load(key);
    const auto* left = std::get_if<state::AttachmentRecord>(&outcome);
    if (left != nullptr && owes_known_addresses(*left)) throw base::Error(kNotTakenBack);
}

bool is_only_owing(const state::AttachmentRecord& record) {
    return record.owes_addresses() && holds_nothing_else(record);
}

StillHeld pay_owed_addresses(const std::vector<state::AttachmentRecord>& owing, const Call& call,
                             const base::Deadline& for_locks, const base::Deadline& deadline) {
    StillHeld held;
    std::map<std::string, std::size_t> refused; // how many could not be asked for any more, by kubeconfig
    for (const state::AttachmentRecord& record : owing) {
        if (record.lease_store->is_released && leases::is_unsettled(record, call.node.boot_id))
            continue; // it is too early to look
        const std::string& kubeconfig = record.lease_store->kubeconfig;
        if (const auto known = refused.find(kubeconfig); known != refused.end() || deadline.passed()) {
            ++refused[kubeconfig];
            continue;
        }
        if (!attempt(held, fmt::format("addresses of {} in the cluster", describe(record)),
                     [&] { pay(record.key, call, for_locks, deadline); }))
            refused.emplace(kubeconfig, 0);
    }
    for (const auto& [kubeconfig, count] : refused)
        if (count != 0)
            held.push_back(fmt::format("addresses of {} more in the cluster of kubeconfig {}",
                                       base::counted(count, "attachment", "attachments"), kubeconfig));
    return held;
}

void pay_owed_addresses_soon(const Call& call) try {
    constexpr std::chrono::seconds kTimeout{2}; // for all of them: the runtime is waiting for a call that is done
    const auto at_once = base::Deadline::in(std::chrono::seconds(0)); // who has the lock may pay itself
    const auto owing = call.records.list_about(state::kOwedAddressesTopic);
    const base::Deadline deadline = call.leases.until(base::Deadline::in(kTimeout));
    for (const std::string& what : pay_owed_addresses(owing, call, at_once, deadline)) call.log.warn(what);
} catch (const base::Error& error) {
    call.log.warn(fmt::format("cannot look for addresses that are owed: {}", error.what()));
}

cni::CniError still_held_error(const StillHeld& held, std::string_view fix) {
    return {cni::ErrorCode::still_held, fmt::format("still held: {}. {}", base::join(held, "; "), fix)};
}

} // namespace rdmanet::attach
