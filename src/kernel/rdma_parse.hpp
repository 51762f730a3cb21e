// Parses the kernel's descriptions of RDMA devices and ports.
#pragma once

#include <rdmanet/kernel/rdma.hpp>

#include <optional>
#include <vector>

namespace rdmanet::kernel {

/// nullopt if it is another message, or has no device index.
[[nodiscard]] std::optional<RdmaDevice> parse_rdma_device(const nlmsghdr& message);
[[nodiscard]] std::optional<RdmaPort> parse_rdma_port(const nlmsghdr& message);

/// Throws NetlinkError if the kernel refused, other than for not knowing the command.
[[nodiscard]] RdmaSystem parse_rdma_system(const Answer& answer);

/// From a list of queue pairs, or of connections with their queue pairs. Queue pairs of processes are left out.
[[nodiscard]] std::vector<KernelQueuePair> parse_kernel_queue_pairs(const nlmsghdr& message);

} // namespace rdmanet::kernel
