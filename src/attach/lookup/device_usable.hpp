// Whether a device can move into a pod, as far as the device itself tells.
#pragma once

#include <rdmanet/base/bus_address.hpp>
#include <rdmanet/kernel/link.hpp>
#include <rdmanet/kernel/netlink_socket.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace rdmanet::attach {

/// Throws the error of a device that cannot be used.
[[noreturn]] void refuse_device(const std::string& device, const std::string& why);
[[noreturn]] void refuse_device(const base::BusAddress& address, const std::string& why);

/// Whether the driver passes the device to programs in user space. Such a driver creates no net device.
[[nodiscard]] bool is_user_space_driver(std::string_view driver);

/// vfio-pci, and the VFIO drivers of single kinds of NIC such as mlx5_vfio_pci (drivers/vfio/pci).
[[nodiscard]] bool is_vfio_driver(std::string_view driver);

/// Throws CniError if the node does not have the device.
void require_existing(const base::BusAddress& address);

/// The device's net device on the host; nullopt if its driver is for user space. Throws CniError if it has several
/// net devices or none.
[[nodiscard]] std::optional<kernel::Link> find_device_link(const base::BusAddress& address, kernel::Socket& route);

/// Throws CniError if the node itself needs the device: a PF with VFs, a port of a bond or bridge, or the interface
/// of a default route.
void require_unused_by_node(const std::string& device, const kernel::Link& link, kernel::Socket& route);
void require_unused_by_node(const base::BusAddress& address, const kernel::Link& link, kernel::Socket& route);

} // namespace rdmanet::attach
