// Whether the pods in the journal's records still live, which `rdmanet state` shows.
#pragma once

#include <rdmanet/attach/node.hpp>
#include <rdmanet/ipam/liveness.hpp>
#include <rdmanet/state/attachment_record.hpp>

#include <vector>

namespace rdmanet::attach {

/// For each record, in order. GC would remove the dead ones. Reads /proc at most twice. Changes nothing.
[[nodiscard]] std::vector<ipam::Verdict> view_pods(const std::vector<state::AttachmentRecord>& records,
                                                   const Node& node);

} // namespace rdmanet::attach
