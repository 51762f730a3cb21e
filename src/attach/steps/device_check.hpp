// CHECK: what concerns devices alone.
#pragma once

#include "check_context.hpp"

#include <rdmanet/base/ip_address.hpp>
#include <rdmanet/kernel/link.hpp>
#include <rdmanet/kernel/rdma.hpp>

namespace rdmanet::attach {

/// The VF's settings in its PF, and the RDMA devices in the pod, or on the host where pods share them. Throws CniError
/// (code 107) for the first that differs. `link` is the interface in the pod, if it is there.
void check_device(const Intended& wanted, const state::AttachmentRecord& record, const kernel::Netns& netns,
                  const kernel::Link* link, const base::Deadline& deadline);

/// The GUID that the device's interface has, and the GIDs of its addresses in its RDMA devices. Throws
/// CniError (code 107) for what differs.
void check_device_link(const Intended& wanted, const state::AttachmentRecord& record, const kernel::Netns& netns,
                       const kernel::Link& link, const std::vector<base::IpAddress>& addresses,
                       const base::Deadline& deadline);

} // namespace rdmanet::attach
