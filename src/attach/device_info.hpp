// Device-info files: what Multus puts into a pod's network status about a device, and the application learns from the
// downward API (Network Plumbing Working Group, Device Information Specification 1.1.0).
#pragma once

#include "device.hpp"

#include <string>

namespace rdmanet::attach {

/// Replaces the file, whole or not at all. The RDMA device is named as the pod sees it. Nothing is written for an
/// auxiliary device, of which the specification knows no kind. Throws base::SystemError.
void write_device_info(const std::string& path, const DevicePlan& plan, const std::string& rdma_device);

} // namespace rdmanet::attach
