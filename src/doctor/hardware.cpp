// Cards and their PCIe links.
#include "checks.hpp"
#include "files.hpp"

#include <charconv>

namespace rdmanet::doctor {
namespace {

/// "16.0 GT/s PCIe": the number; 0 if it is none.
double transfers_of(const std::string& speed) {
    double number = 0;
    std::from_chars(speed.data(), speed.data() + speed.size(), number);
    return number;
}

void check_presence(const Context& context, Findings& found) {
    const auto& devices = context.inventory.devices;
    const bool any = std::ranges::any_of(devices, [](const inventory::Device& each) { return !!each.address; });
    if (!any)
        found.failure("", "the PCI bus has no network function",
                      "check that the card is in its slot and that firmware does not disable the slot");
}

/// A slot with fewer lanes, or an earlier generation of PCIe, is slower than the card.
void check_pcie_link(const Context& context, Findings& found) {
    for (const inventory::Device& device : context.inventory.devices) {
        if (!device.pci || device.pci->link_width == 0 || device.rdma.empty()) continue;
        const inventory::PciFunction& pci = *device.pci;
        const bool is_narrow = pci.link_width < pci.most_link_width;
        if (!is_narrow && transfers_of(pci.link_speed) >= transfers_of(pci.most_link_speed)) continue;
        found.warning(subject_of(device),
                      fmt::format("its PCIe link runs at {} x{}, and the card can {} x{}", pci.link_speed,
                                  pci.link_width, pci.most_link_speed, pci.most_link_width),
                      "put the card into a slot with as many lanes, or seat it again; firmware may limit the slot");
    }
}

constexpr Check kHardwareChecks[] = {
    {{"presence", Layer::hardware, "network functions on the PCI bus"}, check_presence},
    {{"pcie-link", Layer::hardware, "lanes and speed of each PCIe link"}, check_pcie_link},
};

} // namespace

std::span<const Check> hardware_checks() {
    return kHardwareChecks;
}

} // namespace rdmanet::doctor
