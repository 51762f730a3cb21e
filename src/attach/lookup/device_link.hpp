// The net device of a bus device.
#pragma once

#include <rdmanet/base/bus_address.hpp>
#include <rdmanet/kernel/link.hpp>
#include <rdmanet/kernel/netlink_socket.hpp>

#include <optional>
#include <vector>

namespace rdmanet::attach {

// In sysfs, IPoIB children are net devices of the bus device, too. These functions leave them out.

/// Looks on the host. `route` is a socket of the calling thread's namespace.
[[nodiscard]] std::vector<kernel::Link> list_links_on_host(const base::BusAddress& address, kernel::Socket& route);
[[nodiscard]] std::optional<kernel::Link> find_link_on_host(const base::BusAddress& address, kernel::Socket& route);

/// Looks in the namespace of the socket. Needs Linux 5.14 (IFLA_PARENT_DEV_NAME).
[[nodiscard]] std::optional<kernel::Link> find_link_inside(const base::BusAddress& address, kernel::Socket& inside);

} // namespace rdmanet::attach
