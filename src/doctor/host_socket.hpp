// Sockets of the host's network namespace.
#pragma once

#include <rdmanet/inventory/inventory.hpp>
#include <rdmanet/kernel/netlink_socket.hpp>
#include <rdmanet/kernel/statistics.hpp>

namespace rdmanet::doctor {

/// If the namespace cannot be entered, a socket of this process's, as in the inventory, which says so. It waits for
/// one second at most. Throws base::SystemError.
[[nodiscard]] kernel::Socket open_on_host(const inventory::Inventory& inventory, kernel::Protocol protocol);

/// The same for statistics.
[[nodiscard]] kernel::StatisticsReader open_statistics_on_host(const inventory::Inventory& inventory);

} // namespace rdmanet::doctor
