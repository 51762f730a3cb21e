#include "siblings.hpp"

#include "liveness.hpp"

#include <rdmanet/base/text.hpp>
#include <rdmanet/cni/error.hpp>

namespace rdmanet::attach {
namespace {

using base::concat;
using base::quoted;

bool differs(const state::CreateLink& theirs, const state::CreateLink& ours) {
    const bool one_parent = theirs.parent_ifindex == ours.parent_ifindex && !theirs.parent_in_pod;
    return one_parent && (theirs.kind != ours.kind || theirs.mode != ours.mode);
}

} // namespace

std::optional<base::FileLock> agree_with_siblings(const state::CreateLink& ours, const Session& session,
                                                  const base::Deadline& deadline) {
    if (ours.kind != "ipvlan" || ours.parent_in_pod) return std::nullopt;
    base::FileLock lock = session.records.lock_parent(ours.parent_ifindex, ours.parent, deadline);
    Undertaker undertaker(session.node);
    for (const state::AttachmentRecord& record : session.records.list().records) {
        const state::CreateLink* theirs = record.created_link();
        if (theirs == nullptr || record.key == session.key || !differs(*theirs, ours)) continue;
        if (undertaker.probe(trace_of(record)) == ipam::Liveness::dead) continue;
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
