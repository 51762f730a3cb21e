// Whether the RDMA port that a device's pod will use is active. Which port tells, and when:
//
// - A child uses its parent's, which is up: it tells before anything is changed.
// - A VF's own port is down as long as its net device is. It follows its PF's, if its link state is "auto": that one
//   tells before, the VF's own once it is up in the pod, where the driver takes a moment.
// - A whole function's own tells before if its net device is up, or it is InfiniBand. It isn't looked at again: a real
//   link takes seconds to come back after the move. One that is down on the host tells nothing; where an inactive port
//   is refused, ADD waits for it in the pod.
// - Of an interface that an earlier plugin moved the port is waited for before the RDMA device follows.
#pragma once

#include "findings.hpp"

#include <rdmanet/base/deadline.hpp>
#include <rdmanet/base/logger.hpp>
#include <rdmanet/config/config.hpp>
#include <rdmanet/kernel/link.hpp>
#include <rdmanet/kernel/netns.hpp>

#include <string>

namespace rdmanet::attach {

/// For a device that moves with RDMA, before anything is changed. Decides in `device` whether its port is looked at
/// again. `ifname` is the interface's name in the pod.
void require_active_port_before(FoundDevice& device, const config::Config& config, const std::string& ifname,
                                const base::Logger& log, const base::Deadline& deadline);

/// When the device's interface is up in the pod: waits for its port.
void require_active_port_in_pod(const RdmaDevices& devices, const config::RdmaPolicy& policy, const kernel::Netns& pod,
                                const kernel::Link& link, const base::Logger& log, const base::Deadline& deadline);

} // namespace rdmanet::attach
