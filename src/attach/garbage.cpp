// GC: what nobody will send a DEL for. The runtime's list says what is still wanted; Multus never sends one, so a person
// can start the same with `rdmanet gc`, and a range that runs out takes back what the dead hold.
#include "detach.hpp"
#include "liveness.hpp"
#include "session.hpp"

#include <rdmanet/attach/operations.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/cni/delegate.hpp>
#include <rdmanet/ipam/errors.hpp>

#include <algorithm>
#include <functional>
#include <map>

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

/// Every attachment that left a trace: records, and leases whose record was never written or was lost.
std::vector<AttachmentRecord> list_traces(const Node& node, DryRun dry_run, const state::AttachmentStore& records,
                                          ipam::SqliteStore& leases, const base::Deadline& deadline) {
    std::map<state::AttachmentKey, AttachmentRecord> traces;
    for (AttachmentRecord& record : records.list().records) traces.emplace(record.key, std::move(record));
    for (const ipam::Lease& lease :
         dry_run == DryRun::yes ? look_at_leases(leases, node, deadline) : list_leases(leases, node, deadline)) {
        AttachmentRecord bare;
        const ipam::Owner& owner = lease.owner;
        bare.key = {.network = owner.key.network, .container_id = owner.key.container_id, .ifname = owner.key.ifname};
        bare.boot_id = owner.boot_id;
        bare.pid_namespace_inode = owner.pid_namespace_inode;
        bare.netns = {.path = owner.netns_path, .inode = owner.netns_inode, .cookie = owner.netns_cookie};
        bare.pod = {.pod_namespace = owner.pod_namespace, .name = owner.pod_name, .uid = owner.pod_uid};
        bare.ips.push_back(lease.address.to_string());
        traces.emplace(bare.key, std::move(bare));
    }
    std::vector<AttachmentRecord> list;
    list.reserve(traces.size());
    for (auto& [key, record] : traces) list.push_back(std::move(record));
    return list;
}

std::string describe(const AttachmentRecord& record) {
    std::string text = concat(record.key);
    if (!record.pod.name.empty()) text += concat(", pod \"", record.pod.pod_namespace, '/', record.pod.name, '"');
    for (const std::string& ip : record.ips) text += concat(", ", ip);
    return text;
}

/// Under the attachment's lock: an ADD that is under way holds it, and has made a newer record if it comes first.
void collect(const AttachmentRecord& seen, const Node& node, const state::AttachmentStore& records,
             ipam::SqliteStore& leases, const base::Deadline& deadline, Collected& collected) {
    try {
        const base::FileLock lock = records.lock(seen.key, deadline);
        const auto outcome = records.load(seen.key);
        const auto* now = std::get_if<AttachmentRecord>(&outcome);
        if (now != nullptr && now->to_text() != seen.to_text()) return;
        const StillHeld held = detach(seen, "", node, records, leases, deadline);
        if (held.empty()) collected.removed.push_back(describe(seen));
        for (const std::string& what : held) collected.failed.push_back(concat(describe(seen), ": ", what));
    } catch (const base::Error& error) {
        collected.failed.push_back(concat(describe(seen), ": ", error.what()));
    }
}

using IsGarbage = std::function<bool(const AttachmentRecord&)>;

Collected collect_all(const Node& node, DryRun dry_run, const IsGarbage& is_garbage, const base::Deadline& deadline) {
    const state::AttachmentStore records(node.state_directory);
    ipam::SqliteStore leases = open_leases(node, records);
    Collected collected;
    for (const AttachmentRecord& trace : list_traces(node, dry_run, records, leases, deadline)) {
        if (!is_garbage(trace)) continue;
        if (dry_run == DryRun::yes)
            collected.removed.push_back(describe(trace));
        else
            collect(trace, node, records, leases, deadline, collected);
    }
    return collected;
}

/// What the runtime asks for: of this network, not listed, and not alive. Without a list only what is provably dead.
IsGarbage unlisted(const cni::Request& request, Undertaker& undertaker) {
    return [&](const AttachmentRecord& record) {
        if (record.key.network != request.conf.name) return false;
        const Liveness liveness = undertaker.probe(trace_of(record));
        const auto& valid = request.conf.valid_attachments;
        if (!valid) return liveness == Liveness::dead;
        const bool listed = std::any_of(valid->begin(), valid->end(), [&](const cni::ValidAttachment& attachment) {
            return attachment.container_id == record.key.container_id && attachment.ifname == record.key.ifname;
        });
        return !listed && liveness != Liveness::alive;
    };
}

void collect_for_runtime(const cni::Request& request, const Node& node, const base::Deadline& deadline) {
    Undertaker undertaker(node);
    const Collected collected = collect_all(node, DryRun::no, unlisted(request, undertaker), deadline);
    for (const std::string& what : collected.removed) node.log.info(concat("GC removed ", what));
    if (!collected.failed.empty()) throw still_held_error(collected.failed);
}

} // namespace

void collect_garbage(const cni::Request& request, const Node& node) {
    const auto deadline = base::Deadline::in(kGcTimeout);
    std::string delegate_failure;
    if (request.conf.ipam_type && *request.conf.ipam_type != kPluginName) {
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
    Undertaker undertaker(node);
    return collect_all(
        node, dry_run,
        [&](const AttachmentRecord& record) { return undertaker.probe(trace_of(record)) == Liveness::dead; },
        base::Deadline::in(kGcTimeout));
}

} // namespace rdmanet::attach
