// The pods in the journal's records, as `rdmanet state` shows them.
#pragma once

#include <rdmanet/attach/node.hpp>
#include <rdmanet/base/ip_address.hpp>
#include <rdmanet/ipam/liveness.hpp>
#include <rdmanet/state/attachment_record.hpp>

#include <vector>

namespace rdmanet::attach {

/// For each record, in order. GC would remove the dead ones. Reads /proc at most twice. Changes nothing.
[[nodiscard]] std::vector<ipam::Verdict> view_pods(const std::vector<state::AttachmentRecord>& records,
                                                   const Node& node);

/// For each record, in order: its IPv6 addresses that duplicate address detection found at another host. The pod
/// cannot use them, but their GIDs stay in the table. Empty if the pod cannot be entered. Changes nothing.
[[nodiscard]] std::vector<std::vector<base::IpPrefix>>
view_duplicates(const std::vector<state::AttachmentRecord>& records);

} // namespace rdmanet::attach
