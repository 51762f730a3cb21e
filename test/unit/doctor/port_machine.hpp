// A node with an Ethernet port.
#pragma once

#include "machine.hpp"

namespace rdmanet::doctor {

/// A machine whose NIC has interface ens1 with MTU 4200, and PFC for priority 3.
class PortMachine : public Machine {
public:
    PortMachine() {
        inventory.devices.front().net.push_back(host_interface("ens1", 4200));
        inventory.devices.front().net.front().flow_control = kernel::FlowControl{.pfc = 1U << 3U};
    }

    [[nodiscard]] kernel::FlowControl& flow() { return *inventory.devices.front().net.front().flow_control; }
};

} // namespace rdmanet::doctor
