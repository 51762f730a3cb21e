// Who uses an RDMA device on the host: a move would take it from them.
#pragma once

#include <rdmanet/kernel/rdma.hpp>

#include <string>

namespace rdmanet::attach {

/// Which processes or kernel modules use the device, and the cure; empty if none does.
[[nodiscard]] std::string describe_use(kernel::Socket& rdma, const kernel::RdmaDevice& device);

/// Throws CniError that names them, if processes or kernel modules use the device. A move would cut off whoever has a
/// context open: its calls fail with EIO from then on (ib_uverbs, disassociate_ucontext). From modules the kernel
/// takes the device (drivers/infiniband/core/device.c, disable_device()), and nvme_rdma deletes its controllers then.
/// DEL asks nobody: the pod is over, and whoever still uses its device loses it so.
void require_unused(kernel::Socket& rdma, const kernel::RdmaDevice& device);

} // namespace rdmanet::attach
