// Files of modules: those that networks need later, and those that changed since they were loaded.
#include "build_id.hpp"
#include "checks.hpp"
#include "distribution.hpp"
#include "files.hpp"
#include "modules.hpp"

#include <rdmanet/base/text.hpp>

#include <set>

namespace rdmanet::doctor {
namespace {

/// Which package of the running kernel has the modules that its smallest one leaves out.
std::string package_cure(const Context& context) {
    const std::string& release = context.inventory.kernel;
    switch (distribution_of(context)) {
    case Distribution::ubuntu: return fmt::format("`apt-get install linux-modules-extra-{}`", release);
    case Distribution::red_hat:
        return fmt::format("`dnf install kernel-modules-{} kernel-modules-extra-{}`", release, release);
    case Distribution::debian:
    case Distribution::other: break;
    }
    return "install the package of the running kernel that has them";
}

/// Networks load these when a pod first needs one. In mode exclusive, children of an interface have no RDMA.
std::vector<std::string_view> modules_for_children(const Context& context) {
    std::vector<std::string_view> modules;
    if (context.inventory.mode() != kernel::RdmaNetnsMode::exclusive) modules = {"macvlan", "ipvlan"};
    if (has_infiniband(context)) modules.emplace_back("ib_ipoib");
    return modules;
}

void check_child_modules(const Context& context, Findings& found) {
    std::vector<std::string_view> wanted = modules_for_children(context);
    std::erase_if(wanted, [&](std::string_view module) { return is_loaded(context, module); });
    if (wanted.empty() || found.count_of("module-dir") != 0) return;
    const ModuleFiles files(context);
    std::vector<std::string> missing;
    for (const std::string_view module : wanted)
        if (!files.find(module)) missing.emplace_back(module);
    if (!missing.empty())
        found.warning("",
                      fmt::format("kernel {} has no module {}: ADD of networks that need it fails",
                                  context.inventory.kernel, base::join(missing, " and no module ")),
                      package_cure(context));
}

/// Those that are loaded, of RDMA and of this node's NICs. Built-in modules have no notes.
std::set<std::string> modules_that_run(const Context& context) {
    std::set<std::string> modules{"ib_core",  "ib_uverbs", "ib_umad", "ib_cm",
                                  "ib_ipoib", "rdma_cm",   "iw_cm",   "rdma_ucm"};
    for (const DriverPair& pair : kDrivers) modules.insert({std::string(pair.net), std::string(pair.rdma)});
    for (const inventory::Device& device : context.inventory.devices)
        if (device.pci && !device.pci->driver.empty() && !device.rdma.empty()) modules.insert(device.pci->driver);
    return modules;
}

/// A package for the same release of the kernel, or a build of DKMS, replaces files while the modules run. Those that
/// are loaded later come from the new files, and may not fit.
void check_stale_modules(const Context& context, Findings& found) {
    if (found.count_of("module-dir") != 0) return;
    const ModuleFiles files(context);
    std::vector<std::string> stale;
    for (const std::string& module : modules_that_run(context)) {
        const std::string running =
            content_of(context.path(fmt::format("/sys/module/{}/notes/.note.gnu.build-id", module)));
        const auto file = files.find(module);
        if (running.empty() || !file) continue;
        if (const auto on_disk = build_id_in(context.path(*file)); on_disk && *on_disk != running)
            stale.push_back(module);
    }
    if (stale.empty()) return;
    const bool is_one = stale.size() == 1;
    found.warning("",
                  fmt::format("{} on disk {} of another build than {}: modules that are loaded later may not fit",
                              base::join(stale), is_one ? "is" : "are",
                              is_one ? "the one that runs" : "those that run"),
                  "reboot, or unload and load all RDMA modules while no pod uses RDMA");
}

constexpr Check kModuleFileChecks[] = {
    {{"child-modules", Layer::kernel, "modules that networks load: macvlan, ipvlan; for InfiniBand ib_ipoib"},
     check_child_modules},
    {{"stale-modules", Layer::kernel, "files of RDMA modules that changed since they were loaded"},
     check_stale_modules},
};

} // namespace

std::span<const Check> module_file_checks() {
    return kModuleFileChecks;
}

} // namespace rdmanet::doctor
