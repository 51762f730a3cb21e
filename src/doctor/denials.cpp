// What a security module (SELinux, AppArmor) has refused to rdmanet.
#include "checks.hpp"
#include "files.hpp"
#include "kernel_messages.hpp"

#include <rdmanet/base/error.hpp>
#include <rdmanet/base/text.hpp>

#include <algorithm>
#include <cstdint>
#include <ctime>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rdmanet::doctor {
namespace {

/// "avc:  denied  { write } for pid=7 comm="rdmanet" ..." of SELinux, "apparmor="DENIED" ... comm="rdmanet"" of
/// AppArmor. The audit service writes them to its log; without it they are messages of the kernel. In permissive mode
/// SELinux only says what it would refuse.
bool is_denial(std::string_view line) {
    const auto has = [&](std::string_view part) { return line.find(part) != std::string_view::npos; };
    return has("comm=\"rdmanet\"") && !has("permissive=1") && (has("avc:  denied") || has("apparmor=\"DENIED\""));
}

/// "audit(1700000000.123:45)": seconds of the epoch, if the line has it.
std::optional<std::int64_t> time_of(std::string_view line) {
    constexpr std::string_view kStamp = "audit(";
    const std::size_t at = line.find(kStamp);
    if (at == std::string_view::npos) return std::nullopt;
    const std::string_view rest = line.substr(at + kStamp.size());
    return base::parse_integer<std::int64_t>(rest.substr(0, rest.find('.')));
}

/// The part that tells what was refused.
std::string_view essence_of(std::string_view line) {
    for (const std::string_view begin : {"avc:  denied", "apparmor=\"DENIED\""})
        if (const std::size_t at = line.find(begin); at != std::string_view::npos) return line.substr(at);
    return line;
}

std::vector<std::string> list_lines(const Context& context) {
    std::vector<std::string> lines = end_lines_of(context.path("/var/log/audit/audit.log"));
    try {
        for (const KernelMessage& message : context.kernel_log.messages()) lines.push_back(message.text);
    } catch (const base::SystemError&) {
        if (lines.empty()) throw;
    }
    return lines;
}

/// "btime", in seconds of the epoch (proc_stat(5)); 0 if it is not known.
std::int64_t boot_time(const Context& context) {
    constexpr std::string_view kLine = "btime ";
    for (const std::string& line : lines_of(context.path("/proc/stat")))
        if (line.starts_with(kLine)) return base::parse_integer<std::int64_t>(line.substr(kLine.size())).value_or(0);
    return 0;
}

void check_denials(const Context& context, Findings& found) {
    const std::int64_t boot = boot_time(context);
    const std::vector<std::string> lines = list_lines(context);
    const auto last = std::find_if(lines.rbegin(), lines.rend(), [&](const std::string& line) {
        return is_denial(line) && time_of(line).value_or(boot) >= boot;
    });
    if (last == lines.rend()) return;
    constexpr std::size_t kMost = 160;
    constexpr std::int64_t kMinute = 60;
    const std::int64_t now = std::time(nullptr);
    const bool is_selinux = last->find("avc:") != std::string::npos;
    found.warning("",
                  fmt::format("{} refused rdmanet something {} minutes ago: {}", is_selinux ? "SELinux" : "AppArmor",
                              std::max<std::int64_t>(0, now - time_of(*last).value_or(now)) / kMinute,
                              base::quoted(essence_of(*last), kMost)),
                  is_selinux ? "`restorecon -v` on the plugin's file; `ausearch -c rdmanet | audit2allow` shows the "
                               "rule that is missing"
                             : "`aa-status` shows the profile; allow it there, then reload with `apparmor_parser -r`");
}

constexpr Check kDenialChecks[] = {
    {{"denials", Layer::runtime, "what SELinux or AppArmor refused to rdmanet"}, check_denials},
};

} // namespace

std::span<const Check> denial_checks() {
    return kDenialChecks;
}

} // namespace rdmanet::doctor
