// The configurations of device plugins that run here, and the devices that this node has for them.
#include "checks.hpp"
#include "files.hpp"
#include "lists.hpp"
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

std::vector<std::string> arguments_of(const std::string& process) {
    const std::string text = content_of(fmt::format("{}/cmdline", process));
    std::vector<std::string> arguments;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find('\0', at), text.size());
        arguments.push_back(text.substr(at, end - at));
        at = end + 1;
    }
    return arguments;
}

/// Both are written in Go, whose options begin with one dash or two, and have their value behind "=" or as the next
/// argument.
std::string file_of(const Plugin& plugin, const std::string& process) {
    constexpr std::string_view kOption = "config-file";
    const auto arguments = arguments_of(process);
    for (std::size_t number = 0; number < arguments.size(); ++number) {
        std::string_view argument = arguments[number];
        if (!argument.starts_with('-')) continue;
        argument.remove_prefix(argument.starts_with("--") ? 2 : 1);
        if (!argument.starts_with(kOption)) continue;
        argument.remove_prefix(kOption.size());
        if (argument.starts_with('=')) return std::string(argument.substr(1));
        if (argument.empty() && number + 1 < arguments.size()) return arguments[number + 1];
    }
    return std::string(plugin.file);
}

/// Throws base::Error if there is none, or it must not be read.
std::string text_in_image(const std::string& process, const std::string& file) {
    constexpr std::size_t kMost = std::size_t{1} << 20U;
    const base::UniqueFd found = open_in_image(process, file);
    const auto text =
        found ? base::read_named_file_if_exists(fmt::format("/proc/self/fd/{}", found.get()), kMost) : std::nullopt;
    if (!text) throw base::Error(fmt::format("{} has no file {} in its image", program_of(process), file));
    return *text;
}

std::vector<Pool> pools_of(const Plugin& plugin, const std::string& process) {
    const std::string file = file_of(plugin, process);
    const std::string text = text_in_image(process, file);
    try {
        return list_pools(plugin.kind, text);
    } catch (const base::Error& error) {
        throw base::Error(fmt::format("{} of {}: {}", file, plugin.program, error.what()));
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

/// The exclusion by the first choice, if all choices exclude all devices.
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
    return std::any_of(values.begin(), values.end(), [&](const std::string& value) {
        return std::any_of(present.begin(), present.end(),
                           [&](const std::string& other) { return is_renamed(value, other); });
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
    const std::string cure =
        "correct that in the plugin's ConfigMap (`kubectl get configmaps -A`), and restart its pod "
        "on this node";
    if (is_only_some && !has_renamed(empty.exclusion, present))
        found.info("", what, fmt::format("if pods shall get it here, {}", cure));
    else
        found.warning("", what, cure);
}

/// A process can take any name and file, so what it can say is limited.
void check_plugin(const Context& context, const Plugin& plugin, const std::string& process, Findings& found) {
    constexpr std::size_t kMost = 8;
    const Devices candidates = list_candidates(plugin.kind, context);
    if (candidates.empty()) return;
    const auto pools = pools_of(plugin, process);
    std::vector<Empty> empty;
    for (const Pool& pool : pools)
        if (auto exclusion = exclusion_of(context, candidates, pool))
            empty.push_back({.pool = &pool, .exclusion = std::move(*exclusion)});
    for (std::size_t number = 0; number < std::min(empty.size(), kMost); ++number)
        report(context, plugin, empty[number], empty.size() < pools.size(), found);
    if (empty.size() > kMost)
        found.info(
            "",
            fmt::format("{} more resources of {} have no device on this node", empty.size() - kMost, plugin.program),
            fmt::format("`tr '\\0' ' ' <{}/cmdline` shows which file the plugin reads", process));
}

/// The plugins run as root of the host. A process of another user with such a name is none of them.
void check_device_plugins(const Context& context, Findings& found) {
    bool any = false;
    std::string trouble; // the first one, which must not hide the other plugins
    for (const std::string& process : list_processes(context)) {
        const Plugin* plugin = plugin_of(process);
        if (plugin == nullptr || is_not_root(context, process)) continue;
        any = true;
        try {
            check_plugin(context, *plugin, process, found);
        } catch (const base::Error& error) {
            if (trouble.empty()) trouble = error.what();
        }
    }
    if (!trouble.empty()) throw base::Error(trouble);
    if (!any) throw base::Error(fmt::format("neither {} nor {} runs here", kPlugins[0].program, kPlugins[1].program));
}

constexpr Check kDevicePoolChecks[] = {
    {{"device-plugins", Layer::cluster, "selectors of device plugins, and the devices of this node"},
     check_device_plugins},
};

} // namespace

std::span<const Check> device_pool_checks() {
    return kDevicePoolChecks;
}

} // namespace rdmanet::doctor
