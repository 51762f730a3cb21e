// Libraries in the images of one pod that drive its RDMA devices.
#include "checks.hpp"
#include "files.hpp"
#include "pod_view.hpp"
#include "processes.hpp"

#include <rdmanet/base/deadline.hpp>
#include <rdmanet/kernel/netns.hpp>
#include <rdmanet/kernel/rdma.hpp>

#include <rdma/ib_user_ioctl_verbs.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rdmanet::doctor {
namespace {

using inventory::Interface;

constexpr std::string_view kLibraries[] = {"/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64",
                                           "/usr/lib"};

bool has_library(const std::string& process, std::string_view name) {
    return std::any_of(std::begin(kLibraries), std::end(kLibraries), [&](std::string_view directory) {
        return image_has(process, fmt::format("{}/{}", directory, name));
    });
}

struct Provider {
    std::uint32_t driver; // enum rdma_driver_id
    std::string_view name;
};
/// The library of a driver is libNAME-rdmavN.so (rdma-core, providers). Drivers that share a number have two.
constexpr Provider kProviders[] = {
    {RDMA_DRIVER_MLX5, "mlx5"},      {RDMA_DRIVER_MLX4, "mlx4"},       {RDMA_DRIVER_CXGB4, "cxgb4"},
    {RDMA_DRIVER_MTHCA, "mthca"},    {RDMA_DRIVER_BNXT_RE, "bnxt_re"}, {RDMA_DRIVER_OCRDMA, "ocrdma"},
    {RDMA_DRIVER_IRDMA, "irdma"},    {RDMA_DRIVER_I40IW, "i40iw"},     {RDMA_DRIVER_VMW_PVRDMA, "vmw_pvrdma"},
    {RDMA_DRIVER_QEDR, "qedr"},      {RDMA_DRIVER_HNS, "hns"},         {RDMA_DRIVER_RXE, "rxe"},
    {RDMA_DRIVER_HFI1, "hfi1verbs"}, {RDMA_DRIVER_QIB, "ipathverbs"},  {RDMA_DRIVER_EFA, "efa"},
    {RDMA_DRIVER_SIW, "siw"},        {RDMA_DRIVER_ERDMA, "erdma"},
};

/// Names of libraries for the interface's device: "libmlx5-rdmav". Empty if the driver is not known here.
std::vector<std::string> libraries_for(const Context& context, const Interface& interface) {
    const std::size_t place = interface.is_shared ? 0 : *context.pod;
    const auto netns = kernel::get_netns(context.inventory.namespaces[place].path);
    auto rdma = kernel::Socket::find_rdma_in(netns, base::Deadline::in(std::chrono::seconds(1)));
    const auto device = rdma ? kernel::find_rdma_device(*rdma, interface.rdma_device) : std::nullopt;
    const auto driver = device ? kernel::find_verbs_driver(*rdma, device->index) : std::nullopt;
    std::vector<std::string> names;
    for (const Provider& each : kProviders)
        if (driver == each.driver) names.push_back(fmt::format("lib{}-rdmav", each.name));
    return names;
}

/// The providers that libibverbs of an image can load.
struct Providers {
    std::vector<std::string> names; // "libmlx5-rdmav34.so"
    bool has_path = false;          // the configuration names one by its path, which is not looked for

    /// `libraries` as from libraries_for().
    [[nodiscard]] bool has_any_of(const std::vector<std::string>& libraries) const {
        return std::ranges::any_of(names, [&](const std::string& name) {
            return std::ranges::any_of(libraries,
                                       [&](const std::string& library) { return name.starts_with(library); });
        });
    }
};

/// Throws base::Error if a directory has too many names: an image can have millions of them.
void read_directories(const std::string& process, Providers& providers) {
    std::size_t left = 20'000;
    for (const std::string_view directory : kLibraries)
        for (const std::string& place : {std::string(directory), fmt::format("{}/libibverbs", directory)}) {
            const std::vector<std::string> names = names_in_image(process, place, left);
            left -= names.size();
            std::ranges::copy_if(names, std::back_inserter(providers.names), [](const std::string& name) {
                return name.starts_with("lib") && name.find("-rdmav") != std::string::npos && name.ends_with(".so");
            });
        }
}

/// Whether a line is "driver /PATH": libibverbs adds "-rdmavN.so" to it.
bool names_path(const std::string& line) {
    constexpr std::string_view kKey = "driver";
    constexpr const char* kBlanks = " \t";
    const std::size_t begin = line.find_first_not_of(kBlanks);
    if (begin == std::string::npos || line.compare(begin, kKey.size(), kKey) != 0) return false;
    const std::size_t value = line.find_first_not_of(kBlanks, begin + kKey.size());
    return value != std::string::npos && value > begin + kKey.size() && line[value] == '/';
}

void read_configuration(const std::string& process, Providers& providers) {
    constexpr std::string_view kDirectory = "/etc/libibverbs.d";
    constexpr std::size_t kMostFiles = 100;
    for (const std::string& name : names_in_image(process, std::string(kDirectory), kMostFiles)) {
        const base::UniqueFd file = open_in_image(process, fmt::format("{}/{}", kDirectory, name));
        const auto lines = file ? lines_of(fmt::format("/proc/self/fd/{}", file.get())) : std::vector<std::string>();
        providers.has_path = providers.has_path || std::ranges::any_of(lines, names_path);
    }
}

/// libibverbs loads providers from its own directory, from the system's directories (old versions have them there), and
/// by a path in /etc/libibverbs.d (rdma-core, libibverbs/dynamic_driver.c).
Providers providers_of(const std::string& process) {
    Providers providers;
    read_directories(process, providers);
    read_configuration(process, providers);
    return providers;
}

void check_image(const Context& context, const Interface& interface, const std::string& subject,
                 const std::string& process, const Providers& providers, Findings& found) {
    constexpr const char* kFix = "install the package ibverbs-providers (Debian) or libibverbs (Fedora) in the image";
    if (providers.has_path) return;
    if (providers.names.empty()) {
        found.failure(subject,
                      fmt::format("the image of {} has libibverbs without a provider, so it finds no device",
                                  name_of_process(process)),
                      kFix);
        return;
    }
    const std::vector<std::string> libraries = libraries_for(context, interface);
    if (!libraries.empty() && !providers.has_any_of(libraries))
        found.failure(
            subject,
            fmt::format("the image of {} has providers of libibverbs, but not that of {} ({}*.so), so it does "
                        "not find the device",
                        name_of_process(process), interface.rdma_device, libraries.front()),
            kFix);
}

/// The first image that has libibverbs: others may be linked statically.
void check_pod_provider(const Context& context, Findings& found) {
    const std::vector<std::string> processes = processes_of(context);
    const auto process =
        std::ranges::find_if(processes, [](const std::string& each) { return has_library(each, "libibverbs.so.1"); });
    if (process == processes.end()) return;
    const Providers providers = providers_of(*process);
    for_each_interface(context, [&](const Interface& interface, const std::string& subject) {
        if (!interface.rdma_device.empty() && !found.has_failed(subject))
            check_image(context, interface, subject, *process, providers, found);
    });
}

constexpr Check kPodProviderChecks[] = {
    {{"pod-provider", Layer::pod, "provider libraries in the image"}, check_pod_provider},
};

} // namespace

std::span<const Check> pod_provider_checks() {
    return kPodProviderChecks;
}

} // namespace rdmanet::doctor
