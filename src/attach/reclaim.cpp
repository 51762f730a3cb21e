#include "reclaim.hpp"

#include "owners/attachment.hpp"
#include "owners/claims.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/cni/error.hpp>
#include <rdmanet/state/state_directory.hpp>

#include <chrono>
#include <string_view>
#include <variant>

namespace rdmanet::attach {

StillHeld undo_stale(const state::AttachmentKey& key, PodProbe& pods, const Node& node,
                     const state::AttachmentStore& records, leases::Leases& leases, const base::Deadline& deadline) {
    try {
        const base::FileLock lock = records.lock(key, deadline);
        const auto outcome = records.load(key);
        const auto* record = std::get_if<state::AttachmentRecord>(&outcome);
        if (record == nullptr || pods.probe(pod_of(*record)) != ipam::Liveness::dead) return {};
        return detach(*record, {}, node, records, leases, deadline);
    } catch (const state::DirectoryError&) { // nothing is wrong with that attachment
        throw;
    } catch (const base::Error& error) {
        return {fmt::format("journal record: {}", error.what())};
    }
}

void reclaim_device(const std::string& device, Session& session, const base::Deadline& deadline) {
    PodProbe pods(session.node);
    // Includes owners that seem to live: while their DEL runs, the namespace still exists. Their lock waits for that
    // DEL.
    for (const state::AttachmentRecord& owner : list_owners(device, session)) {
        const StillHeld held = undo_stale(owner.key, pods, session.node, session.records, session.leases, deadline);
        if (!held.empty())
            throw cni::CniError(
                cni::ErrorCode::parent,
                fmt::format(
                    "device {} is not yet restored after a dead pod ({}): {}; correct that, then run `rdmanet gc`",
                    device, describe(owner), held.front()));
    }
}

void undo_reclaimed(const std::vector<ipam::OwnerKey>& keys, const Node& node, const state::AttachmentStore& records,
                    leases::Leases& leases) {
    constexpr std::chrono::seconds kTimeout{2}; // for all of them: the runtime is waiting for this ADD, which is done
    const auto deadline = base::Deadline::in(kTimeout);
    PodProbe pods(node);
    for (const ipam::OwnerKey& key : keys) {
        if (deadline.passed()) return;
        const state::AttachmentKey dead{.network = key.network, .container_id = key.container_id, .ifname = key.ifname};
        const auto warn = [&](std::string_view what) {
            node.log.warn(fmt::format("the attachment of a dead pod (container {}) is not yet undone: {}",
                                      base::quoted(key.container_id), what));
        };
        try {
            for (const std::string& what : undo_stale(dead, pods, node, records, leases, deadline)) warn(what);
        } catch (const state::DirectoryError& error) {
            warn(error.what());
        }
    }
}

} // namespace rdmanet::attach
