// GC: reclaims what belongs to dead pods, for which no DEL will come. A runtime sends GC with the list of what it
// still wants. Multus sends no GC, so a person or a timer runs `rdmanet gc`.
#include "detach.hpp"
#include "recall.hpp"
#include "result.hpp"

#include "owners/known_attachments.hpp"
#include "owners/liveness.hpp"
#include "owners/lost_devices.hpp"
#include "owners/mark.hpp"
#include "steps/delegate.hpp"
#include "steps/rdma_names.hpp"

#include <rdmanet/attach/operations.hpp>
#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/cni/delegate.hpp>
#include <rdmanet/ipam/errors.hpp>
#include <rdmanet/ipam/node_file.hpp>
#include <rdmanet/leases/leases.hpp>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>

namespace rdmanet::attach {
namespace {

using ipam::Liveness;
using state::AttachmentRecord;

/// The leases for a dry run. It does not repair a damaged store and returns none: the records have the same leases.
std::vector<ipam::Lease> list_leases_unrepaired(const Call& call) {
    try {
        return call.leases.look(call.deadline).all();
    } catch (const ipam::DamagedStore& damage) {
        call.log.error(fmt::format("{}; a dry run does not repair it, and uses only the journal", damage.what()));
        return {};
    }
}

enum class Action : std::uint8_t {
    collect,
    keep,
    ignore, // the runtime's list has it, or it belongs to another network
};
struct Decision {
    Action action = Action::keep;
    ipam::Verdict pod;
};
using Decide = std::function<Decision(const KnownAttachment&)>;

/// Undoes the attachment under its lock. If an ADD held the lock until now, the record is newer, and nothing is done.
/// A record that could be read only under the lock says more than the lease by which `decide` has judged it.
void collect(const KnownAttachment& attachment, const Decide& decide, const Call& call, Collected& collected) {
    const AttachmentRecord& seen = attachment.record;
    try {
        const base::FileLock lock = call.records.lock(seen.key, call.deadline);
        const auto outcome = call.records.load(seen.key);
        const auto* now = std::get_if<AttachmentRecord>(&outcome);
        const bool is_readable_now = now != nullptr && attachment.unreadable;
        if (is_readable_now && decide({.record = *now, .unreadable = {}}).action != Action::collect) return;
        AttachmentRecord left = is_readable_now ? *now : seen;
        if (now != nullptr && now->to_text() != left.to_text()) return;
        // If the record is gone, another process has undone the steps. The device may belong to another pod by now.
        if (std::holds_alternative<state::NoRecord>(outcome)) left.steps.clear();
        const StillHeld held = detach(left, call);
        if (left.lease_store) require_given_back(left.key, call);
        if (held.empty()) collected.removed.push_back(describe(seen));
        for (const std::string& what : held) collected.failed.push_back(fmt::format("{}: {}", describe(seen), what));
    } catch (const std::exception& error) {
        collected.failed.push_back(fmt::format("{}: {}", describe(seen), error.what()));
    }
}

bool has_record(const state::AttachmentStore& records, const state::AttachmentKey& key) {
    return std::holds_alternative<AttachmentRecord>(records.load(key));
}

/// Removes an IPoIB child that the kernel returned to the host. If it has a record, collect() has dealt with it.
void collect_returned(const MarkedChild& child, DryRun dry_run, const Call& call, Collected& collected) {
    const std::string what =
        fmt::format("{}, returned to the host as {}", describe(child.record), base::quoted(child.link.name));
    try {
        if (has_record(call.records, child.record.key)) return;
        if (dry_run == DryRun::no) {
            const base::FileLock lock = call.records.lock(child.record.key, call.deadline);
            if (has_record(call.records, child.record.key)) return;
            kernel::Socket route = kernel::Socket::open(kernel::Protocol::route, call.deadline);
            kernel::remove_link(route, child.link.ifindex);
        }
        collected.removed.push_back(what);
    } catch (const std::exception& error) {
        collected.failed.push_back(fmt::format("{}: {}", what, error.what()));
    }
}

Decision by_liveness(ipam::Verdict pod) {
    const Action action = pod == Liveness::dead ? Action::collect : Action::keep;
    return {.action = action, .pod = std::move(pod)};
}

void pay(const std::vector<AttachmentRecord>& owing, DryRun dry_run, const Call& call, Collected& collected) {
    if (dry_run == DryRun::yes) {
        for (const AttachmentRecord& record : owing)
            collected.removed.push_back(fmt::format("addresses of {} in the cluster", describe(record)));
        return;
    }
    for (std::string& what : pay_owed_addresses(owing, call, call.deadline, call.deadline))
        collected.failed.push_back(std::move(what));
}

struct Outcome {
    Collected collected;
    std::vector<state::Unreadable> kept; // unreadable records that stay, because no pod is proven dead
};

/// What a record that cannot be read would say, as far as the configuration tells.
struct Lost {
    std::vector<state::Step> steps{};
    std::optional<state::LeaseStore> lease_store{};
};

/// `network`: of a runtime's GC, which no server of another network may hold up; empty: all.
Outcome collect_all(const Call& call, DryRun dry_run, const Decide& decide, const Lost& lost,
                    const std::string& network = {}) {
    const auto found = dry_run == DryRun::yes ? list_leases_unrepaired(call) : call.leases.list(call.deadline);
    Outcome outcome;
    std::vector<AttachmentRecord> owing; // to the cluster: they pay, whatever their pods do
    for (KnownAttachment& attachment : list_known_attachments(call.records, found)) {
        if (attachment.record.owes_addresses() && (network.empty() || attachment.record.key.network == network))
            owing.push_back(attachment.record);
        if (is_only_owing(attachment.record)) continue;
        Decision decision = decide(attachment);
        if (decision.action != Action::collect) {
            if (attachment.unreadable)
                outcome.kept.push_back(std::move(*attachment.unreadable));
            else if (decision.action == Action::keep)
                outcome.collected.kept.push_back({.what = describe(attachment.record),
                                                  .pod = std::move(decision.pod),
                                                  .removal_unfinished = attachment.record.removal_unfinished});
            continue;
        }
        if (attachment.unreadable) {
            attachment.record.steps = lost.steps;
            attachment.record.lease_store = lost.lease_store;
        }
        if (dry_run == DryRun::yes)
            outcome.collected.removed.push_back(describe(attachment.record));
        else
            collect(attachment, decide, call, outcome.collected);
    }
    if (dry_run == DryRun::no && network.empty())
        for (std::string& what : call.leases.confirm_blocks(call.deadline))
            outcome.collected.failed.push_back(std::move(what));
    pay(owing, dry_run, call, outcome.collected);
    try {
        if (dry_run == DryRun::no) forget_void_recalls(call);
    } catch (const base::Error& error) {
        outcome.collected.failed.push_back(fmt::format("recalls of ADDs: {}", error.what()));
    }
    try {
        for (const MarkedChild& child : list_returned_children(call.node, call.deadline))
            if (decide({.record = child.record, .unreadable = {}}).action == Action::collect)
                collect_returned(child, dry_run, call, outcome.collected);
    } catch (const base::Error& error) {
        outcome.collected.failed.push_back(fmt::format("IPoIB children on the host: {}", error.what()));
    }
    return outcome;
}

/// Of an unreadable record of this network. It does not include the interface: it went with its pod, and another pod's
/// interface must not be guessed.
Lost lost_by_configuration(const Call& call) {
    const cni::Request& request = *call.request;
    if (!request.conf.ipam_type) return {};
    if (*request.conf.ipam_type == config::kPluginName) return {.lease_store = remembered_place_of(call)};
    return {.steps = {delegate_step(request, *request.conf.ipam_type)}};
}

/// Tells a person what to do with an unreadable record.
std::string describe(const state::Unreadable& file) {
    if (!file.key)
        return fmt::format(
            "{0} cannot be read ({1}), and its name is not that of a record: remove it with `rdmanet gc --forget {0}`",
            file.path, file.reason);
    return fmt::format(
        "{0} cannot be read ({1}). A DEL of {2} removes it, and so does the runtime's GC of that network once "
        "the pod is gone. If neither will come, run `rdmanet gc --forget {0}`. If the network has another IPAM plugin, "
        "first delete the container's lease by that plugin's own means",
        file.path, file.reason, *file.key);
}

bool is_listed(const state::AttachmentKey& key, const std::vector<cni::ValidAttachment>& valid) {
    return std::any_of(valid.begin(), valid.end(), [&](const cni::ValidAttachment& attachment) {
        return attachment.container_id == key.container_id && attachment.ifname == key.ifname;
    });
}

/// Decides for the runtime's GC: attachments of this network that are not in the runtime's list, or all of the
/// network if there is no list. Their pods must also be proven dead, because runtimes forget pods and call from
/// places that cannot see them. Only an unreadable record without leases, which names no namespace, is decided by the
/// list alone.
Decide by_list_and_liveness(const cni::Request& request, PodProbe& pods) {
    return [&](const KnownAttachment& attachment) -> Decision {
        const auto& valid = request.conf.valid_attachments;
        if (attachment.record.key.network != request.conf.name) return {.action = Action::ignore, .pod = {}};
        if (valid && is_listed(attachment.record.key, *valid)) return {.action = Action::ignore, .pod = {}};
        const bool tells_nothing = attachment.unreadable && attachment.record.boot_id.empty();
        if (valid && tells_nothing) return {.action = Action::collect, .pod = {}};
        return by_liveness(pods.probe(pod_of(attachment.record)));
    };
}

/// Of the network's store. A server that does not answer gets its addresses back later.
void give_back_earlier_boot(const state::LeaseStore& where, const Call& call) try {
    call.leases.give_back_earlier_pools(where);
} catch (const base::Error& error) {
    call.log.warn(error.what());
}

void collect_for_runtime(const Call& call) {
    PodProbe pods(call.node);
    const cni::Request& request = *call.request;
    const Lost lost = lost_by_configuration(call);
    if (lost.lease_store) call.leases.also_use(lost.lease_store->kubeconfig);
    const Collected collected =
        collect_all(call, DryRun::no, by_list_and_liveness(request, pods), lost, request.conf.name).collected;
    for (const std::string& what : collected.removed) call.log.info(fmt::format("GC removed {}", what));
    for (const Kept& kept : collected.kept)
        if (kept.pod == Liveness::unknown)
            call.log.warn(fmt::format("GC kept {}, because {}", kept.what, kept.pod.reason));
    if (lost.lease_store) give_back_earlier_boot(*lost.lease_store, call);
    restore_waiting_names(call);
    if (!collected.failed.empty())
        throw still_held_error(collected.failed, "Correct that, then run `rdmanet gc` on the node");
}

/// A search that fails is only a warning.
template <class Describe>
void notice(std::string_view what, Collected& collected, const Call& call, const Describe& describe) try {
    for (std::string& text : describe()) collected.noticed.push_back(std::move(text));
} catch (const base::Error& error) {
    call.log.warn(fmt::format("cannot look for {}: {}", what, error.what()));
}

/// ADDs give back what the store that they use had before: a range may have moved to another one, or have no pod now.
void give_back_earlier_boot(const ipam::NodeFile& file, Outcome& outcome, const Call& call) {
    notice("blocks of addresses of an earlier boot", outcome.collected, call, [&] {
        call.leases.give_back_earlier_blocks(file.kubeconfig, file.node_name, call.deadline);
        return std::vector<std::string>();
    });
    notice("addresses in pools of an earlier boot", outcome.collected, call, [&] {
        call.leases.give_back_earlier_pools(file.kubeconfig, file.node_name);
        return std::vector<std::string>();
    });
}

/// A node's file that is wrong says nothing.
ipam::NodeFile cluster_of_node(const Call& call) try {
    ipam::NodeFile file = ipam::read_node_file();
    call.leases.also_use(file.kubeconfig);
    return file;
} catch (const base::Error& error) {
    call.log.warn(error.what());
    return {};
}

} // namespace

void collect_garbage(const cni::Request& request, const Node& node) {
    const Call call(node, base::Deadline::in(kGcTimeout), request, state::Access::undo);
    std::string delegate_failure;
    if (request.conf.ipam_type && *request.conf.ipam_type != config::kPluginName) {
        try {
            cni::delegate_gc(cni::delegate_call(request, *request.conf.ipam_type), call.deadline);
        } catch (const base::Error& error) {
            delegate_failure = error.what(); // our own GC still runs
        }
    }
    collect_for_runtime(call.to_undo(call.deadline));
    if (!delegate_failure.empty()) throw cni::CniError(cni::ErrorCode::delegate, delegate_failure);
}

void ipam_only::collect_garbage(const cni::Request& request, const Node& node) {
    collect_for_runtime(Call(node, base::Deadline::in(kGcTimeout), request, state::Access::undo));
}

Collected collect_dead(const Node& node, DryRun dry_run) {
    const Call call(node, base::Deadline::in(kGcTimeout), state::Access::undo);
    PodProbe pods(node);
    const ipam::NodeFile file = cluster_of_node(call);
    Outcome outcome = collect_all(
        call, dry_run,
        [&](const KnownAttachment& attachment) { return by_liveness(pods.probe(pod_of(attachment.record))); }, {});
    for (const state::Unreadable& one : outcome.kept) outcome.collected.failed.push_back(describe(one));
    if (dry_run == DryRun::no && !file.kubeconfig.empty()) give_back_earlier_boot(file, outcome, call);
    std::erase_if(outcome.collected.kept, [&](const Kept& kept) {
        const bool is_stuck = kept.removal_unfinished && !kept.pod.held_by.empty();
        if (is_stuck)
            outcome.collected.failed.push_back(
                fmt::format("{}: its network namespace is {}", kept.what, kept.pod.held_by));
        return is_stuck;
    });
    if (dry_run == DryRun::no) restore_waiting_names(call);
    notice("devices in unreachable network namespaces", outcome.collected, call,
           [&] { return describe_unreachable_devices(call.deadline); });
    notice("VFs with settings and no pod", outcome.collected, call,
           [&] { return describe_orphan_vfs(call.records, call.deadline); });
    notice("RDMA devices without their names", outcome.collected, call, [&] { return describe_waiting_names(call); });
    return outcome.collected;
}

} // namespace rdmanet::attach
