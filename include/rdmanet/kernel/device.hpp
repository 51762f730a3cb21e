// Devices in sysfs: PCI functions (Documentation/ABI/testing/sysfs-bus-pci) and auxiliary devices.
#pragma once

#include <rdmanet/base/bus_address.hpp>
#include <rdmanet/kernel/netns_sysfs.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rdmanet::kernel {

/// The PF of a VF: its address, and the VF's number there.
struct VfOf {
    base::PciAddress pf;
    unsigned number = 0;
};

[[nodiscard]] bool device_exists(const base::BusAddress& address);

/// nullopt if the function is not a VF. Throws base::SystemError.
[[nodiscard]] std::optional<VfOf> find_pf_of(const base::PciAddress& address);

/// The VF with that number; nullopt if the PF has none. Throws base::SystemError.
[[nodiscard]] std::optional<base::PciAddress> find_vf_address(const VfOf& vf);

/// All VFs of the machine, ordered by address. Throws base::SystemError.
[[nodiscard]] std::vector<base::PciAddress> list_vfs();

/// How many VFs a PF has now; 0 if the device is not a PF.
[[nodiscard]] unsigned count_vfs_of(const base::BusAddress& address);

/// The name of the driver that the device is bound to; empty if it has none.
[[nodiscard]] std::string driver_of(const base::BusAddress& address);

/// Whether a kernel module has drivers, which sysfs then lists (drivers/base/module.c). Modules that use devices
/// through others, such as IPoIB or a file system, have none.
[[nodiscard]] bool is_driver_module(std::string_view name);

/// Unbinds the device from its driver, if it has one. Net devices and RDMA devices that the driver made are gone
/// then. Throws base::SystemError.
void unbind(const base::BusAddress& address);
/// Binds a device without a driver to `driver`, which probes it before this returns. Throws base::SystemError.
void bind(const base::BusAddress& address, const std::string& driver);
/// unbind() and bind().
void bind_anew(const base::BusAddress& address, const std::string& driver);
/// Whether the kernel has that driver now.
[[nodiscard]] bool driver_exists(const base::BusAddress& of, const std::string& driver);

/// Whether the kernel has found a way to reset the device alone. Since Linux 5.15, an administrator can switch all
/// ways off by writing nothing to `reset_method`.
enum class Resettable : std::uint8_t { yes, no, switched_off };
[[nodiscard]] Resettable resettable(const base::BusAddress& address);

/// Resets a device that has no driver. The kernel notifies a bound driver only through `reset_prepare` and
/// `reset_done` (pci_dev_save_and_disable(), drivers/pci/pci.c). mlx5_core, for one, does not have them
/// (mlx5_err_handler, drivers/net/ethernet/mellanox/mlx5/core/main.c) and would go on with queues that no longer
/// exist. The kernel takes a tenth of a second, or a minute if the device does not come back (pcie_flr()). Throws
/// base::SystemError.
void reset(const base::BusAddress& address);

/// The device that Link::parent_device names: a PCI or auxiliary device itself, or the PCI function that a virtio
/// device belongs to. nullopt for other buses and for virtual interfaces.
[[nodiscard]] std::optional<base::BusAddress> bus_address_of(const std::string& parent_device);

// Names in the calling thread's network namespace. Devices in other namespaces are left out.

/// The net devices of the device. A driver for user space has none.
[[nodiscard]] std::vector<std::string> netdevs_of(const base::BusAddress& address);
/// The RDMA devices of the device.
[[nodiscard]] std::vector<std::string> rdma_devices_of(const base::BusAddress& address);
/// As above, in the namespace of `sysfs`.
[[nodiscard]] std::vector<std::string> rdma_devices_of(const base::BusAddress& address, const NetnsSysfs& sysfs);

/// The net device of a PF that administers its VFs. In switchdev mode the PF also has the VFs' representors; of
/// several net devices this is the one that is a port of the card, "p0", or has no port name. nullopt if none is in
/// the calling thread's namespace.
[[nodiscard]] std::optional<std::string> uplink_of(const base::PciAddress& pf);

/// The representors of the PF's VFs, by number. In switchdev mode the switch forwards nothing by itself: what a VF
/// sends comes out of its representor, and what is sent into the representor arrives at the VF
/// (Documentation/networking/switchdev.rst). Representors are the PF's net devices in the thread's namespace that are
/// ports of the uplink's switch and have a VF's port name, "pf0vf3". Legacy mode has none, although some drivers
/// report a switch even then (ice_devlink_create_pf_port()).
[[nodiscard]] std::map<unsigned, std::string> representors_of(const base::PciAddress& pf);

} // namespace rdmanet::kernel
