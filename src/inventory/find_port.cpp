#include <rdmanet/inventory/inventory.hpp>

namespace rdmanet::inventory {

const RdmaPort* find_port(const Inventory& inventory, const Interface& interface) {
    const std::size_t place = interface.is_shared ? 0 : interface.net.place;
    for (const Device& device : inventory.devices)
        for (const RdmaDevice& rdma : device.rdma)
            for (const RdmaPort& port : rdma.ports)
                if (rdma.place == place && rdma.name == interface.rdma_device && port.number == interface.rdma_port)
                    return &port;
    return nullptr;
}

} // namespace rdmanet::inventory
