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
        inventory.devices.front().net.push_back(host_interface("ens1", 1500));
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
                             .net = {host_interface(interface, 1500)},
                             .rdma = {}};
        inventory.devices.push_back(std::move(vf));
    }

    /// The last one.
    [[nodiscard]] inventory::Device& vf() { return inventory.devices.back(); }
};

} // namespace rdmanet::doctor
