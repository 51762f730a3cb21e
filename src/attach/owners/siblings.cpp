#include "siblings.hpp"

#include "liveness.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/cni/error.hpp>
#include <rdmanet/state/topic.hpp>

#include <vector>

namespace rdmanet::attach {
namespace {

using base::quoted;

} // namespace

bool must_agree_with_siblings(std::string_view kind, bool parent_in_pod) {
    return kind == "ipvlan" && !parent_in_pod;
}

void require_like_siblings(const state::Child& ours, const Call& call) {
    if (!must_agree_with_siblings(ours.kind, ours.parent_in_pod)) return;
    PodProbe pods(call.node);
    const std::vector<state::AttachmentRecord> different = call.records.list_about(
        state::parent_topic(ours.parent_ifindex), state::child_topic(ours.parent_ifindex, ours.kind, ours.mode));
    for (const state::AttachmentRecord& record : different) {
        const state::Child* theirs = record.child();
        if (theirs == nullptr || record.key == call.key) continue;
        if (pods.probe(pod_of(record)) == ipam::Liveness::dead) continue;
        throw cni::CniError(cni::ErrorCode::parent,
                            fmt::format("parent {} has a child that is {} ({}), but this network asks for {}: set {}, "
                                        "or use another parent (all "
                                        "its children must be macvlan, or all ipvlan with one mode and flag)",
                                        quoted(ours.parent), theirs->mode, record.key, ours.mode,
                                        theirs->kind == ours.kind
                                            ? "the same \"mode\" and \"flag\""
                                            : fmt::format("\"attach\": {}", quoted(theirs->kind))));
    }
}

} // namespace rdmanet::attach
