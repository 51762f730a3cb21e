// A device's net device goes into the pod, and comes back.
#pragma once

#include "context.hpp"
#include "device_plan.hpp"

#include "lookup/pod_side.hpp"

#include <rdmanet/base/deadline.hpp>
#include <rdmanet/cni/request.hpp>
#include <rdmanet/config/config.hpp>
#include <rdmanet/kernel/link.hpp>

#include <string>

namespace rdmanet::attach {

/// Throws CniError if an alternative name of the link is taken in the pod.
void require_free_names(const std::string& device, const kernel::Link& link, PodSide& pod, const cni::Request& request);

/// From the host into the pod, where it is down.
[[nodiscard]] kernel::Link move_link(const cni::Request& request, const config::Config& config,
                                     const base::BusAddress& address, const kernel::Link& link, PodSide& pod,
                                     const base::Deadline& deadline);

/// Where the IPoIB interface is once the RDMA device is in the pod, which makes the kernel make it anew: in the pod
/// since Linux 6.17, before on the host (drivers/infiniband/ulp/ipoib/ipoib_main.c, ipoib_intf_init()).
[[nodiscard]] kernel::Link follow_rdma(const cni::Request& request, const config::Config& config,
                                       const base::BusAddress& address, PodSide& pod, const base::Deadline& deadline);

void revert_step(const state::MoveLink& step, const RevertContext& context);

} // namespace rdmanet::attach
