#include "detach.hpp"

#include "lookup/call.hpp"
#include "owners/known_attachments.hpp"
#include "owners/liveness.hpp"
#include "steps/registry.hpp"

#include <rdmanet/attach/forget.hpp>
#include <rdmanet/base/file.hpp>
#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/leases/leases.hpp>

#include <algorithm>
#include <utility>

namespace rdmanet::attach {
namespace {

using base::quoted;
using state::AttachmentRecord;

std::string last_part(const std::string& path) {
    return path.substr(path.rfind('/') + 1);
}

std::string file_of(const KnownAttachment& attachment) {
    return attachment.unreadable ? last_part(attachment.unreadable->path) : attachment.record.key.file_name();
}

bool matches(const KnownAttachment& attachment, const ForgetTarget& target) {
    if (!target.file.empty()) return file_of(attachment) == last_part(target.file);
    return attachment.record.key.container_id == target.container_id && attachment.record.key.ifname == target.ifname;
}

std::string to_text(const ForgetTarget& target) {
    if (!target.file.empty()) return fmt::format("file {}", quoted(last_part(target.file)));
    return fmt::format("container {}, interface {}", quoted(target.container_id), quoted(target.ifname));
}

KnownAttachment find_target(const ForgetTarget& target, const state::AttachmentStore& records,
                            const std::vector<ipam::Lease>& leases) {
    std::vector<KnownAttachment> known = list_known_attachments(records, leases);
    std::erase_if(known, [&](const KnownAttachment& attachment) { return !matches(attachment, target); });
    if (known.empty())
        throw base::Error(
            target.file.empty()
                ? fmt::format("no record and no lease belongs to {}: name an attachment that `rdmanet state` lists",
                              to_text(target))
                : fmt::format("the journal has no {}: name a file that `rdmanet state` lists, or an attachment by "
                              "CONTAINER and "
                              "INTERFACE",
                              to_text(target)));
    if (known.size() == 1) return std::move(known.front());
    throw base::Error(fmt::format("{} has {} records: name one of these files: {}", to_text(target), known.size(),
                                  base::join(known, ", ", file_of)));
}

/// False if only leases or an unreadable file say that the attachment exists. A record that a DEL without a record has
/// written says nothing but in which store addresses may be leased.
bool has_record(const KnownAttachment& attachment) {
    return !attachment.unreadable && (!attachment.record.attach.empty() || attachment.record.lease_store);
}

/// Throws if the record changed before we had its lock. The person must see what is really given up. A record that
/// DEL has removed must not be undone again: its device may belong to another pod by now.
void require_unchanged(const KnownAttachment& attachment, const state::AttachmentStore& records) {
    const auto outcome = records.load(attachment.record.key);
    const auto* now = std::get_if<AttachmentRecord>(&outcome);
    if (now == nullptr && has_record(attachment))
        throw base::Error(
            fmt::format("{} has just been removed: nothing is left to forget", describe(attachment.record)));
    if (now != nullptr && (!has_record(attachment) || now->to_text() != attachment.record.to_text()))
        throw base::Error(
            fmt::format("{} has just changed: look at it again with `rdmanet state`", describe(attachment.record)));
}

[[noreturn]] void refuse_living(const AttachmentRecord& record, const ipam::Verdict& pod) {
    if (!pod.held_by.empty())
        throw base::Error(
            fmt::format("{}: the pod's network namespace still exists, {}", describe(record), pod.held_by));
    throw base::Error(
        fmt::format("{}: the pod's network namespace {} still exists: delete the pod, and its DEL returns "
                    "everything; if no pod has that namespace any more, remove it and run `rdmanet gc`",
                    describe(record), record.netns.path));
}

/// The attachment's leases. None if its record in another role has them.
std::vector<ipam::Lease> leases_of(const AttachmentRecord& record, const state::AttachmentStore& records,
                                   std::vector<ipam::Lease> leases) {
    if (!record.key.has_leases() || leases::has_leases_in_other_role(record.key, records)) return {};
    std::erase_if(leases, [&](const ipam::Lease& lease) { return lease.owner.key != leases::owner_key(record.key); });
    return leases;
}

Forgotten describe_forgotten(const KnownAttachment& attachment, const ipam::Verdict& pod,
                             const std::vector<ipam::Lease>& leases, DryRun dry_run, const base::Deadline& deadline) {
    Forgotten forgotten{.what = attachment.record.key.container_id.empty() ? file_of(attachment)
                                                                           : describe(attachment.record),
                        .reason = pod.reason};
    if (attachment.unreadable)
        forgotten.not_undone.push_back(fmt::format("the contents of {}, which cannot be read: {}",
                                                   attachment.unreadable->path, attachment.unreadable->reason));
    const bool will_be_undone = dry_run == DryRun::yes && pod == ipam::Liveness::dead;
    for (auto step = attachment.record.steps.rbegin(); step != attachment.record.steps.rend(); ++step)
        forgotten.not_undone.push_back(will_be_undone ? describe(*step) : describe_unreverted(*step, deadline));
    for (const ipam::Lease& lease : leases) forgotten.released.push_back(lease.address.to_string());
    if (has_record(attachment)) forgotten.record = attachment.record.to_text();
    return forgotten;
}

/// Undoes everything that can be undone. Afterwards, `attachment` holds only what is left.
void detach_first(KnownAttachment& attachment, const Call& call) {
    for (const std::string& held : detach(attachment.record, call.to_undo(call.deadline)))
        call.log.warn(fmt::format("still held: {}", held));
    auto left = call.records.load(attachment.record.key);
    if (auto* record = std::get_if<AttachmentRecord>(&left))
        attachment.record = std::move(*record);
    else
        attachment.record.steps.clear();
}

void drop(const KnownAttachment& attachment, const state::AttachmentStore& records) {
    if (attachment.record.key.container_id.empty())
        base::remove_file_durably(attachment.unreadable->path); // its name is not that of a record
    else
        records.remove(attachment.record.key);
}

/// Leases in a store of the cluster. A record in another role that has leases keeps all of them.
struct SharedAddresses {
    std::optional<state::LeaseStore> store{};
    std::vector<std::string> addresses{}; // as far as the record knows them
};

SharedAddresses shared_addresses_of(const KnownAttachment& attachment, const state::AttachmentStore& records) {
    const AttachmentRecord& record = attachment.record;
    if (!record.lease_store || !has_record(attachment) || leases::has_leases_in_other_role(record.key, records))
        return {};
    SharedAddresses shared{.store = record.lease_store};
    for (const state::RecordedLease& lease : record.leases) shared.addresses.push_back(lease.address);
    return shared;
}

/// A person drops the record also where the cluster's store can't be asked any more.
void release_in_cluster(const SharedAddresses& shared, const state::AttachmentKey& key, const Call& call,
                        Forgotten& forgotten) try {
    if (!shared.store) return;
    call.leases.release_in_cluster(key, *shared.store, call.deadline);
    forgotten.released.insert(forgotten.released.end(), shared.addresses.begin(), shared.addresses.end());
} catch (const base::Error& error) {
    forgotten.not_undone.push_back(fmt::format(
        "{} of container {} in the cluster, where nothing remembers them: remove them there; {}",
        shared.addresses.empty() ? "addresses" : base::join(shared.addresses), key.container_id, error.what()));
}

} // namespace

void forget(const ForgetTarget& target, const Node& node, DryRun dry_run,
            const std::function<void(const Forgotten&)>& say) {
    const Call call(node, base::Deadline::in(kGcTimeout), state::Access::undo);
    const state::AttachmentStore& records = call.records;
    // A dry run does not repair a damaged store.
    const auto all_leases =
        dry_run == DryRun::yes ? call.leases.look(call.deadline).all() : call.leases.list(call.deadline);
    KnownAttachment attachment = find_target(target, records, all_leases);
    base::FileLock lock;
    if (dry_run == DryRun::no) lock = records.lock(attachment.record.key, call.deadline);
    require_unchanged(attachment, records);
    const ipam::Verdict pod = PodProbe(node).probe(pod_of(attachment.record));
    if (pod == ipam::Liveness::alive) refuse_living(attachment.record, pod);
    const auto own_leases = leases_of(attachment.record, records, all_leases);
    const SharedAddresses shared = shared_addresses_of(attachment, records);
    if (pod == ipam::Liveness::dead && !attachment.unreadable && dry_run == DryRun::no) detach_first(attachment, call);
    Forgotten forgotten = describe_forgotten(attachment, pod, own_leases, dry_run, call.deadline);
    if (dry_run == DryRun::no)
        release_in_cluster(shared, attachment.record.key, call, forgotten);
    else
        forgotten.released.insert(forgotten.released.end(), shared.addresses.begin(), shared.addresses.end());
    say(forgotten);
    if (dry_run == DryRun::yes) return;
    if (!own_leases.empty()) call.leases.release_on_node(attachment.record.key, call.deadline);
    drop(attachment, records);
}

} // namespace rdmanet::attach
