// What a security module (SELinux, AppArmor) has refused to rdmanet.
#include "checks.hpp"
#include "files.hpp"
#include "kernel_messages.hpp"

#include <rdmanet/base/error.hpp>
#include <rdmanet/base/text.hpp>

#include <algorithm>
#include <string_view>

namespace rdmanet::doctor {
namespace {

/// "avc:  denied  { write } for pid=7 comm="rdmanet" ..." of SELinux, "apparmor="DENIED" ... comm="rdmanet"" of
/// AppArmor. The audit service writes them to its log; without it they are messages of the kernel.
bool is_denial(std::string_view line) {
    const auto has = [&](std::string_view part) { return line.find(part) != std::string_view::npos; };
    return has("comm=\"rdmanet\"") && (has("avc:  denied") || has("apparmor=\"DENIED\""));
}

/// The part that tells what was refused, without the time before it.
std::string_view essence_of(std::string_view line) {
    for (const std::string_view begin : {"avc:  denied", "apparmor=\"DENIED\""})
        if (const std::size_t at = line.find(begin); at != std::string_view::npos) return line.substr(at);
    return line;
}

std::vector<std::string> list_lines(const Context& context) {
    std::vector<std::string> lines = end_lines_of(context.path("/var/log/audit/audit.log"));
    try {
        const std::vector<std::string> messages = read_kernel_messages(context);
        lines.insert(lines.end(), messages.begin(), messages.end());
    } catch (const base::SystemError&) {
        if (lines.empty()) throw;
    }
    return lines;
}

void check_denials(const Context& context, Findings& found) {
    const std::vector<std::string> lines = list_lines(context);
    const auto last = std::find_if(lines.rbegin(), lines.rend(), is_denial);
    if (last == lines.rend()) return;
    constexpr std::size_t kMost = 160;
    const bool is_selinux = last->find("avc:") != std::string::npos;
    found.warning("",
                  fmt::format("{} refused rdmanet something: {}", is_selinux ? "SELinux" : "AppArmor",
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
