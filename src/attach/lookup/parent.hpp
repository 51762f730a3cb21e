// Finds and checks the parent of a child.
#pragma once

#include <rdmanet/cni/request.hpp>
#include <rdmanet/config/config.hpp>
#include <rdmanet/kernel/link.hpp>
#include <rdmanet/kernel/netlink_socket.hpp>

namespace rdmanet::attach {

/// The parent is "master" (an interface or an RDMA device), or else the only interface in prevResult, or else the
/// interface of the default route. `route` is a socket of the parent's namespace. Throws CniError with the fix.
[[nodiscard]] kernel::Link find_parent(const cni::Request& request, const config::Config& config,
                                       kernel::Socket& route);

/// Throws CniError if the parent is down, of the wrong kind, or has too small an MTU for the configured child.
void require_usable(const kernel::Link& parent, const config::Config& config);

} // namespace rdmanet::attach
