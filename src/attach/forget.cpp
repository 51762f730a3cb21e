#include "detach.hpp"
#include "leases.hpp"

#include "owners/attachment.hpp"
#include "owners/liveness.hpp"
#include "owners/traces.hpp"
#include "steps/registry.hpp"

#include <rdmanet/attach/forget.hpp>
#include <rdmanet/base/file.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/json/writer.hpp>

#include <algorithm>
#include <utility>

namespace rdmanet::attach {
namespace {

using base::concat;
using base::quoted;
using state::AttachmentRecord;

std::string last_part(const std::string& path) {
    return path.substr(path.rfind('/') + 1);
}

std::string file_of(const Trace& trace) {
    return trace.unreadable ? last_part(trace.unreadable->path) : trace.record.key.file_name();
}

bool is_meant(const Trace& trace, const ForgetTarget& target) {
    if (!target.file.empty()) return file_of(trace) == last_part(target.file);
    return trace.record.key.container_id == target.container_id && trace.record.key.ifname == target.ifname;
}

std::string to_text(const ForgetTarget& target) {
    if (!target.file.empty()) return concat("a file ", quoted(last_part(target.file)));
    return concat("container ", quoted(target.container_id), ", interface ", quoted(target.ifname));
}

Trace find_meant(const ForgetTarget& target, const state::AttachmentStore& records,
                 const std::vector<ipam::Lease>& leases) {
    std::vector<Trace> traces = list_traces(records, leases);
    std::erase_if(traces, [&](const Trace& trace) { return !is_meant(trace, target); });
    if (traces.empty())
        throw base::Error(concat("nothing is recorded of ", to_text(target), ": `rdmanet state` lists what is",
                                 target.file.empty() ? "" : "; to name an attachment, give CONTAINER and INTERFACE"));
    if (traces.size() == 1) return std::move(traces.front());
    std::string files;
    for (const Trace& trace : traces) files += concat(files.empty() ? "" : ", ", file_of(trace));
    throw base::Error(concat(to_text(target), " has ", traces.size(), " records: name one of ", files));
}

/// Otherwise the trace is put together from leases, or from what can't be read.
bool has_record(const Trace& trace) {
    return !trace.unreadable && !trace.record.attach.empty();
}

/// What another process has changed since is not what the person was told of. A record that DEL has removed must not be
/// undone once more: its device may be another pod's by now.
void require_unchanged(const Trace& trace, const state::AttachmentStore& records) {
    const auto outcome = records.load(trace.record.key);
    const auto* now = std::get_if<AttachmentRecord>(&outcome);
    if (now == nullptr && has_record(trace))
        throw base::Error(concat(describe(trace.record), " has been removed meanwhile: nothing is left to forget"));
    if (now != nullptr && (!has_record(trace) || now->to_text() != trace.record.to_text()))
        throw base::Error(concat(describe(trace.record), " has changed meanwhile: look again with `rdmanet state`"));
}

[[noreturn]] void refuse_living(const AttachmentRecord& record, const ipam::Verdict& pod) {
    if (!pod.held_by.empty())
        throw base::Error(concat(describe(record), ": the pod's network namespace still exists, ", pod.held_by));
    const std::string& path = record.netns.path;
    throw base::Error(concat(describe(record), ": the pod's network namespace still exists",
                             path.empty() ? "" : concat(" (", path, ')'),
                             ": delete the pod, and its DEL gives everything back; if no pod has that namespace any "
                             "more, remove the namespace and run `rdmanet gc`"));
}

std::string to_text(const state::Step& step) {
    json::Writer writer;
    state::write_step(writer, step);
    return concat(describe(step), ", recorded as ", writer.to_text());
}

/// The attachment's, unless another record of it keeps them.
std::vector<ipam::Lease> leases_of(const AttachmentRecord& record, const state::AttachmentStore& records,
                                   std::vector<ipam::Lease> leases) {
    if (!record.key.has_leases() || has_leases_beside(record.key, records)) return {};
    std::erase_if(leases, [&](const ipam::Lease& lease) { return lease.owner.key != owner_key(record.key); });
    return leases;
}

Forgotten look_at(const Trace& trace, const ipam::Verdict& pod, const std::vector<ipam::Lease>& leases) {
    Forgotten forgotten{.what = trace.record.key.container_id.empty() ? file_of(trace) : describe(trace.record),
                        .reason = pod.reason};
    if (trace.unreadable)
        forgotten.not_undone.push_back(
            concat("what ", trace.unreadable->path, " said, which can't be read: ", trace.unreadable->reason));
    for (auto step = trace.record.steps.rbegin(); step != trace.record.steps.rend(); ++step)
        forgotten.not_undone.push_back(to_text(*step));
    for (const ipam::Lease& lease : leases) forgotten.released.push_back(lease.address.to_string());
    if (has_record(trace)) forgotten.record = trace.record.to_text();
    return forgotten;
}

/// Undoes what can be. What is left is in the record.
void detach_first(Trace& trace, const Node& node, const state::AttachmentStore& records, ipam::SqliteStore& leases,
                  const base::Deadline& deadline) {
    for (const std::string& held : detach(trace.record, {}, node, records, leases, deadline))
        node.log.warn(concat("still held: ", held));
    auto left = records.load(trace.record.key);
    if (auto* record = std::get_if<AttachmentRecord>(&left))
        trace.record = std::move(*record);
    else
        trace.record.steps.clear();
}

void drop(const Trace& trace, const state::AttachmentStore& records) {
    if (trace.record.key.container_id.empty())
        base::remove_file_durably(trace.unreadable->path); // no record has such a name
    else
        records.remove(trace.record.key);
}

} // namespace

void forget(const ForgetTarget& target, const Node& node, DryRun dry_run,
            const std::function<void(const Forgotten&)>& say) {
    const auto deadline = base::Deadline::in(kGcTimeout);
    const state::AttachmentStore records(node.state_directory, state::Access::undo);
    ipam::SqliteStore leases = open_leases(node, records);
    // A dry run repairs no damaged store.
    const auto all_leases = dry_run == DryRun::yes ? leases.list_all(deadline) : list_leases(leases, node, deadline);
    Trace trace = find_meant(target, records, all_leases);
    base::FileLock lock;
    if (dry_run == DryRun::no) lock = records.lock(trace.record.key, deadline);
    require_unchanged(trace, records);
    const ipam::Verdict pod = PodProbe(node).probe(trace_of(trace.record));
    if (pod == ipam::Liveness::alive) refuse_living(trace.record, pod);
    const auto own_leases = leases_of(trace.record, records, all_leases);
    if (pod == ipam::Liveness::dead && !trace.unreadable && dry_run == DryRun::no)
        detach_first(trace, node, records, leases, deadline);
    say(look_at(trace, pod, own_leases));
    if (dry_run == DryRun::yes) return;
    if (!own_leases.empty()) release_leases(leases, trace.record.key, node, deadline);
    drop(trace, records);
}

} // namespace rdmanet::attach
