// The interface that a child is made on.
#pragma once

#include <rdmanet/cni/request.hpp>
#include <rdmanet/config/config.hpp>
#include <rdmanet/kernel/link.hpp>
#include <rdmanet/kernel/netlink_socket.hpp>

namespace rdmanet::attach {

/// The parent: "master" (an interface or an RDMA device), else the one interface of prevResult, else that of the
/// default route. `route` is a socket of the namespace in which the parent lives. Throws CniError with the cure.
[[nodiscard]] kernel::Link find_parent(const cni::Request& request, const config::Config& config,
                                       kernel::Socket& route);

/// Throws CniError unless a child as configured can be made on the parent: up, Ethernet, MTU large enough.
void require_usable(const kernel::Link& parent, const config::Config& config);

} // namespace rdmanet::attach
