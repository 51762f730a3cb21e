// How much memory the container runtime lets containers lock.
#include "checks.hpp"
#include "files.hpp"
#include "processes.hpp"
#include "runtime_files.hpp"

#include <rdmanet/base/error.hpp>
#include <rdmanet/base/file.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/json/reader.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
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

/// `plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc` is of runc. Empty for tables of other things, and
/// for those inside, such as its options.
std::string runtime_of(const Table& table) {
    constexpr std::string_view kPart = ".runtimes.";
    const std::size_t at = table.name.find(kPart);
    if (at == std::string::npos) return {};
    std::string name = table.name.substr(at + kPart.size());
    if (name.find('.') != std::string::npos) return {};
    std::erase_if(name, [](char c) { return c == '"' || c == '\''; });
    return name;
}

/// The base_runtime_spec of each runtime; empty for one without.
std::map<std::string, std::string> list_specs(const std::vector<RuntimeFile>& files) {
    std::map<std::string, std::string> specs;
    for (const RuntimeFile& file : files)
        for (const Table& table : tables_of(file.text)) {
            const std::string runtime = runtime_of(table);
            if (runtime.empty()) continue;
            std::string& spec = specs[runtime];
            if (const auto texts = texts_behind(table.text, "base_runtime_spec"); !texts.empty()) spec = texts.back();
        }
    if (specs.empty()) specs["runc"]; // as it is without a configuration
    return specs;
}

constexpr const char* kThenRestart = "restart it, and create the pods again";

/// `other` is another cure, with a comma behind it.
void report_inherited(const std::string& program, std::uint64_t limit, const std::string& who, const std::string& other,
                      Findings& found) {
    found.info("",
               fmt::format("{} runs with a limit of {} bytes of locked memory, which {} inherit", program, limit, who),
               fmt::format("pods without IPC_LOCK can register no more: set LimitMEMLOCK=infinity in the unit of {}, {}"
                           "and {}",
                           program, other, kThenRestart));
}

/// What runtimes without a limit in their specification inherit.
void report_without_limit(const std::vector<std::string>& runtimes, bool is_of_all, const std::string& spec,
                          std::uint64_t own, Findings& found) {
    report_inherited("containerd", own,
                     is_of_all ? "containers" : fmt::format("containers of runtime {}", base::join(runtimes, " and ")),
                     spec.empty() ? std::string()
                                  : fmt::format("or add RLIMIT_MEMLOCK to \"process.rlimits\" in {}, ", spec),
                     found);
}

void check_containerd(const Context& context, std::optional<std::uint64_t> own, Findings& found) {
    const auto specs = list_specs(list_runtime_files(context));
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
    if (own && !inheriting.empty())
        report_without_limit(inheriting, inheriting.size() == specs.size(), spec_of_inheriting, *own, found);
}

/// CRI-O's "default_ulimits" is a list of "NAME=SOFT:HARD". -1 is no limit. The last file that has the key counts.
void check_crio(const Context& context, std::optional<std::uint64_t> own, Findings& found) {
    constexpr std::string_view kName = "memlock=";
    std::string file;
    std::string setting;
    for (const RuntimeFile& each : list_runtime_files(context)) {
        const auto limits = texts_behind(each.text, "default_ulimits");
        if (limits.empty()) continue;
        file = each.path;
        const auto at = std::find_if(limits.begin(), limits.end(),
                                     [&](const std::string& limit) { return limit.starts_with(kName); });
        setting = at == limits.end() ? std::string() : at->substr(kName.size());
    }
    const std::string soft = setting.substr(0, setting.find(':'));
    if (soft == "-1") return;
    if (const auto limit = base::parse_integer<std::uint64_t>(soft); limit && *limit != kUnlimited)
        found.info("", fmt::format("containers can lock {} bytes of memory: default_ulimits in {}", *limit, file),
                   fmt::format("pods without IPC_LOCK can register no more: set \"memlock=-1:-1\" in that file, then "
                               "for CRI-O: {}",
                               kThenRestart));
    else if (!limit && own)
        report_inherited("crio", *own, "containers",
                         fmt::format("or add \"memlock=-1:-1\" to default_ulimits in {}, ",
                                     file.empty() ? "/etc/crio/crio.conf.d/10-memlock.conf" : file),
                         found);
}

void check_memlock(const Context& context, Findings& found) {
    for (const std::string& process : list_processes(context)) {
        const std::string program = program_of(process);
        if (program != "containerd" && program != "crio") continue;
        const auto own = locked_memory_of(process);
        return program == "crio" ? check_crio(context, own, found) : check_containerd(context, own, found);
    }
}

constexpr Check kLockedMemoryChecks[] = {
    {{"memlock", Layer::runtime, "how much memory the container runtime lets containers lock"}, check_memlock},
};

} // namespace

std::span<const Check> locked_memory_checks() {
    return kLockedMemoryChecks;
}

} // namespace rdmanet::doctor
