// Whether a device can go into a pod, as far as the device itself tells.
#pragma once

#include <rdmanet/base/bus_address.hpp>
#include <rdmanet/kernel/link.hpp>
#include <rdmanet/kernel/netlink_socket.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace rdmanet::attach {

/// The error of a device that can't be had.
[[noreturn]] void refuse_device(const std::string& device, const std::string& why);
[[noreturn]] void refuse_device(const base::BusAddress& address, const std::string& why);

/// Drivers that leave a device to programs in user space and make no net device of it.
[[nodiscard]] bool is_user_space_driver(std::string_view driver);

/// Of these, vfio-pci and those for one kind of NIC, "mlx5_vfio_pci" (drivers/vfio/pci).
[[nodiscard]] bool is_vfio_driver(std::string_view driver);

/// Throws CniError unless the machine has the device.
void require_existing(const base::BusAddress& address);

/// Its net device, on the host; nullopt for a driver for user space. Throws CniError for several net devices or none.
[[nodiscard]] std::optional<kernel::Link> find_device_link(const base::BusAddress& address, kernel::Socket& route);

/// Throws CniError for what the node itself needs: a PF with VFs, a port of a bond or bridge, the way to a default
/// gateway.
void require_spare(const std::string& device, const kernel::Link& link, kernel::Socket& route);
void require_spare(const base::BusAddress& address, const kernel::Link& link, kernel::Socket& route);

} // namespace rdmanet::attach
