// GC: what nobody will send a DEL for. The runtime's list says what is still wanted; Multus never sends one, so a
// person can start the same with `rdmanet gc`, and a range that runs out takes back what the dead hold.
#include "detach.hpp"
#include "recall.hpp"
#include "session.hpp"

#include "owners/attachment.hpp"
#include "owners/foreign_vf.hpp"
#include "owners/liveness.hpp"
#include "owners/mark.hpp"
#include "owners/stranded.hpp"
#include "owners/traces.hpp"
#include "steps/delegate.hpp"
#include "steps/rdma_names.hpp"

#include <rdmanet/attach/operations.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/cni/delegate.hpp>
#include <rdmanet/ipam/errors.hpp>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>

namespace rdmanet::attach {
namespace {

using base::concat;
using ipam::Liveness;
using state::AttachmentRecord;

/// The leases as they are; of a damaged store none, instead of repairing it. What it would be rebuilt from is among the
/// records anyway.
std::vector<ipam::Lease> look_at_leases(ipam::SqliteStore& leases, const Node& node, const base::Deadline& deadline) {
    try {
        return leases.list_all(deadline);
    } catch (const ipam::DamagedStore& damage) {
        node.log.error(concat(damage.what(), "; left as it is by a dry run, which goes by the journal alone"));
        return {};
    }
}

/// Under the attachment's lock: an ADD that is under way holds it, and has made a newer record if it comes first.
void collect(const AttachmentRecord& seen, const Caller& caller, const Node& node,
             const state::AttachmentStore& records, ipam::SqliteStore& leases, const base::Deadline& deadline,
             Collected& collected) {
    try {
        const base::FileLock lock = records.lock(seen.key, deadline);
        const auto outcome = records.load(seen.key);
        const auto* now = std::get_if<AttachmentRecord>(&outcome);
        if (now != nullptr && now->to_text() != seen.to_text()) return;
        AttachmentRecord left = seen;
        // Without its record somebody undid the steps meanwhile, and the device may be another pod's by now.
        if (std::holds_alternative<state::NoRecord>(outcome)) left.steps.clear();
        const StillHeld held = detach(left, caller, node, records, leases, deadline);
        if (held.empty()) collected.removed.push_back(describe(seen));
        for (const std::string& what : held) collected.failed.push_back(concat(describe(seen), ": ", what));
    } catch (const base::Error& error) {
        collected.failed.push_back(concat(describe(seen), ": ", error.what()));
    }
}

bool has_record(const state::AttachmentStore& records, const state::AttachmentKey& key) {
    return std::holds_alternative<AttachmentRecord>(records.load(key));
}

/// An IPoIB child that no record tells of any more. One that a record tells of went with it, or is still held.
void collect_returned(const MarkedChild& child, DryRun dry_run, const state::AttachmentStore& records,
                      const base::Deadline& deadline, Collected& collected) {
    const std::string what = concat(describe(child.record), ", given back to the host as \"", child.link.name, '"');
    try {
        if (has_record(records, child.record.key)) return;
        if (dry_run == DryRun::no) {
            const base::FileLock lock = records.lock(child.record.key, deadline);
            if (has_record(records, child.record.key)) return;
            kernel::Socket route = kernel::Socket::open(kernel::Protocol::route, deadline);
            kernel::remove_link(route, child.link.ifindex);
        }
        collected.removed.push_back(what);
    } catch (const base::Error& error) {
        collected.failed.push_back(concat(what, ": ", error.what()));
    }
}

enum class Fate : std::uint8_t {
    collect,
    keep,
    not_asked_about, // the runtime's list has it, or it is of another network
};
struct Decision {
    Fate fate = Fate::keep;
    ipam::Verdict pod;
};
using Decide = std::function<Decision(const Trace&)>;

Decision by_liveness(ipam::Verdict pod) {
    const Fate fate = pod == Liveness::dead ? Fate::collect : Fate::keep;
    return {.fate = fate, .pod = std::move(pod)};
}

struct Outcome {
    Collected collected;
    std::vector<state::Unreadable> kept; // records that can't be read, of attachments that aren't garbage
};

/// `lost_steps`: what goes for the steps of a record that can't be read.
Outcome collect_all(const Node& node, DryRun dry_run, const Decide& decide, const std::vector<state::Step>& lost_steps,
                    const base::Deadline& deadline, const Caller& caller = {}) {
    const state::AttachmentStore records(node.state_directory, state::Access::undo);
    ipam::SqliteStore leases = open_leases(node, records);
    const auto found =
        dry_run == DryRun::yes ? look_at_leases(leases, node, deadline) : list_leases(leases, node, deadline);
    Outcome outcome;
    for (Trace& trace : list_traces(records, found)) {
        Decision decision = decide(trace);
        if (decision.fate != Fate::collect) {
            if (trace.unreadable)
                outcome.kept.push_back(std::move(*trace.unreadable));
            else if (decision.fate == Fate::keep)
                outcome.collected.kept.push_back({.what = describe(trace.record),
                                                  .pod = std::move(decision.pod),
                                                  .removal_unfinished = trace.record.removal_unfinished});
            continue;
        }
        if (trace.unreadable) trace.record.steps = lost_steps;
        if (dry_run == DryRun::yes)
            outcome.collected.removed.push_back(describe(trace.record));
        else
            collect(trace.record, caller, node, records, leases, deadline, outcome.collected);
    }
    try {
        if (dry_run == DryRun::no) forget_void_recalls(node, records, deadline);
    } catch (const base::Error& error) {
        outcome.collected.failed.push_back(concat("recalls of ADDs: ", error.what()));
    }
    try {
        for (const MarkedChild& child : list_returned_children(node, deadline))
            if (decide({.record = child.record, .unreadable = {}}).fate == Fate::collect)
                collect_returned(child, dry_run, records, deadline, outcome.collected);
    } catch (const base::Error& error) {
        outcome.collected.failed.push_back(concat("IPoIB children on the host: ", error.what()));
    }
    return outcome;
}

/// What an unreadable record of the request's network would have named, as far as the configuration tells. The
/// interface isn't among it: in a pod that is gone it is gone as well, and another pod's is not to be guessed at.
std::vector<state::Step> steps_by_configuration(const cni::Request& request) {
    if (!request.conf.ipam_type || *request.conf.ipam_type == config::kPluginName) return {};
    return {delegate_step(request, *request.conf.ipam_type)};
}

/// For a person: nobody else looks at such a file until a DEL or GC comes.
std::string describe(const state::Unreadable& file) {
    if (!file.key)
        return concat(file.path, " can't be read (", file.reason,
                      "), and its name is not that of a record: remove it with `rdmanet gc --forget ", file.path, '`');
    return concat(
        file.path, " can't be read (", file.reason, "): DEL of ", *file.key,
        " removes it, and so does the runtime's GC of that network once the pod is gone. If neither will come, "
        "give back what another IPAM plugin holds for the container, then run `rdmanet gc --forget ",
        file.path, '`');
}

bool is_listed(const state::AttachmentKey& key, const std::vector<cni::ValidAttachment>& valid) {
    return std::any_of(valid.begin(), valid.end(), [&](const cni::ValidAttachment& attachment) {
        return attachment.container_id == key.container_id && attachment.ifname == key.ifname;
    });
}

/// What the runtime asks for: attachments of this network that it does not list, or of this network if it gives no
/// list. Its list alone proves nothing: runtimes forget pods, and call from places that can't see them. Only a record
/// that can't be read goes by the list, if no lease says which namespace to look for.
Decide unlisted(const cni::Request& request, PodProbe& pods) {
    return [&](const Trace& trace) -> Decision {
        const auto& valid = request.conf.valid_attachments;
        if (trace.record.key.network != request.conf.name) return {.fate = Fate::not_asked_about, .pod = {}};
        if (valid && is_listed(trace.record.key, *valid)) return {.fate = Fate::not_asked_about, .pod = {}};
        const bool tells_nothing = trace.unreadable && trace.record.boot_id.empty();
        if (valid && tells_nothing) return {.fate = Fate::collect, .pod = {}};
        return by_liveness(pods.probe(trace_of(trace.record)));
    };
}

void collect_for_runtime(const cni::Request& request, const Node& node, const base::Deadline& deadline) {
    PodProbe pods(node);
    const Collected collected = collect_all(node, DryRun::no, unlisted(request, pods), steps_by_configuration(request),
                                            deadline, caller_of(request))
                                    .collected;
    for (const std::string& what : collected.removed) node.log.info(concat("GC removed ", what));
    for (const Kept& kept : collected.kept)
        if (kept.pod == Liveness::unknown) node.log.warn(concat("GC kept ", kept.what, ", because ", kept.pod.reason));
    const state::AttachmentStore records(node.state_directory, state::Access::undo);
    settle_owed_names({.records = records, .boot_id = node.boot_id, .log = node.log});
    if (!collected.failed.empty()) throw still_held_error(collected.failed);
}

/// What could not be looked for is no failure of the collection.
template <class Describe>
void notice(std::string_view what, Collected& collected, const Node& node, const Describe& describe) try {
    for (std::string& text : describe()) collected.noticed.push_back(std::move(text));
} catch (const base::Error& error) {
    node.log.warn(concat(what, " were not looked for: ", error.what()));
}

} // namespace

void collect_garbage(const cni::Request& request, const Node& node) {
    const auto deadline = base::Deadline::in(kGcTimeout);
    std::string delegate_failure;
    if (request.conf.ipam_type && *request.conf.ipam_type != config::kPluginName) {
        try {
            cni::delegate_gc(cni::delegate_call(request, *request.conf.ipam_type), deadline);
        } catch (const base::Error& error) {
            delegate_failure = error.what(); // our own part is done all the same
        }
    }
    collect_for_runtime(request, node, deadline);
    if (!delegate_failure.empty()) throw cni::CniError(cni::ErrorCode::delegate, delegate_failure);
}

void ipam_only::collect_garbage(const cni::Request& request, const Node& node) {
    collect_for_runtime(request, node, base::Deadline::in(kGcTimeout));
}

Collected collect_dead(const Node& node, DryRun dry_run) {
    const auto deadline = base::Deadline::in(kGcTimeout);
    const state::AttachmentStore records(node.state_directory, state::Access::undo);
    PodProbe pods(node);
    Outcome outcome = collect_all(
        node, dry_run, [&](const Trace& trace) { return by_liveness(pods.probe(trace_of(trace.record))); }, {},
        deadline);
    for (const state::Unreadable& file : outcome.kept) outcome.collected.failed.push_back(describe(file));
    std::erase_if(outcome.collected.kept, [&](const Kept& kept) {
        const bool is_stuck = kept.removal_unfinished && !kept.pod.held_by.empty();
        if (is_stuck)
            outcome.collected.failed.push_back(concat(kept.what, ": its network namespace is ", kept.pod.held_by));
        return is_stuck;
    });
    const NameKeeper names{.records = records, .boot_id = node.boot_id, .log = node.log};
    if (dry_run == DryRun::no) settle_owed_names(names);
    notice("devices in namespaces that nobody can reach", outcome.collected, node,
           [&] { return describe_stranded_devices(deadline); });
    notice("VFs with settings and no pod", outcome.collected, node,
           [&] { return describe_foreign_vfs(records, deadline); });
    notice("RDMA devices without their names", outcome.collected, node, [&] { return describe_owed_names(names); });
    return outcome.collected;
}

} // namespace rdmanet::attach
