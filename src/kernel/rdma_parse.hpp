// What the kernel says about RDMA devices and ports, as values.
#pragma once

#include <rdmanet/kernel/rdma.hpp>

#include <optional>
#include <vector>

namespace rdmanet::kernel {

/// nullopt if it is another message, or one without a device index.
[[nodiscard]] std::optional<RdmaDevice> parse_rdma_device(const nlmsghdr& message);
[[nodiscard]] std::optional<RdmaPort> parse_rdma_port(const nlmsghdr& message);

/// Of a list of queue pairs, or of connections, each with the queue pair that it has. Those of processes are left out.
[[nodiscard]] std::vector<KernelQueuePair> parse_kernel_queue_pairs(const nlmsghdr& message);

} // namespace rdmanet::kernel
