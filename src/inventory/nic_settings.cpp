#include "nic_settings.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/inventory/files.hpp>
#include <rdmanet/kernel/flow_control.hpp>
#include <rdmanet/kernel/vf.hpp>

#include <algorithm>
#include <cerrno>
#include <string>

namespace rdmanet::inventory {
namespace {

using kernel::Protocol;

/// If enable_roce is false, mlx5_ib still makes a device, for raw Ethernet packets. The kernel names no protocol of it
/// (fill_dev_info(), drivers/infiniband/core/nldev.c).
bool lacks_rdma(const Device& device) {
    const bool has_driver = device.address && (!device.pci || !device.pci->driver.empty());
    return has_driver &&
           std::ranges::none_of(device.rdma, [](const RdmaDevice& rdma) { return !rdma.protocol.empty(); });
}

/// Whether the function can have VFs, and a driver that may have a mode for them.
bool can_have_vfs(const Device& device) {
    return device.pci && device.pci->most_vfs != 0 && !device.pci->driver.empty();
}

void read_devlink(const SideReader& reader, std::vector<Device>& devices) {
    auto devlink = kernel::Devlink::find(reader.open_on_host(Protocol::generic));
    if (!devlink) return;
    for (Device& device : devices) {
        if (can_have_vfs(device)) device.is_switchdev = devlink->is_switchdev(*device.address);
        if (!lacks_rdma(device)) continue;
        const auto find = [&](const char* parameter) { return devlink->find_switch(*device.address, parameter); };
        device.switched_off = find_switched_off(
            {.rdma = find("enable_rdma"), .roce = find("enable_roce"), .iwarp = find("enable_iwarp")});
    }
}

/// The kernel knows whether a driver drew the interface's address (NET_ADDR_RANDOM, linux/netdevice.h). An address that
/// somebody sets later is none of these: systemd-udevd, for one, gives a lasting one to each of them.
bool drew_mac(const std::string& sysfs, const Device& device) {
    return device.pci && device.pci->pf && std::ranges::any_of(device.net, [&](const NetDevice& net) {
               return net.place == 0 &&
                      line_of(fmt::format("{}/class/net/{}/addr_assign_type", sysfs, net.name)) == "1";
           });
}

/// Empty if a PF has more VFs than an answer can hold.
std::vector<kernel::ReportedVf> list_vfs(const SideReader& reader) try {
    kernel::Socket route = reader.open_on_host(Protocol::route);
    return kernel::list_reported_vfs(route);
} catch (const kernel::NetlinkError& error) {
    if (error.errno_value() != EMSGSIZE) throw;
    return {};
}

/// A VF takes the MAC that its PF sets. mlx5, for one, takes it when its driver is bound again.
void read_random_macs(const SideReader& reader, std::vector<Device>& devices) {
    std::vector<Device*> drawn;
    for (Device& device : devices)
        if (drew_mac(reader.sysfs(), device)) drawn.push_back(&device);
    if (drawn.empty()) return;
    const auto reported = list_vfs(reader);
    for (Device* const device : drawn)
        device->has_random_mac = std::ranges::any_of(reported, [&](const kernel::ReportedVf& vf) {
            return vf.of && vf.of->pf == device->pci->pf && vf.of->number == device->pci->vf_number &&
                   vf.settings.mac && vf.settings.mac->is_zero();
        });
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
    read_devlink(reader, devices);
    read_random_macs(reader, devices);
    kernel::Socket route = reader.open_on_host(Protocol::route);
    kernel::Socket generic = reader.open_on_host(Protocol::generic);
    for (Device& device : devices)
        for (NetDevice& net : device.net)
            if (net.place == 0 && !device.rdma.empty() && device.rdma.front().protocol == "roce")
                net.flow_control = kernel::find_flow_control(route, generic, net.name, net.ifindex);
}

} // namespace rdmanet::inventory
