// The pod's network namespace.
#pragma once

#include <rdmanet/base/deadline.hpp>
#include <rdmanet/cni/request.hpp>
#include <rdmanet/kernel/netlink_socket.hpp>
#include <rdmanet/kernel/netns.hpp>

#include <optional>

namespace rdmanet::attach {

/// The pod's namespace and sockets in it.
struct PodSide {
    kernel::Netns netns;
    kernel::Socket route;
    std::optional<kernel::Socket> rdma{};

    /// Opens `rdma` at the first call, with the deadline of that call. nullptr if this kernel has no RDMA. Throws
    /// base::SystemError.
    [[nodiscard]] kernel::Socket* find_rdma(const base::Deadline& deadline);
};

/// The namespace that CNI_NETNS names. Throws CniError if it does not exist, is not a network namespace, or is our
/// own (code 8).
[[nodiscard]] kernel::Netns open_pod_netns(const cni::Request& request);

[[nodiscard]] PodSide open_pod_side(const cni::Request& request, const base::Deadline& deadline);

} // namespace rdmanet::attach
