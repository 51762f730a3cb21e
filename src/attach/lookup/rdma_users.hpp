// Who uses an RDMA device on the host. Moving the device would take it from them.
#pragma once

#include <rdmanet/kernel/rdma.hpp>

#include <string>

namespace rdmanet::attach {

/// Which processes or kernel modules use the device, and the cure; empty if none does.
[[nodiscard]] std::string describe_use(kernel::Socket& rdma, const kernel::RdmaDevice& device);

/// Throws CniError that names the processes or kernel modules that use the device. A move would end their use:
/// - All calls of a process that has a context open fail with EIO (ib_uverbs, disassociate_ucontext).
/// - The kernel removes the device from modules (disable_device(), drivers/infiniband/core/device.c). nvme_rdma then
///   deletes its controllers.
/// DEL does not check this: the pod has ended.
void require_unused(kernel::Socket& rdma, const kernel::RdmaDevice& device);

} // namespace rdmanet::attach
