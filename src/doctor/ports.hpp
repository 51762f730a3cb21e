// Ethernet ports with RoCE, and their priorities.
#pragma once

#include "context.hpp"

namespace rdmanet::doctor {

[[nodiscard]] inline bool is_roce(const inventory::Device& device) {
    return !device.rdma.empty() && device.rdma.front().protocol == "roce";
}

/// Calls `visit` for each RoCE interface of the host that is up and whose driver reports its flow control.
template <class Visit>
void for_each_port(const Context& context, const Visit& visit) {
    for (const inventory::Device& device : context.inventory.devices)
        for (const inventory::NetDevice& net : device.net)
            if (is_roce(device) && is_host_parent(device, net) && net.is_up && net.flow_control)
                visit(device, net, *net.flow_control);
}

/// Whether PFC is on for a priority.
[[nodiscard]] inline bool has_priority(const kernel::FlowControl& flow, unsigned priority) {
    return (flow.pfc >> priority & 1U) != 0;
}

} // namespace rdmanet::doctor
