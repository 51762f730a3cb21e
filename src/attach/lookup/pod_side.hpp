// The pod's network namespace.
#pragma once

#include <rdmanet/base/deadline.hpp>
#include <rdmanet/cni/request.hpp>
#include <rdmanet/kernel/netlink_socket.hpp>
#include <rdmanet/kernel/netns.hpp>

namespace rdmanet::attach {

/// The pod's namespace and a routing socket in it.
struct PodSide {
    kernel::Netns netns;
    kernel::Socket route;
};

/// The namespace that CNI_NETNS names. Throws CniError if it does not exist, is not a network namespace, or is our
/// own (code 8).
[[nodiscard]] kernel::Netns open_pod_netns(const cni::Request& request);

[[nodiscard]] PodSide open_pod_side(const cni::Request& request, const base::Deadline& deadline);

} // namespace rdmanet::attach
