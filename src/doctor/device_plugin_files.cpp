// The configurations of device plugins that run here, and the devices that this node has for them.
#include "checks.hpp"
#include "lists.hpp"
#include "node_programs.hpp"
#include "processes.hpp"
#include "selectors.hpp"

#include <rdmanet/base/error.hpp>
#include <rdmanet/base/file.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rdmanet::doctor {
namespace {

using Devices = std::vector<const inventory::Device*>;

struct Plugin {
    PluginKind kind;
    std::string_view program;
    std::string_view file; // unless the option names another
};
constexpr Plugin kPlugins[] = {
    {PluginKind::sriov, "sriovdp", "/etc/pcidp/config.json"},
    {PluginKind::shared, "k8s-rdma-shared-dp", "/k8s-rdma-shared-dev-plugin/config.json"},
};

/// The kernel cuts a process's name (TASK_COMM_LEN, linux/sched.h).
const Plugin* plugin_of(const std::string& process) {
    constexpr std::size_t kMost = 15;
    const std::string program = program_of(process);
    for (const Plugin& plugin : kPlugins)
        if (plugin.program.substr(0, kMost) == program) return &plugin;
    return nullptr;
}

/// Throws base::Error if there is none, or it must not be read.
std::string text_in_image(const std::string& process, const std::string& file) {
    constexpr std::size_t kMost = std::size_t{1} << 20U;
    const base::UniqueFd found = open_in_image(process, file);
    const auto text =
        found ? base::read_named_file_if_exists(fmt::format("/proc/self/fd/{}", found.get()), kMost) : std::nullopt;
    if (!text) throw base::Error(fmt::format("there is no file {} in its image", file));
    return *text;
}

/// A finding if the plugin cannot understand its file either.
std::vector<Pool> pools_of(const Plugin& plugin, const std::string& process, Findings& found) {
    const std::string file = option_of(process, {"config-file"}).value_or(std::string(plugin.file));
    const std::string text = text_in_image(process, file);
    try {
        return list_pools(plugin.kind, text);
    } catch (const base::Error& error) {
        found.warning("", fmt::format("{} cannot read its file {}: {}", plugin.program, file, error.what()),
                      "correct it in the plugin's ConfigMap, then delete the plugin's pod of this node");
        return {};
    }
}

/// The first selector that excludes all devices, and the devices that were there for it.
struct Exclusion {
    Selector selector;
    Devices before;
};

std::optional<Exclusion> exclusion_of(const Context& context, Devices devices, const std::vector<Selector>& selectors) {
    for (const Selector& selector : selectors) {
        Devices left;
        for (const inventory::Device* device : devices)
            if (matches(context, *device, selector)) left.push_back(device);
        if (left.empty()) return Exclusion{.selector = selector, .before = std::move(devices)};
        devices = std::move(left);
    }
    return std::nullopt;
}

/// If all choices exclude all devices: how the first choice does so.
std::optional<Exclusion> exclusion_of(const Context& context, const Devices& candidates, const Pool& pool) {
    std::optional<Exclusion> first;
    for (const auto& selectors : pool.choices) {
        auto exclusion = exclusion_of(context, candidates, selectors);
        if (!exclusion) return std::nullopt;
        if (!first) first = std::move(exclusion);
    }
    return first;
}

/// A new driver gives a port's number to the name: enp3s0f0 becomes enp3s0f0np0.
bool is_renamed(const std::string& value, const std::string& present) {
    const std::string name = value.substr(0, value.find('#'));
    const std::string other = present.substr(0, present.find('#'));
    return name != other && (name.starts_with(other + "np") || other.starts_with(name + "np"));
}

bool has_renamed(const Exclusion& exclusion, const std::vector<std::string>& present) {
    const auto& values = exclusion.selector.values;
    return std::ranges::any_of(values, [&](const std::string& value) {
        return std::ranges::any_of(present, [&](const std::string& other) { return is_renamed(value, other); });
    });
}

std::string reason_of(const Exclusion& exclusion, const std::vector<std::string>& present) {
    if (exclusion.selector.trait == Trait::rdma) return "none of its devices has RDMA here";
    return fmt::format("{} {}: this node has {}", exclusion.selector.key, list_of(exclusion.selector.values),
                       present.empty() ? "none" : list_of(present));
}

struct Empty {
    const Pool* pool;
    Exclusion exclusion;
};

/// One ConfigMap often serves nodes with other NICs. If another resource has devices, this may be meant.
void report(const Context& context, const Plugin& plugin, const Empty& empty, bool is_only_some, Findings& found) {
    const auto present = values_of(context, empty.exclusion.before, empty.exclusion.selector.trait);
    const std::string what = fmt::format("resource {} of {} has no device on this node: {}", empty.pool->resource,
                                         plugin.program, reason_of(empty.exclusion, present));
    const std::string fix = fmt::format(
        "correct \"{}\" of resource {} in the plugin's ConfigMap (`kubectl get configmaps -A`), and restart "
        "its pod on this node",
        empty.exclusion.selector.key, empty.pool->resource);
    if (is_only_some && !has_renamed(empty.exclusion, present))
        found.info("", what, fmt::format("if pods shall get it here, {}", fix));
    else
        found.warning("", what, fix);
}

/// A process can take any name and file, so what it can say is limited.
void check_plugin(const Context& context, const Plugin& plugin, const std::string& process, Findings& found) {
    constexpr std::size_t kMost = 8;
    const Devices candidates = list_candidates(plugin.kind, context);
    if (candidates.empty()) return;
    const auto pools = pools_of(plugin, process, found);
    std::vector<Empty> empty;
    for (const Pool& pool : pools)
        if (auto exclusion = exclusion_of(context, candidates, pool))
            empty.push_back({.pool = &pool, .exclusion = std::move(*exclusion)});
    for (std::size_t number = 0; number < std::min(kMost, empty.size()); ++number)
        report(context, plugin, empty[number], empty.size() < pools.size(), found);
    if (empty.size() > kMost)
        found.info(
            "",
            fmt::format("{} more resources of {} have no device on this node", empty.size() - kMost, plugin.program),
            fmt::format("`tr '\\0' ' ' <{}/cmdline` shows which file the plugin reads", process));
}

/// The plugins run as root of the host. A process of another user with such a name is none of them.
void check_device_plugins(const Context& context, Findings& found) {
    std::vector<std::string> processes;
    for (const std::string& process : list_processes(context))
        if (plugin_of(process) != nullptr && is_of_root(context, process)) processes.push_back(process);
    if (processes.empty())
        throw base::Error(fmt::format("neither {} nor {} runs here", kPlugins[0].program, kPlugins[1].program));
    look_at_each(processes, [&](const std::string& process) {
        if (const Plugin* plugin = plugin_of(process)) check_plugin(context, *plugin, process, found);
    });
}

constexpr Check kDevicePluginChecks[] = {
    {{"device-plugins", Layer::cluster, "selectors of device plugins, and the devices of this node"},
     check_device_plugins},
};

} // namespace

std::span<const Check> device_plugin_checks() {
    return kDevicePluginChecks;
}

} // namespace rdmanet::doctor
