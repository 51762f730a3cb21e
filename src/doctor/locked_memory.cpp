// How much memory the container runtime lets containers lock.
#include "checks.hpp"
#include "node_programs.hpp"
#include "processes.hpp"
#include "runtime_files.hpp"

#include <rdmanet/base/error.hpp>
#include <rdmanet/base/file.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/json/reader.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rdmanet::doctor {
namespace {

constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max();

/// RLIMIT_MEMLOCK of "process.rlimits" in a specification of a container (OCI runtime specification, config.md): the
/// soft limit. nullopt if it has none: then the container inherits the runtime's own. Throws base::Error.
std::optional<std::uint64_t> limit_in_spec(const std::string& path) {
    constexpr std::size_t kMost = std::size_t{1} << 20U;
    const auto text = base::read_named_file_if_exists(path, kMost);
    if (!text) throw base::Error("there is no such file");
    const json::Document document = json::Document::parse(*text);
    const auto process = document.root().find("process");
    const auto limits = process ? process->find("rlimits") : std::nullopt;
    if (!limits) return std::nullopt;
    for (const json::Reader& limit : limits->elements())
        if (limit.at("type").string() == "RLIMIT_MEMLOCK")
            // The largest number, which means no limit, does not fit into integer().
            return base::parse_integer<std::uint64_t>(limit.at("soft").to_text());
    return std::nullopt;
}

constexpr const char* kThenRestart = "restart it, and create the pods again";

/// A runtime that runs here.
struct Runtime {
    std::string program;
    std::string unit; // empty if systemd did not start it
    std::optional<std::uint64_t> own_limit;
    std::vector<RuntimeFile> files;
};

/// "containerd", and "containerd of k3s.service" if another program starts it.
std::string name_of(const Runtime& runtime) {
    if (runtime.unit.empty() || runtime.unit == fmt::format("{}.service", runtime.program)) return runtime.program;
    return fmt::format("{} of {}", runtime.program, runtime.unit);
}

/// `other` is another fix, with a comma behind it.
void report_inherited(const Runtime& runtime, const std::string& who, const std::string& other, Findings& found) {
    const std::string where = runtime.unit.empty() ? fmt::format("in the unit that starts {}", runtime.program)
                                                   : fmt::format("in {0} (`systemctl edit {1}`)", runtime.unit,
                                                                 base::shell_word(runtime.unit));
    found.info("",
               fmt::format("{} runs with a limit of {} bytes of locked memory, which {} inherit", name_of(runtime),
                           *runtime.own_limit, who),
               fmt::format("pods without IPC_LOCK can register no more: set LimitMEMLOCK=infinity {}, {}and {}", where,
                           other, kThenRestart));
}

/// What runtimes without a limit in their specification inherit.
void report_without_limit(const Runtime& runtime, const std::vector<std::string>& handlers, bool is_of_all,
                          const std::string& spec, Findings& found) {
    report_inherited(
        runtime, is_of_all ? "containers" : fmt::format("containers of runtime {}", base::join(handlers, " and ")),
        spec.empty() ? std::string() : fmt::format("or add RLIMIT_MEMLOCK to \"process.rlimits\" in {}, ", spec),
        found);
}

/// Docker's own containerd has no CRI plugin: the kubelet cannot use it. Its name has changed with the version of the
/// file.
bool has_cri(const std::vector<RuntimeFile>& files) {
    for (const RuntimeFile& file : files)
        for (const std::string& plugin : texts_behind(file.text, "disabled_plugins"))
            if (plugin == "cri" || plugin == "io.containerd.grpc.v1.cri" || plugin == "io.containerd.cri.v1.runtime")
                return false;
    return true;
}

void check_containerd(const Context& context, const Runtime& containerd, Findings& found) {
    const auto specs = list_base_specs(containerd.files);
    std::vector<std::string> inheriting;
    std::string spec_of_inheriting;
    for (const auto& [runtime, spec] : specs) {
        std::optional<std::uint64_t> limit;
        try {
            if (!spec.empty()) limit = limit_in_spec(context.path(spec));
        } catch (const base::Error& error) {
            throw base::Error(fmt::format("{}, the base_runtime_spec of {}: {}", spec, runtime, error.what()));
        }
        if (!limit) {
            inheriting.push_back(runtime);
            if (!spec.empty()) spec_of_inheriting = spec;
        } else if (*limit != kUnlimited) {
            found.info("",
                       fmt::format("containers of runtime {} can lock {} bytes of memory: RLIMIT_MEMLOCK in {}",
                                   runtime, *limit, spec),
                       fmt::format("pods without IPC_LOCK can register no more: set its \"soft\" and \"hard\" to {} in "
                                   "that file, then for containerd: {}",
                                   kUnlimited, kThenRestart));
        }
    }
    if (containerd.own_limit && !inheriting.empty())
        report_without_limit(containerd, inheriting, inheriting.size() == specs.size(), spec_of_inheriting, found);
}

/// CRI-O's "default_ulimits" is a list of "NAME=SOFT:HARD". -1 is no limit. The last file that has the key counts.
void check_crio(const Runtime& crio, Findings& found) {
    constexpr std::string_view kName = "memlock=";
    std::string file;
    std::string setting;
    for (const RuntimeFile& each : crio.files) {
        const auto limits = texts_behind(each.text, "default_ulimits");
        if (limits.empty()) continue;
        file = each.path;
        const auto at =
            std::ranges::find_if(limits, [&](const std::string& limit) { return limit.starts_with(kName); });
        setting = at == limits.end() ? std::string() : at->substr(kName.size());
    }
    const std::string soft = setting.substr(0, setting.find(':'));
    if (soft == "-1") return;
    if (const auto limit = base::parse_integer<std::uint64_t>(soft); limit && *limit != kUnlimited)
        found.info("", fmt::format("containers can lock {} bytes of memory: default_ulimits in {}", *limit, file),
                   fmt::format("pods without IPC_LOCK can register no more: set \"memlock=-1:-1\" in that file, then "
                               "for CRI-O: {}",
                               kThenRestart));
    else if (!limit && crio.own_limit)
        report_inherited(crio, "containers",
                         fmt::format("or add \"memlock=-1:-1\" to default_ulimits in {}, ",
                                     file.empty() ? "/etc/crio/crio.conf.d/10-memlock.conf" : file),
                         found);
}

/// False if no pod can be started by it.
bool examine(const Context& context, const std::string& process, Findings& found) {
    const Runtime runtime{.program = program_of(process),
                          .unit = unit_of(process),
                          .own_limit = locked_memory_of(process),
                          .files = list_files_of(context, process)};
    if (runtime.program == "crio") {
        check_crio(runtime, found);
        return true;
    }
    if (!has_cri(runtime.files)) return false;
    check_containerd(context, runtime, found);
    return true;
}

/// A node may have a containerd of Docker beside that of its pods. One in a pod is not of this node's pods.
void check_memlock(const Context& context, Findings& found) {
    std::vector<std::string> processes;
    for (const std::string& process : list_processes(context)) {
        const std::string program = program_of(process);
        if ((program == "containerd" || program == "crio") && is_of_root(context, process) && !is_in_pod(process))
            processes.push_back(process);
    }
    bool any = processes.empty();
    look_at_each(processes, [&](const std::string& process) { any = examine(context, process, found) || any; });
    if (!any)
        throw base::Error("containerd runs without its CRI plugin (disabled_plugins), so it is not known what limits "
                          "containers");
}

constexpr Check kLockedMemoryChecks[] = {
    {{"memlock", Layer::runtime, "how much memory the container runtime lets containers lock"}, check_memlock},
};

} // namespace

std::span<const Check> locked_memory_checks() {
    return kLockedMemoryChecks;
}

} // namespace rdmanet::doctor
