#include "siblings.hpp"

#include "liveness.hpp"

#include <rdmanet/base/text.hpp>
#include <rdmanet/cni/error.hpp>
#include <rdmanet/state/topic.hpp>

#include <vector>

namespace rdmanet::attach {
namespace {

using base::concat;
using base::quoted;

} // namespace

std::optional<base::FileLock> agree_with_siblings(const state::CreateLink& ours, const Attachment& attachment,
                                                  const base::Deadline& deadline) {
    if (ours.kind != "ipvlan" || ours.parent_in_pod) return std::nullopt;
    base::FileLock lock = attachment.records.lock_parent(ours.parent_ifindex, ours.parent, deadline);
    PodProbe pods(attachment.node);
    const std::vector<state::AttachmentRecord> different = attachment.records.list_about(
        state::parent_topic(ours.parent_ifindex), state::child_topic(ours.parent_ifindex, ours.kind, ours.mode));
    for (const state::AttachmentRecord& record : different) {
        const state::CreateLink* theirs = record.created_link();
        if (theirs == nullptr || record.key == attachment.key) continue;
        if (pods.probe(pod_of(record)) == ipam::Liveness::dead) continue;
        throw cni::CniError(
            cni::ErrorCode::parent,
            concat("parent ", quoted(ours.parent), " has a child that is ", theirs->mode, " (", record.key,
                   "), this network wants ", ours.mode,
                   ": all ipvlan children of a parent share one mode and flag, and none can be beside macvlan; use the "
                   "same for this network, or another parent"));
    }
    return lock;
}

} // namespace rdmanet::attach
