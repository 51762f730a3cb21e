// RDMA devices go into the pod with their device, and come back.
#pragma once

#include "check_context.hpp"
#include "context.hpp"
#include "findings.hpp"
#include "step.hpp"

#include "lookup/rdma_devices.hpp"

#include <rdmanet/base/deadline.hpp>
#include <rdmanet/base/logger.hpp>
#include <rdmanet/cni/request.hpp>
#include <rdmanet/config/config.hpp>
#include <rdmanet/kernel/netns.hpp>
#include <rdmanet/state/attachment_store.hpp>

#include <memory>
#include <string>
#include <vector>

namespace rdmanet::attach {

/// Decides which of the device's RDMA devices go into the pod, as configuration and the node's RDMA namespace mode have
/// it. Throws CniError with the cure where both don't fit, or RDMA is required and there is none, or none that can
/// move.
void plan_rdma(FoundDevice& plan, const config::Config& config, const cni::Request& request, const kernel::Netns& pod,
               const base::Logger& log, const base::Deadline& deadline);

/// The first part of it, for which no pod is needed. `rdma`: null if this kernel has no RDMA.
void find_rdma_of_device(FoundDevice& plan, const config::Config& config, const cni::Request& request,
                         kernel::Socket* rdma, const base::Logger& log);

/// The second: whether the devices' drivers let them go. In `elsewhere`, where they are not, the kernel is asked.
void require_movable(FoundDevice& plan, const config::RdmaPolicy& policy, kernel::Socket& rdma,
                     const kernel::Netns& elsewhere, const base::Logger& log);

/// The steps of RDMA devices that move, while others of the device stay on the host. `name_in_pod` is as in the plan.
[[nodiscard]] std::vector<state::Step> rdma_steps(const base::BusAddress& address, const RdmaDevices& moving,
                                                  const RdmaDevices& staying = {}, const std::string& name_in_pod = {});

/// One that is home by now is still none that a driver has made anew (see MoveRdma::stayed).
void remember_beside(const state::MoveRdma& home, std::vector<state::Step>& steps);

[[nodiscard]] std::string describe_step(const state::MoveRdma& step);
void revert_step(const state::MoveRdma& step, const RevertContext& context);

/// Null if the attachment needs none.
[[nodiscard]] std::unique_ptr<Step> make_move_rdma(const AddContext& context, const Findings& found);

/// Throws CniError (code 107) for what differs.
void check_move_rdma(const CheckContext& context);

} // namespace rdmanet::attach
