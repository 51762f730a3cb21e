// PCI functions, as sysfs describes them (Documentation/ABI/testing/sysfs-bus-pci).
#pragma once

#include <rdmanet/base/pci_address.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rdmanet::inventory {

struct PciFunction {
    base::PciAddress address;
    std::uint16_t vendor = 0;
    std::uint16_t device = 0;
    std::uint32_t class_code = 0; // base class, subclass, interface: linux/pci_ids.h
    std::string driver;           // empty if it has none
    std::optional<int> numa_node; // nullopt if the machine does not say
    std::string link_speed;       // of the PCIe link now: "16.0 GT/s PCIe"; empty if it has none
    std::string most_link_speed;
    unsigned link_width = 0; // lanes; 0 if it has no link
    unsigned most_link_width = 0;
    /// From the host bridge down, without the function itself: "pci0000:3a", "0000:3a:00.0", "0000:3b:00.0".
    std::vector<std::string> path;
    std::optional<base::PciAddress> pf; // of a VF
    unsigned vf_number = 0;             // of a VF
    unsigned vfs = 0;                   // of a PF, now
    unsigned most_vfs = 0;              // of a PF; 0: no SR-IOV

    [[nodiscard]] bool is_network() const; // Ethernet, InfiniBand and other controllers of networks
    [[nodiscard]] bool is_accelerator() const;
    /// "15b3:1017", as lspci(8) prints it.
    [[nodiscard]] std::string id_text() const;
};

/// Network functions and accelerators, by address. `sysfs` is where the host's sysfs is mounted. Throws
/// base::SystemError.
[[nodiscard]] std::vector<PciFunction> list_pci_functions(const std::string& sysfs);

/// Whether a PCIe switch connects the two: their paths have a bridge in common below the root port. A packet between
/// them does not pass the processor.
[[nodiscard]] bool share_switch(const PciFunction& one, const PciFunction& other);

} // namespace rdmanet::inventory
