// STATUS for networks that move a device.
#pragma once

#include "steps/step.hpp"

namespace rdmanet::attach {

/// Throws what ADD would throw. If the configuration names the device, it must exist, be set up, not be in use by the
/// node, have what the network asks of RDMA, and have an active port. If the device plugin will choose one, only the
/// node's RDMA mode is checked. A device that a pod has now is no error: the next ADD comes after that pod. May
/// create and take the lock of RDMA moves for a moment, to ask the kernel whether the device could move.
void require_usable_device(const PlanContext& context);

} // namespace rdmanet::attach
