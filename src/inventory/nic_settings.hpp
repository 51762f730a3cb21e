// Settings of NICs that only their drivers know.
#pragma once

#include "side.hpp"

#include <rdmanet/inventory/inventory.hpp>
#include <rdmanet/kernel/devlink.hpp>

#include <optional>
#include <vector>

namespace rdmanet::inventory {

/// The parameters of devlink for RDMA, of one function; those that its driver has.
struct RdmaSwitches {
    std::optional<kernel::DevlinkSwitch> rdma{}; // enable_rdma
    std::optional<kernel::DevlinkSwitch> roce{};
    std::optional<kernel::DevlinkSwitch> iwarp{};
};

/// The parameter that keeps the function from having RDMA; nullopt if none does.
[[nodiscard]] std::optional<RdmaSwitchedOff> find_switched_off(const RdmaSwitches& switches);

/// Sets Device::switched_off of functions without RDMA, Device::is_switchdev of PFs, Device::has_random_mac of VFs, and
/// NetDevice::flow_control of RoCE ports on the host. Throws base::Error.
void read_nic_settings(const SideReader& reader, std::vector<Device>& devices);

} // namespace rdmanet::inventory
