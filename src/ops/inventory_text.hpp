// Words for an inventory, which its table and its picture share.
#pragma once

#include <rdmanet/inventory/inventory.hpp>

#include <string>
#include <vector>

namespace rdmanet::ops {

/// "0000:3b:00.0", "mlx5_core.sf.4"; empty for soft-RoCE.
[[nodiscard]] std::string name_of(const inventory::Device& device);
/// "PF, 2 of 8 VFs", "VF 3 of 0000:3b:00.0", "SF", "software".
[[nodiscard]] std::string role_of(const inventory::Device& device);
/// "100 Gb/s"; empty if it is not known.
[[nodiscard]] std::string speed_of(const inventory::NetDevice& net);
/// "up", "no carrier", "down".
[[nodiscard]] std::string state_of(const inventory::NetDevice& net);
/// "active", or for other states with the physical one: "down (Polling)".
[[nodiscard]] std::string state_of(const inventory::RdmaPort& port);
/// sysfs has one name for two types: "IB/RoCE v1".
[[nodiscard]] std::string gid_type_of(const kernel::GidEntry& gid);
/// "host", or the pod.
[[nodiscard]] std::string place_name(const inventory::Inventory& inventory, std::size_t place);
/// Addresses of the GPUs and other accelerators behind the same PCIe switch.
[[nodiscard]] std::vector<std::string> neighbours_of(const inventory::Inventory& inventory,
                                                     const inventory::Device& device);
/// The function, or for a sub-function the one that it is part of; null without a bus.
[[nodiscard]] const inventory::PciFunction* function_of(const inventory::Inventory& inventory,
                                                        const inventory::Device& device);

} // namespace rdmanet::ops
