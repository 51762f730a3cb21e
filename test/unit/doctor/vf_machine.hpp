// A node whose NIC has VFs.
#pragma once

#include "machine.hpp"

#include <string>
#include <utility>

namespace rdmanet::doctor {

/// A machine whose NIC has a VF with a driver and devices.
class VfMachine : public Machine {
public:
    VfMachine() {
        inventory.devices.front().net.push_back(net("ens1"));
        add_vf("0000:3b:00.1", "ens1v0");
    }

    void add_vf(const std::string& text, const std::string& interface) {
        ++nic().vfs;
        const auto address = base::PciAddress::parse(text).value();
        inventory::Device vf{.address = address,
                             .pci = inventory::PciFunction{.address = address,
                                                           .class_code = 0x020000,
                                                           .driver = "mlx5_core",
                                                           .link_speed = {},
                                                           .most_link_speed = {},
                                                           .pf = nic().address},
                             .parent = {},
                             .net = {net(interface)},
                             .rdma = {}};
        inventory.devices.push_back(std::move(vf));
    }

    /// The last one.
    [[nodiscard]] inventory::Device& vf() { return inventory.devices.back(); }

private:
    static inventory::NetDevice net(const std::string& name) {
        return {.place = 0,
                .name = name,
                .ifindex = 2,
                .kind = {},
                .hardware_address = {},
                .mtu = 1500,
                .is_up = true,
                .has_carrier = true,
                .speed = {},
                .master = {}};
    }
};

} // namespace rdmanet::doctor
