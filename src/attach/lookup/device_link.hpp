// The net device of a device, wherever it is.
#pragma once

#include <rdmanet/base/bus_address.hpp>
#include <rdmanet/kernel/link.hpp>
#include <rdmanet/kernel/netlink_socket.hpp>

#include <optional>
#include <vector>

namespace rdmanet::attach {

// IPoIB children are the device's net devices, too, and are not meant.

/// On the host; `route` is a socket of the calling thread's namespace.
[[nodiscard]] std::vector<kernel::Link> list_links_on_host(const base::BusAddress& address, kernel::Socket& route);
[[nodiscard]] std::optional<kernel::Link> find_link_on_host(const base::BusAddress& address, kernel::Socket& route);

/// In the namespace of the socket, whichever that is; from Linux 5.14 on (IFLA_PARENT_DEV_NAME).
[[nodiscard]] std::optional<kernel::Link> find_link_inside(const base::BusAddress& address, kernel::Socket& inside);

} // namespace rdmanet::attach
