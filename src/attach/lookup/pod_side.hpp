// The pod's side of an attachment.
#pragma once

#include <rdmanet/base/deadline.hpp>
#include <rdmanet/cni/request.hpp>
#include <rdmanet/kernel/netlink_socket.hpp>
#include <rdmanet/kernel/netns.hpp>

namespace rdmanet::attach {

/// The pod's side of an attachment: its namespace and a socket in it.
struct PodSide {
    kernel::Netns netns;
    kernel::Socket route;
};

/// The pod's namespace as CNI_NETNS names it. Throws CniError: nothing there, no namespace, or our own (code 8).
[[nodiscard]] kernel::Netns open_pod_netns(const cni::Request& request);

/// The pod's namespace and a socket in it.
[[nodiscard]] PodSide open_pod_side(const cni::Request& request, const base::Deadline& deadline);

} // namespace rdmanet::attach
