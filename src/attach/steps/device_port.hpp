// Whether the RDMA port that the pod will use is active. Which port is checked, and when:
//
// - A child uses the port of its parent, which is up. It is checked before anything is changed.
// - A VF's own port is down while its net device is down. With link state "auto" it follows the PF's port. So the PF's
//   port is checked before, and the VF's own port after the interface came up in the pod, where the driver takes a
//   moment.
// - The port of a whole function is checked before, if its net device is up or it is InfiniBand. It is not checked
//   again, because a real link takes seconds to come back after the move. If the net device is down on the host, and
//   the policy refuses an inactive port, ADD waits for the port in the pod.
// - If an earlier plugin moved the interface, ADD waits for its port before it moves the RDMA device.
#pragma once

#include "findings.hpp"

#include "lookup/pod_side.hpp"

#include <rdmanet/base/deadline.hpp>
#include <rdmanet/base/logger.hpp>
#include <rdmanet/config/config.hpp>
#include <rdmanet/kernel/link.hpp>
#include <rdmanet/kernel/netns.hpp>
#include <rdmanet/kernel/rdma.hpp>

#include <optional>
#include <string>

namespace rdmanet::attach {

/// The check before anything is changed, for a device that moves with RDMA. Sets FoundDevice::awaits_port if the port
/// must be checked again in the pod. `ifname` is the interface's name in the pod.
void require_active_port_before(FoundDevice& device, const config::Config& config, const std::string& ifname,
                                const base::Logger& log, const base::Deadline& deadline);

/// The check after the interface came up in the pod. Waits for its port, and returns it; nullopt if there is none.
std::optional<kernel::RdmaPort> require_active_port_in_pod(const RdmaDevices& devices, const config::RdmaPolicy& policy,
                                                           PodSide& pod, const kernel::Link& link,
                                                           const base::Logger& log, const base::Deadline& deadline);

} // namespace rdmanet::attach
