#include "rdma_users.hpp"

#include <rdmanet/attach/rdma_use.hpp>
#include <rdmanet/base/format.hpp>
#include <rdmanet/base/process.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/cni/error.hpp>
#include <rdmanet/kernel/device.hpp>

#include <map>
#include <string>
#include <utility>

namespace rdmanet::attach {
namespace {

using base::quoted;

/// Whether the module's queue pairs do not stop a move: ib_core has some for management, the driver has its own
/// (mlx5_ib registers memory with one), and IPoIB's interface moves too or is created again. is_driver_module()
/// recognizes mlx4_ib only from Linux 6.6 on.
bool is_part_of_device(const std::string& module) {
    for (const char* known : {"ib_core", "ib_ipoib", "mlx4_ib", "mlx5_ib"})
        if (module == known) return true;
    return kernel::is_driver_module(module);
}

/// For each module that uses the device.
std::map<std::string, unsigned> count_queue_pairs(kernel::Socket& rdma, const kernel::RdmaDevice& device) {
    std::map<std::string, unsigned> counts;
    for (kernel::KernelQueuePair& pair : kernel::list_kernel_queue_pairs(rdma, device.index))
        ++counts[std::move(pair.module)];
    std::erase_if(counts, [](const auto& count) { return is_part_of_device(count.first); });
    return counts;
}

/// ""nvme_rdma" (2 queue pairs), "smc" (1 queue pair)".
std::string listed(const std::map<std::string, unsigned>& counts) {
    return base::join(counts, ", ", [](const auto& each) {
        return fmt::format("{} ({})", quoted(each.first), base::counted(each.second, "queue pair", "queue pairs"));
    });
}

} // namespace

std::optional<RdmaUse> find_rdma_use(kernel::Socket& rdma, const kernel::RdmaDevice& device) {
    const std::string used = fmt::format("RDMA device {} is in use on the host by", quoted(device.name));
    const auto users = kernel::list_rdma_users(rdma, device.index);
    if (!users.empty())
        return RdmaUse{.what = fmt::format("{} {}", used,
                                           users.front() == 0 ? std::string("a process of another PID namespace")
                                                              : base::describe_process(users.front())),
                       .fix = "stop it"};
    const auto modules = count_queue_pairs(rdma, device);
    if (modules.empty()) return std::nullopt;
    return RdmaUse{
        .what = fmt::format("{} kernel {} {}", used, modules.size() == 1 ? "module" : "modules", listed(modules)),
        .fix = "stop what uses it, for example disconnect NVMe storage or unmount NFS shares,"};
}

std::string describe_use(kernel::Socket& rdma, const kernel::RdmaDevice& device) {
    const auto use = find_rdma_use(rdma, device);
    return use ? fmt::format("{}: {}", use->what, use->fix) : std::string();
}

void require_unused(kernel::Socket& rdma, const kernel::RdmaDevice& device) {
    if (const std::string use = describe_use(rdma, device); !use.empty())
        throw cni::CniError(cni::ErrorCode::rdma, fmt::format("{} before a pod gets the device", use));
}

} // namespace rdmanet::attach
