#include <rdmanet/attach/pod_view.hpp>

#include "owners/liveness.hpp"

namespace rdmanet::attach {

std::vector<ipam::Verdict> view_pods(const std::vector<state::AttachmentRecord>& records, const Node& node) {
    PodProbe pods(node);
    std::vector<ipam::Verdict> verdicts;
    verdicts.reserve(records.size());
    for (const state::AttachmentRecord& record : records) verdicts.push_back(pods.probe(pod_of(record)));
    return verdicts;
}

} // namespace rdmanet::attach
