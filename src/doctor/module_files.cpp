// Files of modules: those that networks need later, and those that changed since they were loaded.
#include "build_id.hpp"
#include "checks.hpp"
#include "distribution.hpp"
#include "files.hpp"
#include "modules.hpp"

#include <rdmanet/base/error.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/config/config.hpp>

#include <algorithm>
#include <set>

namespace rdmanet::doctor {
namespace {

/// Which package of the running kernel has the modules that its smallest one leaves out.
std::string package_fix(const Context& context) {
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

/// Whether a file of this node has a network of rdmanet of this kind. Definitions of the cluster are for other nodes,
/// too, and are not asked for here.
bool has_network_of(const Context& context, std::string_view kind) {
    const auto files = list_network_files(context.root);
    return std::ranges::any_of(files, [&](const NetworkFile& file) {
        return file.text.find(config::kPluginName) != std::string::npos &&
               file.text.find(fmt::format("\"{}\"", kind)) != std::string::npos;
    });
}

struct ChildModule {
    std::string_view module;
    std::string_view kind; // "attach" of networks
};

/// Networks load these when a pod first needs one. In mode exclusive, children of an interface have no RDMA.
std::vector<ChildModule> modules_for_children(const Context& context) {
    std::vector<ChildModule> modules;
    if (context.inventory.mode() == kernel::RdmaNetnsMode::shared)
        modules = {{"macvlan", "macvlan"}, {"ipvlan", "ipvlan"}};
    if (has_infiniband(context)) modules.push_back({"ib_ipoib", "ipoib"});
    return modules;
}

std::string describe_missing(const Context& context, const std::vector<std::string>& modules) {
    return fmt::format("kernel {} has no module {}: ADD of networks that need it fails", context.inventory.kernel,
                       base::join(modules, " and no module "));
}

void check_child_modules(const Context& context, Findings& found) {
    std::vector<ChildModule> wanted = modules_for_children(context);
    std::erase_if(wanted, [&](const ChildModule& each) { return is_loaded(context, each.module); });
    if (wanted.empty() || found.count_of("module-dir") != 0) return;
    const ModuleFiles files(context);
    std::vector<std::string> used;
    std::vector<std::string> unused;
    for (const ChildModule& each : wanted)
        if (!files.find(each.module)) (has_network_of(context, each.kind) ? used : unused).emplace_back(each.module);
    if (!used.empty()) found.warning("", describe_missing(context, used), package_fix(context));
    if (!unused.empty()) found.info("", describe_missing(context, unused), package_fix(context));
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

/// Reports modules whose files are of another build.
void report_stale(const Context& context, const std::vector<std::string>& stale, Findings& found) {
    const std::string names = base::join(stale);
    found.warning("",
                  stale.size() == 1 ? fmt::format("the file of {} is not the build that is loaded: modules that are "
                                                  "loaded later may not fit",
                                                  names)
                                    : fmt::format("the files of {} are not the builds that are loaded: modules that "
                                                  "are loaded later may not fit",
                                                  names),
                  fmt::format("{}, because the initramfs may load the old ones again, then reboot; or unload and load "
                              "all RDMA modules while no pod uses RDMA",
                              initramfs_command(distribution_of(context))));
}

/// A package for the same release of the kernel, or a build of DKMS, replaces files while the modules run. Those that
/// are loaded later come from the new files, and may not fit.
void check_stale_modules(const Context& context, Findings& found) {
    if (found.count_of("module-dir") != 0) return;
    const ModuleFiles files(context);
    std::vector<std::string> stale;
    std::size_t compared = 0;
    std::size_t compressed = 0; // "mlx5_ib.ko.xz"
    for (const std::string& module : modules_that_run(context)) {
        const std::string running =
            content_of(context.path(fmt::format("/sys/module/{}/notes/.note.gnu.build-id", module)));
        const auto file = files.find(module);
        if (running.empty() || !file) continue;
        if (!file->ends_with(".ko")) ++compressed;
        const auto on_disk = build_id_in(context.path(*file));
        if (!on_disk) continue;
        ++compared;
        if (*on_disk != running) stale.push_back(module);
    }
    if (!stale.empty()) report_stale(context, stale, found);
    if (compared == 0 && compressed != 0) throw base::Error("modules are compressed, so builds are not compared");
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
