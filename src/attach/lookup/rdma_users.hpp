// Who uses an RDMA device on the host. Moving the device would take it from them.
#pragma once

#include <rdmanet/kernel/rdma.hpp>

#include <string>

namespace rdmanet::attach {

/// What find_rdma_use() says, as one text; empty if nobody uses the device.
[[nodiscard]] std::string describe_use(kernel::Socket& rdma, const kernel::RdmaDevice& device);

/// Throws CniError that names the processes or kernel modules that use the device: a move would end their use, see
/// RdmaUse. DEL does not check this: the pod has ended.
void require_unused(kernel::Socket& rdma, const kernel::RdmaDevice& device);

} // namespace rdmanet::attach
