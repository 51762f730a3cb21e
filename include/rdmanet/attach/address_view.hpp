// What the kernel shows at present of the addresses that attachments have: for people, beside what the journal says.
#pragma once

#include <rdmanet/base/ip_address.hpp>
#include <rdmanet/state/attachment_record.hpp>

#include <vector>

namespace rdmanet::attach {

/// For each record, in their order, those of its IPv6 addresses that duplicate address detection has found at another
/// host. The pod can't use them, but their GIDs stay in the table. Empty where the pod can't be looked at. Changes
/// nothing.
[[nodiscard]] std::vector<std::vector<base::IpPrefix>>
view_duplicates(const std::vector<state::AttachmentRecord>& records);

} // namespace rdmanet::attach
