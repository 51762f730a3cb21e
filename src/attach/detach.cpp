#include "detach.hpp"

#include "leases.hpp"
#include "steps.hpp"

#include <rdmanet/base/text.hpp>

namespace rdmanet::attach {
namespace {

/// Runs `act`; a failure becomes a sentence instead of ending the rest.
template <class Act>
void attempt(StillHeld& held, std::string_view what, Act&& act) {
    try {
        act();
    } catch (const base::Error& error) {
        held.push_back(base::concat(what, ": ", error.what()));
    }
}

} // namespace

StillHeld detach(const state::AttachmentRecord& record, const std::string& netns_path, const Node& node,
                 const state::AttachmentStore& records, ipam::SqliteStore& leases, const base::Deadline& deadline) {
    StillHeld held;
    const RevertContext context{
        .record = record, .netns_path = netns_path, .records = records, .log = node.log, .deadline = deadline};
    for (auto step = record.steps.rbegin(); step != record.steps.rend(); ++step)
        attempt(held, describe(*step), [&] { revert(*step, context); });
    if (record.key.role.empty())
        attempt(held, "addresses", [&] { release_leases(leases, record.key, node, deadline); });
    if (held.empty()) attempt(held, "journal record", [&] { records.remove(record.key); });
    return held;
}

void undo_failed_add(const state::AttachmentRecord& record, const std::string& netns_path, const Node& node,
                     const state::AttachmentStore& records, ipam::SqliteStore& leases) {
    for (const std::string& what : detach(record, netns_path, node, records, leases, base::Deadline::in(kUndoTimeout)))
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
        held = detach(*record, "", node, records, leases, deadline);
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
