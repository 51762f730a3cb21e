// Compares an attachment with the kernel and with its leases, for CHECK and `rdmanet check`.
#pragma once

#include "steps/comparison.hpp"

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
/// For `rdmanet check`, which has no configuration. The result has no default routes, because Multus may have removed
/// them.
[[nodiscard]] Intended wanted_by(const state::AttachmentRecord& record);

/// Throws CniError (code 107) for the first difference. `netns_path` is only for messages.
void compare_with_kernel(const Call& call, const Intended& wanted, const state::AttachmentRecord& record,
                         const kernel::Netns& netns, const std::string& netns_path);

/// The same for the leases of the built-in allocator. Addresses that a later plugin removed from the interface must
/// still be leased.
void compare_leases(const Call& call, const state::AttachmentRecord& record);

} // namespace rdmanet::attach
