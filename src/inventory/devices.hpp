// Devices with the net and RDMA devices that they have in each namespace.
#pragma once

#include "side.hpp"

#include <rdmanet/inventory/inventory.hpp>

#include <string>
#include <vector>

namespace rdmanet::inventory {

/// `sides` are the namespaces, in order. The functions that are not of networks go into `others`. Throws
/// base::SystemError.
[[nodiscard]] std::vector<Device> list_devices(const std::string& sysfs, const std::vector<Side>& sides,
                                               std::vector<PciFunction>& others);

} // namespace rdmanet::inventory
