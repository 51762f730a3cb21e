// One pod, seen from the node.
#include "checks.hpp"
#include "files.hpp"
#include "processes.hpp"

#include <rdmanet/base/text.hpp>
#include <rdmanet/kernel/netns.hpp>

#include <sys/statvfs.h>

namespace rdmanet::doctor {
namespace {

using inventory::Interface;

std::string subject_of_interface(const Context& context, const Interface& interface) {
    return fmt::format("{} {}", context.inventory.namespaces[*context.pod].to_string(), interface.net.name);
}

template <class Visit>
void for_each_interface(const Context& context, const Visit& visit) {
    for (const Interface& interface : context.inventory.interfaces)
        if (interface.net.place == *context.pod) visit(interface, subject_of_interface(context, interface));
}

/// The processes in the pod's network namespace. The pause container's is one of them.
std::vector<std::string> processes_of(const Context& context) {
    std::vector<std::string> found = list_processes(context);
    const std::string wanted = fmt::format("net:[{}]", context.inventory.namespaces[*context.pod].inode);
    std::erase_if(
        found, [&](const std::string& process) { return link_target_of(fmt::format("{}/ns/net", process)) != wanted; });
    return found;
}

std::string name_of_process(const std::string& process) {
    return fmt::format("process {} ({})", process.substr(process.rfind('/') + 1), program_of(process));
}

void check_pod_interface(const Context& context, Findings& found) {
    bool any = false;
    for_each_interface(context, [&](const Interface& interface, const std::string& subject) {
        any = true;
        if (!interface.net.is_up)
            found.failure(
                subject, "the interface is down",
                fmt::format("`ip link set {} up` in the pod, or delete the pod", base::shell_word(interface.net.name)));
        else if (!interface.net.has_carrier)
            found.failure(subject, "the interface has no carrier", "bring the parent or PF up, and check its cable");
        if (interface.addresses.empty() && !interface.network.empty())
            found.warning(subject, "the interface has no address", "give the network an \"ipam\"");
    });
    if (!any)
        found.failure(context.inventory.namespaces[*context.pod].to_string(),
                      "the pod has no interface that can use RDMA",
                      "give the pod the annotation k8s.v1.cni.cncf.io/networks with a network of rdmanet");
}

/// Only IPv6 has duplicate address detection in the kernel (RFC 4862, section 5.4).
void check_pod_addresses(const Context& context, Findings& found) {
    for_each_interface(context, [&](const Interface& interface, const std::string& subject) {
        for (const base::IpAddress& address : interface.duplicates)
            found.failure(subject, fmt::format("another host has {}, so the kernel does not use it here", address),
                          "look for two ranges that overlap, or a host with an address of the range: \"exclude\" it, "
                          "then delete the pod");
    });
}

void check_pod_rdma(const Context& context, Findings& found) {
    for_each_interface(context, [&](const Interface& interface, const std::string& subject) {
        if (interface.rdma_device.empty())
            found.failure(subject, "no RDMA device carries the interface's packets",
                          "use a parent or device that `rdma link` shows");
        else if (interface.is_shared && context.inventory.mode == kernel::RdmaNetnsMode::exclusive)
            found.failure(subject,
                          fmt::format("RDMA device {} is on the host, and in mode exclusive the pod cannot see it",
                                      interface.rdma_device),
                          "use a network with \"attach\": \"sriov\", or a node in mode shared");
    });
}

void check_pod_gids(const Context& context, Findings& found) {
    for_each_interface(context, [&](const Interface& interface, const std::string& subject) {
        if (interface.rdma_device.empty() || found.has_failed(subject)) return;
        for (const base::IpPrefix& address : interface.addresses) {
            const bool has =
                std::any_of(interface.gids.begin(), interface.gids.end(), [&](const kernel::GidEntry& gid) {
                    return gid.netdev.empty() ||
                           (gid.address == address.address() && gid.type == kernel::GidType::roce_v2);
                });
            if (!has)
                found.failure(subject,
                              fmt::format("{} has no GID of RoCE v2 on {}:{}", address.address(), interface.rdma_device,
                                          interface.rdma_port),
                              "the GID table may be full: `rdmanet inventory` counts it; else delete the pod");
        }
    });
}

/// Containers need the RDMA device's files in their own /dev. A device plugin gives them.
void check_pod_files(const Context& context, Findings& found) {
    const std::vector<std::string> processes = processes_of(context);
    for_each_interface(context, [&](const Interface& interface, const std::string& subject) {
        if (interface.files.empty() || found.has_failed(subject)) return;
        const std::string& file = interface.files.front();
        const bool any = std::any_of(processes.begin(), processes.end(), [&](const std::string& process) {
            return image_has(process, fmt::format("/dev/infiniband/{}", file));
        });
        if (!processes.empty() && !any)
            found.failure(subject, fmt::format("no container of the pod has /dev/infiniband/{}", file),
                          "request the resource of the RDMA device plugin in the pod's \"resources\"");
    });
}

void check_pod_memlock(const Context& context, Findings& found) {
    constexpr std::uint64_t kLittle = 64ULL << 20U; // perftest fails at 1 MiB, NCCL needs some ten MiB
    for (const std::string& process : processes_of(context)) {
        const auto limit = locked_memory_of(process);
        if (!limit || *limit >= kLittle || program_of(process) == "pause") continue;
        const auto own_users = has_own_users(context, process);
        if (!own_users || may_pin_any(context, process).value_or(true)) continue;
        found.failure(
            context.inventory.namespaces[*context.pod].to_string(),
            fmt::format("{} can lock {} bytes of memory and has no CAP_IPC_LOCK{}, so larger registrations fail with "
                        "\"Cannot allocate memory\"",
                        name_of_process(process), *limit, *own_users ? " outside of its user namespace" : ""),
            *own_users ? "set \"hostUsers\": true for the pod, or raise the runtime's LimitMEMLOCK"
                       : "add the capability IPC_LOCK to the container and run it as root, or raise the runtime's "
                         "LimitMEMLOCK");
        return;
    }
}

constexpr std::string_view kLibraries[] = {"/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64",
                                           "/usr/lib"};

bool has_library(const std::string& process, std::string_view name) {
    return std::any_of(std::begin(kLibraries), std::end(kLibraries), [&](std::string_view directory) {
        return image_has(process, fmt::format("{}/{}", directory, name));
    });
}

bool has_provider(const std::string& process) {
    return std::any_of(std::begin(kLibraries), std::end(kLibraries), [&](std::string_view directory) {
        return !names_in_image(process, fmt::format("{}/libibverbs", directory)).empty();
    });
}

/// libibverbs loads libNAME-rdmav34.so for the driver from a directory of the image.
void check_pod_provider(const Context& context, Findings& found) {
    const std::vector<std::string> processes = processes_of(context);
    for_each_interface(context, [&](const Interface& interface, const std::string& subject) {
        if (interface.rdma_device.empty() || found.has_failed(subject)) return;
        for (const std::string& process : processes) {
            if (!has_library(process, "libibverbs.so.1")) continue; // or linked statically
            if (!has_provider(process))
                found.failure(subject,
                              fmt::format("the image of {} has libibverbs without a provider, so it finds no device",
                                          name_of_process(process)),
                              "install the package ibverbs-providers (Debian) or libibverbs (Fedora) in the image");
            return;
        }
    });
}

void check_pod_shm(const Context& context, Findings& found) {
    constexpr std::uint64_t kDefault = 64ULL << 20U; // of container runtimes
    for (const std::string& process : processes_of(context)) {
        struct statvfs status {};
        const base::UniqueFd directory = open_in_image(process, "/dev/shm");
        if (!directory || ::fstatvfs(directory.get(), &status) != 0) continue;
        // A file system without blocks has no limit. Runtimes give the container "pause" another one than the others.
        if (status.f_blocks == 0 || program_of(process) == "pause") continue;
        if (static_cast<std::uint64_t>(status.f_blocks) * status.f_frsize > kDefault) continue;
        found.info(context.inventory.namespaces[*context.pod].to_string(),
                   fmt::format("/dev/shm of {} has 64 MiB or less, and NCCL needs more", name_of_process(process)),
                   "mount an emptyDir with \"medium\": \"Memory\" on /dev/shm");
        return;
    }
}

constexpr Check kPodChecks[] = {
    {{"pod-interface", Layer::pod, "interfaces of the pod: up, carrier, address"}, check_pod_interface},
    {{"pod-addresses", Layer::pod, "addresses that another host has, too"}, check_pod_addresses},
    {{"pod-rdma", Layer::pod, "RDMA device behind each interface"}, check_pod_rdma},
    {{"pod-gids", Layer::pod, "GID of each address"}, check_pod_gids},
    {{"pod-device-files", Layer::pod, "/dev/infiniband in the containers"}, check_pod_files},
    {{"pod-memlock", Layer::pod, "locked memory and CAP_IPC_LOCK of its processes"}, check_pod_memlock},
    {{"pod-provider", Layer::pod, "provider libraries in the image"}, check_pod_provider},
    {{"pod-shm", Layer::pod, "size of /dev/shm"}, check_pod_shm},
};

} // namespace

std::span<const Check> pod_checks() {
    return kPodChecks;
}

} // namespace rdmanet::doctor
