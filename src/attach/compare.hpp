// Comparing an attachment with the kernel and with its leases: for CHECK, and for `rdmanet check`.
#pragma once

#include "steps/check_context.hpp"

#include <rdmanet/attach/node.hpp>
#include <rdmanet/base/bus_address.hpp>
#include <rdmanet/cni/request.hpp>
#include <rdmanet/cni/result.hpp>
#include <rdmanet/config/config.hpp>
#include <rdmanet/ipam/store.hpp>
#include <rdmanet/kernel/netns.hpp>
#include <rdmanet/kernel/vf.hpp>
#include <rdmanet/state/attachment_record.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace rdmanet::attach {

[[nodiscard]] Intended wanted_by(const cni::Request& request, const config::Config& config);
/// The result is as ADD made it, without default routes, which Multus may have taken away. Of a record of an earlier
/// version less is known (AttachmentRecord::wanted).
[[nodiscard]] Intended wanted_by(const state::AttachmentRecord& record);

/// Throws CniError (code 107) for the first difference. `netns_path` is for messages.
void compare_with_kernel(const Intended& wanted, const state::AttachmentRecord& record, const kernel::Netns& netns,
                         const std::string& netns_path, const base::Deadline& deadline);

/// The same for the leases of the built-in allocator: they are the attachment's, also those of addresses that a later
/// plugin has taken from the interface.
void compare_leases(const state::AttachmentRecord& record, const Node& node, ipam::Store& leases,
                    const base::Deadline& deadline);

} // namespace rdmanet::attach
