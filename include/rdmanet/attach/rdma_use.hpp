// Who uses an RDMA device on the host. ADD does not take it from them.
#pragma once

#include <rdmanet/kernel/rdma.hpp>

#include <optional>
#include <string>

namespace rdmanet::attach {

/// A use that a move of the device into a pod would end:
/// - All calls of a process that has a context open fail with EIO (ib_uverbs, disassociate_ucontext).
/// - The kernel removes the device from modules (disable_device(), drivers/infiniband/core/device.c). nvme_rdma then
///   deletes its controllers.
struct RdmaUse {
    std::string what; // "RDMA device "mlx5_2" is in use on the host by process 4711 (ib_write_bw)"
    std::string fix;  // "stop it"; what follows it in a sentence: " before a pod gets the device"
};

/// nullopt if neither a process nor a kernel module uses the device. The driver's own queue pairs, and those of ib_core
/// and IPoIB, are no use. Asks the kernel twice or thrice, and the kernel asks the driver about each queue pair. Loads
/// no module. Throws what kernel::Socket throws.
[[nodiscard]] std::optional<RdmaUse> find_rdma_use(kernel::Socket& rdma, const kernel::RdmaDevice& device);

} // namespace rdmanet::attach
