// STATUS: what can be known of a device before there is a pod.
#pragma once

#include <rdmanet/attach/node.hpp>
#include <rdmanet/base/deadline.hpp>
#include <rdmanet/cni/request.hpp>
#include <rdmanet/config/config.hpp>

namespace rdmanet::attach {

/// Throws what ADD would of a device that the configuration names: that it is there, set up and spare, can have what
/// the network asks of RDMA, and has an active port. Of others only the node's RDMA and its mode: the device plugin has
/// yet to choose. Says nothing of a device that a pod has: the next ADD comes after. May create and take the lock of
/// RDMA moves for a moment, to ask the kernel whether the device could move.
void require_device(const cni::Request& request, const config::Config& config, const Node& node,
                    const base::Deadline& deadline);

} // namespace rdmanet::attach
