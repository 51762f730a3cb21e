#include "inventory_text.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/ops/table.hpp>

namespace rdmanet::ops {

using inventory::Device;
using inventory::Inventory;

std::string name_of(const Device& device) {
    return device.address ? device.address->to_string() : std::string();
}

std::string role_of(const Device& device) {
    if (device.parent) return fmt::format("SF of {}", *device.parent);
    if (!device.pci) return "software";
    const inventory::PciFunction& pci = *device.pci;
    if (pci.pf) return fmt::format("VF {} of {}", pci.vf_number, *pci.pf);
    if (pci.most_vfs == 0) return "function";
    return fmt::format("PF, {} of {} VFs", pci.vfs, pci.most_vfs);
}

std::string speed_of(const inventory::NetDevice& net) {
    if (!net.speed) return {};
    return *net.speed % 1000 == 0 ? fmt::format("{} Gb/s", *net.speed / 1000) : fmt::format("{} Mb/s", *net.speed);
}

std::string state_of(const inventory::NetDevice& net) {
    if (!net.is_up) return "down";
    return net.has_carrier ? "up" : "no carrier";
}

std::string state_of(const inventory::RdmaPort& port) {
    const std::string_view state = kernel::to_string(port.state);
    if (port.state == kernel::PortState::active || port.physical_state.empty()) return std::string(state);
    return fmt::format("{} ({})", state, port.physical_state);
}

std::string gid_type_of(const kernel::GidEntry& gid) {
    if (gid.netdev.empty()) return "InfiniBand";
    return gid.type == kernel::GidType::ib_or_roce_v1 ? "RoCE v1" : std::string(kernel::to_string(gid.type));
}

std::string place_name(const Inventory& inventory, std::size_t place) {
    return place == 0 ? "host" : printable(inventory.namespaces[place].to_string());
}

std::vector<std::string> neighbours_of(const Inventory& inventory, const Device& device) {
    std::vector<std::string> found;
    const inventory::PciFunction* const function = function_of(inventory, device);
    if (function == nullptr) return found;
    for (const inventory::PciFunction& other : inventory.others)
        if (inventory::share_switch(*function, other)) found.push_back(other.address.to_string());
    return found;
}

const inventory::PciFunction* function_of(const Inventory& inventory, const Device& device) {
    if (device.pci) return &*device.pci;
    for (const Device& other : inventory.devices)
        if (device.parent && other.pci && other.pci->address == *device.parent) return &*other.pci;
    return nullptr;
}

} // namespace rdmanet::ops
