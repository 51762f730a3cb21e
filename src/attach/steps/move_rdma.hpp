// RDMA devices go into the pod with their device, and come back.
#pragma once

#include "context.hpp"
#include "device_plan.hpp"

#include "lookup/rdma_devices.hpp"

#include <rdmanet/base/deadline.hpp>
#include <rdmanet/base/logger.hpp>
#include <rdmanet/cni/request.hpp>
#include <rdmanet/config/config.hpp>
#include <rdmanet/kernel/netns.hpp>
#include <rdmanet/state/attachment_store.hpp>

#include <string>
#include <vector>

namespace rdmanet::attach {

/// Decides which of the device's RDMA devices go into the pod, as configuration and the node's RDMA namespace mode have
/// it. Throws CniError with the cure where both don't fit, or RDMA is required and there is none, or none that can
/// move.
void plan_rdma(DevicePlan& plan, const config::Config& config, const cni::Request& request, const kernel::Netns& pod,
               const base::Logger& log, const base::Deadline& deadline);

/// The first part of it, for which no pod is needed. `rdma`: null if this kernel has no RDMA.
void find_rdma_of_device(DevicePlan& plan, const config::Config& config, const cni::Request& request,
                         kernel::Socket* rdma, const base::Logger& log);

/// The second: whether the devices' drivers let them go. In `elsewhere`, where they are not, the kernel is asked.
void require_movable(DevicePlan& plan, const config::RdmaPolicy& policy, kernel::Socket& rdma,
                     const kernel::Netns& elsewhere, const base::Logger& log);

/// The steps of RDMA devices that move, while others of the device stay on the host. `name_in_pod` is as in the plan.
[[nodiscard]] std::vector<state::Step> rdma_steps(const base::BusAddress& address, const RdmaDevices& moving,
                                                  const RdmaDevices& staying = {}, const std::string& name_in_pod = {});

/// Those of a plan. The names on the host are those that the devices have there or are owed.
[[nodiscard]] std::vector<state::Step> rdma_steps(const DevicePlan& plan);

/// Those of the plan that move, the one that gets another name in the pod under that one. Throws NetlinkError; CniError
/// for a device that has another number in the pod, or can't have the name.
void move_rdma(const DevicePlan& plan, const state::AttachmentStore& records, const kernel::Netns& netns,
               const base::Deadline& deadline);

void revert_step(const state::MoveRdma& step, const RevertContext& context);

} // namespace rdmanet::attach
