// STATUS: what can be known of a device before there is a pod.
#pragma once

#include <rdmanet/attach/config.hpp>
#include <rdmanet/attach/node.hpp>
#include <rdmanet/base/deadline.hpp>
#include <rdmanet/cni/request.hpp>

namespace rdmanet::attach {

/// Throws what ADD would, as far as the configuration names a device; else only for the node's RDMA and its mode, as
/// the device plugin has yet to choose the device. Says nothing of a device that a pod has: the next ADD comes after.
void require_device(const cni::Request& request, const Config& config, const Node& node,
                    const base::Deadline& deadline);

} // namespace rdmanet::attach
