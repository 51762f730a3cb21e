#include "nic_settings.hpp"

#include <rdmanet/kernel/flow_control.hpp>

#include <algorithm>
#include <utility>

namespace rdmanet::inventory {
namespace {

using kernel::Devlink;
using kernel::Protocol;

/// If enable_roce is false, mlx5_ib still makes a device, for raw Ethernet packets. The kernel names no protocol of it
/// (fill_dev_info(), drivers/infiniband/core/nldev.c).
bool lacks_rdma(const Device& device) {
    const bool has_driver = device.address && (!device.pci || !device.pci->driver.empty());
    return has_driver && std::none_of(device.rdma.begin(), device.rdma.end(),
                                      [](const RdmaDevice& rdma) { return !rdma.protocol.empty(); });
}

void read_switches(const SideReader& reader, std::vector<Device>& devices) {
    if (std::none_of(devices.begin(), devices.end(), lacks_rdma)) return;
    auto devlink = Devlink::find(reader.open_on_host(Protocol::generic));
    if (!devlink) return;
    for (Device& device : devices) {
        if (!lacks_rdma(device)) continue;
        const auto find = [&](const char* parameter) { return devlink->find_switch(*device.address, parameter); };
        device.switched_off = find_switched_off(
            {.rdma = find("enable_rdma"), .roce = find("enable_roce"), .iwarp = find("enable_iwarp")});
    }
}

void read_flow_control(const SideReader& reader, std::vector<Device>& devices) {
    kernel::Socket route = reader.open_on_host(Protocol::route);
    kernel::Socket generic = reader.open_on_host(Protocol::generic);
    for (Device& device : devices)
        for (NetDevice& net : device.net)
            if (net.place == 0 && !device.rdma.empty() && device.rdma.front().protocol == "roce")
                net.flow_control = kernel::find_flow_control(route, generic, net.name, net.ifindex);
}

} // namespace

std::optional<RdmaSwitchedOff> find_switched_off(const RdmaSwitches& switches) {
    const auto& [rdma, roce, iwarp] = switches;
    if (rdma && !rdma->is_on) return RdmaSwitchedOff{.parameter = "enable_rdma", .mode = rdma->mode};
    // ice has both protocols, and only one of them on (ice_devlink_enable_roce_validate()).
    if ((roce && roce->is_on) || (iwarp && iwarp->is_on)) return std::nullopt;
    if (roce) return RdmaSwitchedOff{.parameter = "enable_roce", .mode = roce->mode};
    if (iwarp) return RdmaSwitchedOff{.parameter = "enable_iwarp", .mode = iwarp->mode};
    return std::nullopt;
}

void read_nic_settings(const SideReader& reader, std::vector<Device>& devices) {
    read_switches(reader, devices);
    read_flow_control(reader, devices);
}

} // namespace rdmanet::inventory
