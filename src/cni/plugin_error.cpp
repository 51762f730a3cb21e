#include "plugin_error.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/cni/error.hpp>
#include <rdmanet/json/reader.hpp>

#include <algorithm>
#include <cerrno>

namespace rdmanet::cni {
namespace {

using base::quoted;

constexpr std::size_t kMostDetails = 2000;
constexpr const char* kNoIpamPlugin = "check that it is an IPAM plugin, or correct \"ipam.type\"";

/// The end of what a plugin wrote to standard error, in quotes; empty if it wrote nothing.
std::string last_words(std::string_view err) {
    constexpr std::size_t kMost = 500;
    while (!err.empty() && (err.back() == '\n' || err.back() == '\r')) err.remove_suffix(1);
    if (err.empty()) return {};
    return quoted(err.substr(err.size() - std::min(err.size(), kMost)), kMost);
}

std::string fix_of(int exec_errno) {
    switch (exec_errno) {
    case EACCES: return "make it executable with `chmod 0755`";
    case ENOENT: return "install its interpreter";
    case ETXTBSY: return "try again when its installation is complete, as something still writes to it";
    default: return "check that it is a program for this machine";
    }
}

/// "1.5", rounded: deadlines shrink during the work, so the exact number would be odd.
std::string in_seconds(std::chrono::milliseconds duration) {
    const auto tenths = (duration.count() + 50) / 100;
    return tenths % 10 == 0 ? fmt::format("{}", tenths / 10) : fmt::format("{}.{}", tenths / 10, tenths % 10);
}

std::string end_of(const ChildOutcome& outcome) {
    return outcome.signal != 0 ? fmt::format("was killed by signal {}", outcome.signal)
                               : fmt::format("exited with status {}", outcome.exit_status);
}

/// Code and details stay the plugin's own. Code 0 is the Go library's for an error without a code.
PluginError parse_plugin_error(const std::string& who, const ChildOutcome& outcome) {
    const json::Document document = json::Document::parse(outcome.out);
    const json::Reader root = document.root();
    const std::string message = root.at("msg").string();
    const auto code = root.find("code");
    const auto number = code ? static_cast<int>(code->integer(0, INT32_MAX)) : 0;
    const auto details = root.find("details");
    return {number != 0 ? number : static_cast<int>(ErrorCode::delegate), fmt::format("{}: {}", who, message),
            details ? details->string() : std::string()};
}

[[noreturn]] void throw_plugin_error(const std::string& who, const ChildOutcome& outcome) {
    if (outcome.out.empty()) {
        const std::string printed = last_words(outcome.err);
        if (!printed.empty()) throw_nonsense(fmt::format("{} {} and printed {}", who, end_of(outcome), printed));
        throw_nonsense(fmt::format("{} {} and printed no error: look into {}", who, end_of(outcome),
                                   outcome.signal != 0 ? "`dmesg` for who killed it" : "the runtime's log"));
    }
    try {
        throw parse_plugin_error(who, outcome);
    } catch (const json::ParseError& error) {
        throw_nonsense(
            fmt::format("{} {} and its error is not JSON ({}): {}", who, end_of(outcome), error.what(), kNoIpamPlugin),
            outcome.out);
    } catch (const json::ValueError& error) {
        throw_nonsense(fmt::format("{} {} and its error is not a CNI error ({}): {}", who, end_of(outcome),
                                   error.what(), kNoIpamPlugin),
                       outcome.out);
    }
}

[[noreturn]] void throw_timed_out(const std::string& who, const std::string& program, const ChildOutcome& outcome,
                                  std::chrono::milliseconds patience) {
    const std::string printed = last_words(outcome.err);
    if (printed.empty())
        throw base::TimeoutError(
            fmt::format("{}: gave up after {} s and killed {}: check whether it waits for a daemon", who,
                        in_seconds(patience), program));
    throw base::TimeoutError(
        fmt::format("{}: gave up after {} s and killed {}, which printed {}: check whether it waits for a daemon", who,
                    in_seconds(patience), program, printed));
}

} // namespace

void throw_nonsense(const std::string& message, std::string_view output) {
    throw CniError(ErrorCode::delegate, message, std::string(output.substr(0, kMostDetails)));
}

void throw_no_result(const std::string& who, std::string_view what, std::string_view output) {
    throw_nonsense(fmt::format("{} {}: {}", who, what, kNoIpamPlugin), output);
}

void throw_not_executed(const std::string& who, const std::string& program, int exec_errno) {
    throw_nonsense(
        fmt::format("{}: cannot execute {}: {}: {}", who, program, base::errno_text(exec_errno), fix_of(exec_errno)));
}

void require_success(const std::string& who, const std::string& program, const ChildOutcome& outcome,
                     std::chrono::milliseconds patience) {
    if (outcome.exec_errno != 0) throw_not_executed(who, program, outcome.exec_errno);
    if (outcome.timed_out) throw_timed_out(who, program, outcome, patience);
    if (outcome.exit_status != 0 || outcome.signal != 0) throw_plugin_error(who, outcome);
    if (outcome.out_overflowed) throw_no_result(who, "printed more than a CNI result may have");
}

} // namespace rdmanet::cni
