// What the processes of one pod may and have.
#include "checks.hpp"
#include "pod_view.hpp"
#include "processes.hpp"

#include <sys/statvfs.h>

#include <algorithm>
#include <cstdint>
#include <iterator>

namespace rdmanet::doctor {
namespace {

/// Containers need the RDMA device's files in their own /dev. A device plugin gives them.
void check_pod_files(const Context& context, Findings& found) {
    const std::vector<std::string> processes = processes_of(context);
    for_each_interface(context, [&](const inventory::Interface& interface, const std::string& subject) {
        if (interface.files.empty() || found.has_failed(subject)) return;
        const std::string& file = interface.files.front();
        const bool any = std::ranges::any_of(processes, [&](const std::string& process) {
            return image_has(process, fmt::format("/dev/infiniband/{}", file));
        });
        if (!processes.empty() && !any)
            found.failure(subject, fmt::format("no container of the pod has /dev/infiniband/{}", file),
                          "request the resource of the RDMA device plugin in the pod's \"resources\"");
    });
}

bool is_vf(const inventory::Device& device) {
    return device.pci && device.pci->pf;
}

bool has_infiniband_port(const inventory::RdmaDevice& device) {
    return std::ranges::any_of(device.ports,
                               [](const inventory::RdmaPort& port) { return port.link_layer == "InfiniBand"; });
}

/// "umad0" lets a program send what subnet managers send, and "issm0" makes the port look like one (user_mad.rst).
/// Ethernet ports have no subnet management, nor have VFs unless firmware grants it (set_has_smi_cap(),
/// drivers/infiniband/hw/mlx5/main.c).
std::vector<std::string> management_files(const Context& context) {
    std::vector<std::string> files;
    for (const inventory::Device& device : context.inventory.devices)
        for (const inventory::RdmaDevice& rdma : device.rdma)
            if (has_infiniband_port(rdma) && !is_vf(device))
                std::ranges::copy_if(rdma.files, std::back_inserter(files),
                                     [](const std::string& file) { return !file.starts_with("uverbs"); });
    return files;
}

void check_management_files(const Context& context, Findings& found) {
    const std::vector<std::string> files = management_files(context);
    for (const std::string& process : processes_of(context))
        for (const std::string& file : files)
            if (const std::string path = fmt::format("/dev/infiniband/{}", file); may_open(context, process, path)) {
                found.info(pod_of(context).to_string(),
                           fmt::format("{} may open {}: the pod can manage the InfiniBand fabric",
                                       name_of_process(process), path),
                           "device plugins hand these files out with the device, and RDMA does not need them: run the "
                           "container as another user than root, or give the pod a VF");
                return;
            }
}

void check_pod_memlock(const Context& context, Findings& found) {
    constexpr std::uint64_t kLittle = 64ULL << 20U; // perftest fails at 1 MiB, NCCL needs some ten MiB
    for (const std::string& process : processes_of(context)) {
        const auto limit = locked_memory_of(process);
        if (!limit || *limit >= kLittle || program_of(process) == "pause") continue;
        const auto own_users = has_own_users(context, process);
        if (!own_users || may_pin_any(context, process).value_or(true)) continue;
        found.failure(
            pod_of(context).to_string(),
            fmt::format("{} can lock {} bytes of memory and has no CAP_IPC_LOCK{}, so larger registrations fail with "
                        "\"Cannot allocate memory\"",
                        name_of_process(process), *limit, *own_users ? " outside of its user namespace" : ""),
            *own_users ? "set \"hostUsers\": true for the pod, or raise the runtime's LimitMEMLOCK"
                       : "add the capability IPC_LOCK to the container and run it as root, or raise the runtime's "
                         "LimitMEMLOCK");
        return;
    }
}

/// Bytes of /dev/shm in the process's image; 0 if it has none. A file system without blocks has no limit.
std::uint64_t shared_memory_of(const std::string& process) {
    struct statvfs status {};
    const base::UniqueFd directory = open_in_image(process, "/dev/shm");
    if (!directory || ::fstatvfs(directory.get(), &status) != 0) return 0;
    return status.f_blocks == 0 ? UINT64_MAX : static_cast<std::uint64_t>(status.f_blocks) * status.f_frsize;
}

/// Runtimes give each container its own /dev/shm. If one container has more, the others are sidecars.
void check_pod_shm(const Context& context, Findings& found) {
    constexpr std::uint64_t kDefault = 64ULL << 20U; // of container runtimes
    std::string small;
    for (const std::string& process : processes_of(context)) {
        if (program_of(process) == "pause") continue;
        const std::uint64_t size = shared_memory_of(process);
        if (size > kDefault) return;
        if (size != 0 && small.empty()) small = process;
    }
    if (!small.empty())
        found.info(pod_of(context).to_string(),
                   fmt::format("/dev/shm of {} has 64 MiB or less, and NCCL needs more", name_of_process(small)),
                   "mount an emptyDir with \"medium\": \"Memory\" on /dev/shm");
}

constexpr Check kPodProgramChecks[] = {
    {{"pod-device-files", Layer::pod, "/dev/infiniband in the containers"}, check_pod_files},
    {{"pod-management-files", Layer::pod, "files that manage the InfiniBand fabric"}, check_management_files},
    {{"pod-memlock", Layer::pod, "locked memory and CAP_IPC_LOCK of its processes"}, check_pod_memlock},
    {{"pod-shm", Layer::pod, "size of /dev/shm"}, check_pod_shm},
};

} // namespace

std::span<const Check> pod_program_checks() {
    return kPodProgramChecks;
}

} // namespace rdmanet::doctor
