#include "reclaim.hpp"

#include "lookup/call.hpp"
#include "owners/claims.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/cni/error.hpp>
#include <rdmanet/state/state_directory.hpp>

#include <chrono>
#include <string_view>
#include <variant>

namespace rdmanet::attach {

StillHeld undo_stale(const state::AttachmentKey& key, PodProbe& pods, const Call& call) {
    try {
        const base::FileLock lock = call.records.lock(key, call.deadline);
        const auto outcome = call.records.load(key);
        const auto* record = std::get_if<state::AttachmentRecord>(&outcome);
        if (record == nullptr || pods.probe(pod_of(*record)) != ipam::Liveness::dead) return {};
        return detach(*record, call.to_undo_another(call.deadline));
    } catch (const state::DirectoryError&) { // nothing is wrong with that attachment
        throw;
    } catch (const base::Error& error) {
        return {fmt::format("journal record: {}", error.what())};
    }
}

void reclaim_device(const std::string& device, const Call& call) {
    PodProbe pods(call.node);
    // Includes owners that seem to live: while their DEL runs, the namespace still exists. Their lock waits for that
    // DEL.
    for (const state::AttachmentRecord& owner : list_owners(device, call)) {
        const StillHeld held = undo_stale(owner.key, pods, call);
        if (!held.empty())
            throw cni::CniError(
                cni::ErrorCode::parent,
                fmt::format(
                    "device {} is not yet restored after a dead pod ({}): {}; correct that, then run `rdmanet gc`",
                    device, describe(owner), held.front()));
    }
}

void undo_reclaimed(const std::vector<ipam::OwnerKey>& keys, const Call& call) {
    constexpr std::chrono::seconds kTimeout{2}; // for all of them: the runtime is waiting for this ADD, which is done
    const Call undoing = call.to_undo_another(base::Deadline::in(kTimeout));
    PodProbe pods(call.node);
    for (const ipam::OwnerKey& key : keys) {
        if (undoing.deadline.passed()) return;
        const state::AttachmentKey dead{.network = key.network, .container_id = key.container_id, .ifname = key.ifname};
        const auto warn = [&](std::string_view what) {
            call.log.warn(fmt::format("the attachment of a dead pod (container {}) is not yet undone: {}",
                                      base::quoted(key.container_id), what));
        };
        try {
            for (const std::string& what : undo_stale(dead, pods, undoing)) warn(what);
        } catch (const state::DirectoryError& error) {
            warn(error.what());
        }
    }
}

} // namespace rdmanet::attach
