// CHECK: what concerns devices alone.
#pragma once

#include "compare.hpp"

#include <rdmanet/base/ip_address.hpp>
#include <rdmanet/config/config.hpp>
#include <rdmanet/kernel/link.hpp>
#include <rdmanet/kernel/rdma.hpp>

namespace rdmanet::attach {

/// What CHECK answers: found and expected (code 107).
[[noreturn]] void differs(const std::string& what);

/// An RDMA port that isn't active differs where the policy refuses it. `interface` is its own, for the message.
void check_port(const config::RdmaPolicy& policy, const kernel::RdmaPort& port, const std::string& interface);

/// Whether the attachment has an interface to look at: not a device with a driver for user space, nor RDMA alone.
[[nodiscard]] bool has_netdev(const state::AttachmentRecord& record);

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
