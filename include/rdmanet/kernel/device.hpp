// Devices as sysfs shows them: PCI functions (Documentation/ABI/testing/sysfs-bus-pci) and auxiliary devices.
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

/// Where a VF belongs: the address of its PF, and its number there.
struct VfOf {
    base::PciAddress pf;
    unsigned number = 0;
};

[[nodiscard]] bool device_exists(const base::BusAddress& address);

/// nullopt for what is no VF. Throws base::SystemError.
[[nodiscard]] std::optional<VfOf> find_pf_of(const base::PciAddress& address);

/// All VFs of the machine, in the order of their addresses. Throws base::SystemError.
[[nodiscard]] std::vector<base::PciAddress> list_vfs();

/// How many VFs a PF has at present; 0 for what is no PF.
[[nodiscard]] unsigned count_vfs_of(const base::BusAddress& address);

/// Name of the driver that the device is bound to; empty if none.
[[nodiscard]] std::string driver_of(const base::BusAddress& address);

/// Whether a kernel module has drivers, which sysfs names then (drivers/base/module.c); what stands on them, like IPoIB
/// or a file system, has none.
[[nodiscard]] bool is_driver_module(std::string_view name);

/// Takes the device from its driver, if it has one. What that had made of it is gone: net device, RDMA device. Throws
/// base::SystemError.
void unbind(const base::BusAddress& address);
/// Gives a device that has none to `driver`, which probes it before this returns. Throws base::SystemError.
void bind(const base::BusAddress& address, const std::string& driver);
/// One after the other.
void bind_anew(const base::BusAddress& address, const std::string& driver);
/// Whether the kernel has that driver at present.
[[nodiscard]] bool driver_exists(const base::BusAddress& of, const std::string& driver);

/// Whether the kernel has found a way to reset the device alone. All that it has found can be switched off by writing
/// nothing to `reset_method`, which is there since Linux 5.15.
enum class Resettable : std::uint8_t { yes, no, switched_off };
[[nodiscard]] Resettable resettable(const base::BusAddress& address);

/// Resets a device that has no driver. One that is bound is told by `reset_prepare` and `reset_done` alone
/// (pci_dev_save_and_disable(), drivers/pci/pci.c), which mlx5_core, for one, doesn't have (mlx5_err_handler,
/// drivers/net/ethernet/mellanox/mlx5/core/main.c): it would go on with queues that are no more. Takes the kernel a
/// tenth of a second, and a minute if the device doesn't come back (pcie_flr()). Throws base::SystemError.
void reset(const base::BusAddress& address);

/// Of Link::parent_device: a PCI or auxiliary device itself, or the PCI function below which a virtio device is.
/// nullopt for other buses and for virtual interfaces.
[[nodiscard]] std::optional<base::BusAddress> bus_address_of(const std::string& parent_device);

// Names of the calling thread's network namespace: a device that is in another one is not among them.

/// Net devices of the device, none for one of a driver for user space.
[[nodiscard]] std::vector<std::string> netdevs_of(const base::BusAddress& address);
/// RDMA devices of the device.
[[nodiscard]] std::vector<std::string> rdma_devices_of(const base::BusAddress& address);
/// Those in the namespace of `sysfs`.
[[nodiscard]] std::vector<std::string> rdma_devices_of(const base::BusAddress& address, const NetnsSysfs& sysfs);

/// The net device of a PF through which its VFs are administered: of several (with switchdev, the VFs' representors are
/// the PF's, too) the one that is a port of the card, "p0", or has no such name. nullopt if none is in the calling
/// thread's namespace.
[[nodiscard]] std::optional<std::string> uplink_of(const base::PciAddress& pf);

/// The representors of the PF's VFs, by number: in switchdev mode the switch forwards nothing by itself, what a VF
/// sends comes out of its representor, and what is sent into that arrives at the VF
/// (Documentation/networking/switchdev.rst). They are those of the PF's net devices in the thread's namespace that are
/// ports of the uplink's switch and have a VF's port name, "pf0vf3". None in legacy mode, in which some drivers tell a
/// switch all the same (ice_devlink_create_pf_port()).
[[nodiscard]] std::map<unsigned, std::string> representors_of(const base::PciAddress& pf);

} // namespace rdmanet::kernel
