// Moving a device into a pod: a VF with its settings in the PF, or a whole function; its net device, its RDMA devices.
#pragma once

#include "device_plan.hpp"

#include "lookup/pod_side.hpp"
#include "owners/attachment.hpp"

#include <rdmanet/base/bus_address.hpp>
#include <rdmanet/base/deadline.hpp>
#include <rdmanet/base/logger.hpp>
#include <rdmanet/cni/request.hpp>
#include <rdmanet/config/config.hpp>
#include <rdmanet/kernel/link.hpp>
#include <rdmanet/state/step.hpp>

#include <functional>
#include <optional>
#include <vector>

namespace rdmanet::attach {

/// Reads the kernel and changes nothing. Throws CniError with the cure for whatever would make the ADD fail later,
/// among it that the device is another attachment's.
[[nodiscard]] DevicePlan plan_device(const cni::Request& request, const config::Config& config, const Attachment& attachment,
                                     PodSide& pod, const base::BusAddress& address, const base::Deadline& deadline);

/// The device's steps as the journal describes them, in the order of doing.
[[nodiscard]] std::vector<state::Step> device_steps(const cni::Request& request, const config::Config& config,
                                                    const DevicePlan& plan, const base::Deadline& deadline,
                                                    const base::Logger& log);

/// Does them: VF settings, net device, RDMA devices. Returns the link in the pod, which is down; none for a device with
/// a driver for user space. If the driver was bound anew, the plan gets the RDMA devices that it has made, and
/// `on_new_rdma` is called before they move: they are to be written down.
[[nodiscard]] std::optional<kernel::Link> move_device(const cni::Request& request, const config::Config& config,
                                                      DevicePlan& plan, const Attachment& attachment, PodSide& pod,
                                                      const std::function<void()>& on_new_rdma,
                                                      const base::Deadline& deadline);

} // namespace rdmanet::attach
