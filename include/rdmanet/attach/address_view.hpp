// The present state of attachments' addresses in the kernel, which `rdmanet state` shows beside the journal.
#pragma once

#include <rdmanet/base/ip_address.hpp>
#include <rdmanet/state/attachment_record.hpp>

#include <vector>

namespace rdmanet::attach {

/// For each record, in order: its IPv6 addresses that duplicate address detection found at another host. The pod
/// cannot use them, but their GIDs stay in the table. Empty if the pod cannot be entered. Changes nothing.
[[nodiscard]] std::vector<std::vector<base::IpPrefix>>
view_duplicates(const std::vector<state::AttachmentRecord>& records);

} // namespace rdmanet::attach
