// PCI functions as sysfs shows them (Documentation/ABI/testing/sysfs-bus-pci), and devices on the auxiliary bus.
#pragma once

#include <rdmanet/base/pci_address.hpp>

#include <optional>
#include <string>
#include <vector>

namespace rdmanet::kernel {

/// Where a VF belongs: the address of its PF, and its number there.
struct VfOf {
    base::PciAddress pf;
    unsigned number = 0;
};

[[nodiscard]] bool pci_function_exists(const base::PciAddress& address);

/// nullopt for what is no VF. Throws base::SystemError.
[[nodiscard]] std::optional<VfOf> find_pf_of(const base::PciAddress& address);

/// Name of the driver that the function is bound to; empty if none.
[[nodiscard]] std::string driver_of(const base::PciAddress& address);

// Names of the calling thread's network namespace: a device that is in another one is not among them.

/// Net devices of the function, none for one of a driver for user space.
[[nodiscard]] std::vector<std::string> netdevs_of(const base::PciAddress& address);
/// RDMA devices of the function.
[[nodiscard]] std::vector<std::string> rdma_devices_of(const base::PciAddress& address);

/// The net device of a PF through which its VFs are administered: of several (with switchdev, the VFs' representors are
/// the PF's, too) the one that is a port of the card, "p0", or has no such name. nullopt if none is in the calling
/// thread's namespace.
[[nodiscard]] std::optional<std::string> uplink_of(const base::PciAddress& pf);

} // namespace rdmanet::kernel
