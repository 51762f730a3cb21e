// The kernel's modules and drivers.
#include "checks.hpp"
#include "files.hpp"
#include "modules.hpp"

#include <algorithm>
#include <set>

namespace rdmanet::doctor {
namespace {

std::string_view rdma_driver_of(std::string_view net) {
    for (const DriverPair& pair : kDrivers)
        if (pair.net == net) return pair.rdma;
    return {};
}

void check_module_directory(const Context& context, Findings& found) {
    const std::string directory = fmt::format("/lib/modules/{}", context.inventory.kernel);
    if (exists(context.path("/lib/modules")) && !exists(context.path(directory)))
        found.warning("",
                      fmt::format("the running kernel {} has no modules in {}, so no driver can be loaded",
                                  context.inventory.kernel, directory),
                      "reboot into the kernel that is installed");
}

void check_driver(const Context& context, Findings& found) {
    for (const inventory::Device& device : context.inventory.devices)
        if (device.pci && device.pci->driver.empty() && !device.pci->pf)
            found.warning(subject_of(device), fmt::format("it ({}) has no driver", device.pci->id_text()),
                          fmt::format("`echo {} >/sys/bus/pci/drivers_probe` binds it if its driver is loaded; "
                                      "otherwise load the driver, and look into `dmesg` for why it refused the NIC",
                                      *device.address));
}

void check_rdma_driver(const Context& context, Findings& found) {
    for (const inventory::Device& device : context.inventory.devices) {
        const std::string_view wanted = device.pci ? rdma_driver_of(device.pci->driver) : std::string_view();
        if (wanted.empty() || !device.rdma.empty() || is_loaded(context, wanted)) continue;
        found.failure(
            subject_of(device),
            fmt::format("it has driver {} and no RDMA device, because {} is not loaded", device.pci->driver, wanted),
            fmt::format("`modprobe {}`", wanted));
    }
}

void check_core_modules(const Context& context, Findings& found) {
    if (!is_loaded(context, "ib_core")) {
        found.failure("", "ib_core is not loaded, so the kernel has no RDMA",
                      "load the NIC's RDMA driver, for example `modprobe mlx5_ib`");
        return;
    }
    if (!is_loaded(context, "ib_uverbs"))
        found.failure("", "ib_uverbs is not loaded, so programs have no /dev/infiniband/uverbs files",
                      "`modprobe ib_uverbs`; the package rdma-core loads it at boot");
    if (!is_loaded(context, "rdma_ucm"))
        found.warning(
            "", "rdma_ucm is not loaded, so /dev/infiniband/rdma_cm is missing and programs that use RDMA CM fail",
            "`modprobe rdma_ucm`; the package rdma-core loads it at boot");
    if (!has_infiniband(context)) return;
    if (!is_loaded(context, "ib_umad"))
        found.warning("", "ib_umad is not loaded, so InfiniBand management programs have no umad files",
                      "`modprobe ib_umad`");
    if (!is_loaded(context, "ib_ipoib"))
        found.failure("", "ib_ipoib is not loaded, so InfiniBand ports have no interfaces", "`modprobe ib_ipoib`");
}

/// A module of OFED names its version in sysfs; those of the kernel have had none since Linux 5.x.
void check_stack_origin(const Context& context, Findings& found) {
    const auto version = [&](std::string_view module) {
        return line_of(context.path(fmt::format("/sys/module/{}/version", module)));
    };
    std::set<std::string_view> seen; // two drivers may have one RDMA driver
    for (const DriverPair& pair : kDrivers) {
        const std::string theirs = version(pair.rdma);
        if (theirs.empty() || !seen.insert(pair.rdma).second || !exists(context.path("/sys/module/ib_core")) ||
            exists(context.path("/sys/module/mlx_compat")))
            continue;
        found.warning(
            "", fmt::format("{} {} is not the kernel's own, and ib_core is: the two may not fit", pair.rdma, theirs),
            "install all RDMA modules from one source: the kernel's, or all of the vendor's");
    }
}

/// The network operator's driver container mounts its files here.
bool has_driver_container(const Context& context) {
    return !names_in(context.path("/run/mellanox/drivers")).empty();
}

/// Whether a list of modules to load at boot has it (modules-load.d(5)). modprobe takes '-' for '_'.
bool names_module(const std::string& file, std::string_view module) {
    for (std::string line : lines_of(file)) {
        std::ranges::replace(line, '-', '_');
        const std::size_t begin = line.find_first_not_of(" \t");
        if (begin == std::string::npos || line[begin] == '#' || line[begin] == ';') continue;
        if (line.substr(begin, line.find_first_of(" \t\r", begin) - begin) == module) return true;
    }
    return false;
}

/// The package rdma-core loads modules with a rule of udev (Debian's 90-rdma-hw-modules.rules), OFED with a service, a
/// driver container by itself.
bool has_loader_at_boot(const Context& context) {
    for (const char* rules : {"/usr/lib/udev/rules.d", "/lib/udev/rules.d", "/etc/udev/rules.d"})
        if (exists(context.path(fmt::format("{}/90-rdma-hw-modules.rules", rules)))) return true;
    return exists(context.path("/etc/infiniband/openib.conf")) || has_driver_container(context);
}

void check_modules_at_boot(const Context& context, Findings& found) {
    constexpr std::string_view kModule = "rdma_ucm"; // no driver needs it, so none loads it
    if (!exists(context.path("/sys/module/rdma_ucm")) || has_loader_at_boot(context)) return;
    if (names_module(context.path("/etc/modules"), kModule)) return;
    for (const char* directory : {"/etc/modules-load.d", "/run/modules-load.d", "/usr/local/lib/modules-load.d",
                                  "/usr/lib/modules-load.d", "/lib/modules-load.d"})
        for (const std::string& file : names_in(context.path(directory)))
            if (names_module(context.path(fmt::format("{}/{}", directory, file)), kModule)) return;
    found.warning("", fmt::format("{} is loaded, and nothing loads it at the next boot", kModule),
                  "install the package rdma-core, or `echo rdma_ucm >/etc/modules-load.d/rdma.conf`");
}

void check_driver_container(const Context& context, Findings& found) {
    if (has_driver_container(context))
        found.info("", "the NIC's drivers are those of a container: RDMA ends on this node when it is deleted",
                   "drain the node before the driver's pod is deleted or replaced");
}

constexpr Check kKernelChecks[] = {
    {{"module-dir", Layer::kernel, "modules of the running kernel"}, check_module_directory},
    {{"driver", Layer::kernel, "driver of each network function"}, check_driver},
    {{"core-modules", Layer::kernel, "ib_core, ib_uverbs, rdma_ucm; for InfiniBand ib_umad and ib_ipoib"},
     check_core_modules},
    {{"rdma-driver", Layer::kernel, "RDMA driver beside each driver, such as mlx5_ib"}, check_rdma_driver},
    {{"stack-origin", Layer::kernel, "modules of the kernel and of a vendor together"}, check_stack_origin},
    {{"modules-at-boot", Layer::kernel, "what loads rdma_ucm at boot"}, check_modules_at_boot},
    {{"driver-container", Layer::kernel, "drivers of a container"}, check_driver_container},
};

} // namespace

std::span<const Check> kernel_checks() {
    return kKernelChecks;
}

} // namespace rdmanet::doctor
