#include "detach.hpp"

#include "device_contain.hpp"
#include "leases.hpp"

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

enum class Leases : std::uint8_t { rest, are_free_at_once };

/// What a step did to the kernel ended with the kernel: by now the device with that address is as this boot's
/// administrator has made it, and not to be touched. What is in files of other programs may be on a disk.
bool outlives_boot(const state::Step& step) {
    return std::holds_alternative<state::DelegateIpam>(step) || std::holds_alternative<state::WriteDeviceInfo>(step);
}

/// Whoever still has the device must not use it as the host's.
void contain(const state::AttachmentRecord& record, const state::AttachmentStore& records, StillHeld& held) {
    attempt(held, base::concat("link of device ", record.device()), [&] {
        state::AttachmentRecord contained = record;
        if (const std::string done = contain_device(contained, records); !done.empty())
            held.push_back(base::concat("device ", record.device(), ": until it is home, ", done));
    });
}

/// Steps that wait for one that failed are not tried.
void undo_steps(const state::AttachmentRecord& record, const RevertContext& context, bool same_boot, StillHeld& held) {
    std::vector<state::Step> failed;
    for (auto step = record.steps.rbegin(); step != record.steps.rend(); ++step) {
        if (!same_boot && !outlives_boot(*step)) continue;
        if (std::any_of(failed.begin(), failed.end(), [&](const auto& other) { return waits_for(*step, other); }))
            continue;
        if (attempt(held, describe(*step), [&] { revert(*step, context); })) continue;
        if (is_move(*step) && std::none_of(failed.begin(), failed.end(), is_move))
            contain(record, context.records, held);
        failed.push_back(*step);
    }
}

StillHeld undo(const state::AttachmentRecord& record, const Caller& caller, Leases given_back, const Node& node,
               const state::AttachmentStore& records, ipam::SqliteStore& leases, const base::Deadline& deadline,
               StillHeld held = {}) {
    const RevertContext context{
        .record = record, .caller = caller, .records = records, .log = node.log, .deadline = deadline};
    undo_steps(record, context, record.boot_id == node.boot_id, held);
    if (record.key.role.empty())
        attempt(held, "addresses", [&] {
            if (given_back == Leases::rest)
                release_leases(leases, record.key, node, deadline);
            else
                withdraw_leases(leases, record, node, deadline);
        });
    if (held.empty()) attempt(held, "journal record", [&] { records.remove(record.key); });
    settle_owed_names({.records = records, .boot_id = node.boot_id, .log = node.log});
    return held;
}

} // namespace

Caller caller_of(const cni::Request& request) {
    return {.netns_path = request.netns_path, .cni_path = request.path_text};
}

StillHeld detach(const state::AttachmentRecord& record, const Caller& caller, const Node& node,
                 const state::AttachmentStore& records, ipam::SqliteStore& leases, const base::Deadline& deadline,
                 StillHeld held) {
    return undo(record, caller, Leases::rest, node, records, leases, deadline, std::move(held));
}

void undo_failed_add(const state::AttachmentRecord& record, const Caller& caller, const Node& node,
                     const state::AttachmentStore& records, ipam::SqliteStore& leases) {
    const auto deadline = base::Deadline::in(kUndoTimeout);
    for (const std::string& what : undo(record, caller, Leases::are_free_at_once, node, records, leases, deadline))
        node.log.error(base::concat("still held after a failed ADD: ", what));
}

StillHeld detach_dead(const state::AttachmentKey& key, Undertaker& undertaker, const Node& node,
                      const state::AttachmentStore& records, ipam::SqliteStore& leases,
                      const base::Deadline& deadline) {
    StillHeld held;
    attempt(held, "journal record", [&] {
        const base::FileLock lock = records.lock(key, deadline);
        const auto outcome = records.load(key);
        const auto* record = std::get_if<state::AttachmentRecord>(&outcome);
        if (record == nullptr || undertaker.probe(trace_of(*record)) != ipam::Liveness::dead) return;
        held = detach(*record, {}, node, records, leases, deadline);
    });
    return held;
}

void detach_dispossessed(const std::vector<ipam::OwnerKey>& keys, const Node& node,
                         const state::AttachmentStore& records, ipam::SqliteStore& leases) {
    constexpr std::chrono::seconds kTimeout{2}; // for all: the runtime waits for an ADD that is done
    const auto deadline = base::Deadline::in(kTimeout);
    Undertaker undertaker(node);
    for (const ipam::OwnerKey& key : keys) {
        if (deadline.passed()) return;
        const state::AttachmentKey dead{.network = key.network, .container_id = key.container_id, .ifname = key.ifname};
        for (const std::string& what : detach_dead(dead, undertaker, node, records, leases, deadline))
            node.log.warn(base::concat("left of a dead pod's attachment (", key.container_id, "): ", what));
    }
}

cni::CniError still_held_error(const StillHeld& held) {
    std::string message = "still held: ";
    for (const std::string& what : held) message += base::concat(&what == held.data() ? "" : "; ", what);
    return {cni::ErrorCode::still_held, message};
}

} // namespace rdmanet::attach
