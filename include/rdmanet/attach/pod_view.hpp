// Whether the pods that the journal knows still live: for people, beside what it says.
#pragma once

#include <rdmanet/attach/node.hpp>
#include <rdmanet/ipam/liveness.hpp>
#include <rdmanet/state/attachment_record.hpp>

#include <vector>

namespace rdmanet::attach {

/// For each record, in their order. Dead is what GC would remove. Reads /proc at most twice; changes nothing.
[[nodiscard]] std::vector<ipam::Verdict> view_pods(const std::vector<state::AttachmentRecord>& records,
                                                   const Node& node);

} // namespace rdmanet::attach
