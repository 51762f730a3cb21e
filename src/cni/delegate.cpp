#include <rdmanet/cni/delegate.hpp>

#include "child_process.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/cni/error.hpp>
#include <rdmanet/json/reader.hpp>

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <string_view>
#include <thread>

namespace rdmanet::cni {
namespace {

using base::quoted;

/// A NUL would end the path early in a system call.
bool is_file_name(const std::string& name) {
    return !name.empty() && base::is_printable_utf8(name) && name.find('/') == std::string::npos && name != "." &&
           name != "..";
}

/// The first directory of `path` that has a regular file with that name. As in the Go library (pkg/invoke,
/// find.go), only the execution shows whether it is executable. Messages call `path` by `name`. Throws CniError.
std::string find_plugin(const std::string& plugin, const std::string& path, const std::string& name) {
    if (!is_file_name(plugin))
        throw CniError(ErrorCode::invalid_network_config,
                       fmt::format("ipam.type: expected the name of a plugin without '/', found {}", quoted(plugin)));
    if (path.empty())
        throw CniError(
            ErrorCode::invalid_environment,
            fmt::format("required env variables [{}] missing: set it to the directories that hold IPAM plugin {}", name,
                        quoted(plugin)));
    std::string_view rest = path;
    while (!rest.empty()) {
        const auto colon = rest.find(':');
        std::string candidate = fmt::format("{}/{}", rest.substr(0, colon), plugin);
        struct stat status {};
        if (colon != 0 && ::stat(candidate.c_str(), &status) == 0 && S_ISREG(status.st_mode)) return candidate;
        rest = colon == std::string_view::npos ? std::string_view() : rest.substr(colon + 1);
    }
    throw CniError(
        ErrorCode::delegate,
        fmt::format(
            "IPAM plugin {} is in none of the directories of {} ({}): install it there, or correct \"ipam.type\"",
            quoted(plugin), name, quoted(path, 1000)));
}

// Errors for the failures of other plugins.

constexpr std::size_t kMostDetails = 2000;
constexpr const char* kNoIpamPlugin = "check that it is an IPAM plugin, or correct \"ipam.type\"";

/// Throws for a plugin whose output is not a CNI document; `output` becomes the details.
[[noreturn]] void throw_nonsense(const std::string& message, std::string_view output = {}) {
    throw CniError(ErrorCode::delegate, message, std::string(output.substr(0, kMostDetails)));
}

/// The same, for a plugin that ended with success. `what` says what it printed instead of a result.
[[noreturn]] void throw_no_result(const std::string& who, std::string_view what, std::string_view output = {}) {
    throw_nonsense(fmt::format("{} {}: {}", who, what, kNoIpamPlugin), output);
}

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

/// Throws for a plugin that could not be executed.
[[noreturn]] void throw_not_executed(const std::string& who, const std::string& program, int exec_errno) {
    throw_nonsense(
        fmt::format("{}: cannot execute {}: {}: {}", who, program, base::errno_text(exec_errno), fix_of(exec_errno)));
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

/// Returns if the plugin succeeded. Otherwise throws TimeoutError; PluginError, which has the code and details of the
/// plugin's own error document; or CniError (delegate). `who` begins the message.
void require_success(const std::string& who, const std::string& program, const ChildOutcome& outcome,
                     std::chrono::milliseconds patience) {
    if (outcome.exec_errno != 0) throw_not_executed(who, program, outcome.exec_errno);
    if (outcome.timed_out) throw_timed_out(who, program, outcome, patience);
    if (outcome.exit_status != 0 || outcome.signal != 0) throw_plugin_error(who, outcome);
    if (outcome.out_overflowed) throw_no_result(who, "printed more than a CNI result may have");
}

/// How deep plugins may call each other: an "ipam.type" that leads back here would go on for ever.
constexpr const char* kDepthVariable = "RDMANET_DELEGATION_DEPTH";
constexpr unsigned kMostDepth = 4;

unsigned current_depth() {
    const char* text = std::getenv(kDepthVariable);
    return text == nullptr ? 0 : base::parse_integer<unsigned>(text).value_or(kMostDepth);
}

/// This process's environment with the variables of the call.
std::vector<std::string> environment_for(const DelegateCall& call, Command command) {
    const unsigned depth = current_depth();
    if (depth >= kMostDepth)
        throw_nonsense(fmt::format("IPAM plugin {}: plugins call each other {} levels deep: correct \"ipam.type\" if "
                                   "it leads back to the calling plugin",
                                   quoted(call.plugin), depth));
    const std::pair<const char*, std::string> own[] = {{"CNI_COMMAND", std::string(to_string(command))},
                                                       {"CNI_CONTAINERID", call.container_id},
                                                       {"CNI_NETNS", call.netns_path},
                                                       {"CNI_IFNAME", call.ifname},
                                                       {"CNI_ARGS", call.args},
                                                       {"CNI_PATH", call.path},
                                                       {kDepthVariable, fmt::format("{}", depth + 1)}};
    std::vector<std::string> variables;
    for (char** variable = environ; *variable != nullptr; ++variable) {
        const std::string_view text = *variable;
        const std::string_view name = text.substr(0, text.find('='));
        if (std::none_of(std::begin(own), std::end(own), [&](const auto& pair) { return name == pair.first; }))
            variables.emplace_back(text);
    }
    for (const auto& [name, value] : own) variables.push_back(fmt::format("{}={}", name, value));
    return variables;
}

/// "text file busy": the plugin is being installed at this moment (cni, pkg/invoke, raw_exec.go).
ChildOutcome run_retrying(const std::string& program, const DelegateCall& call, Command command,
                          const base::Deadline& deadline) {
    constexpr std::chrono::milliseconds kPause{200};
    constexpr int kTries = 6;
    const auto environment = environment_for(call, command);
    for (int attempt = 1;; ++attempt) {
        ChildOutcome outcome = run_child(program, environment, call.config, deadline);
        if (outcome.exec_errno != ETXTBSY || attempt == kTries || deadline.remaining() <= kPause) return outcome;
        std::this_thread::sleep_for(kPause);
    }
}

std::string name_of(const DelegateCall& call, Command command) {
    return fmt::format("IPAM plugin {} {}", quoted(call.plugin), command);
}

/// The standard output of a successful call.
std::string call_plugin(const DelegateCall& call, Command command, const base::Deadline& deadline) {
    const std::string program = find_plugin(call.plugin, call.path, call.path_name);
    const auto patience = deadline.remaining();
    ChildOutcome outcome = run_retrying(program, call, command, deadline);
    // Its log goes to the reader of this process's log (cni, pkg/invoke, raw_exec.go).
    if (!outcome.err.empty()) (void)!::write(STDERR_FILENO, outcome.err.data(), outcome.err.size());
    require_success(name_of(call, command), program, outcome, patience);
    return std::move(outcome.out);
}

} // namespace

DelegateCall delegate_call(const Request& request, const std::string& plugin) {
    return {.plugin = plugin,
            .config = request.stdin_text,
            .container_id = request.container_id,
            .netns_path = request.netns_path,
            .ifname = request.pod_ifname ? request.pod_ifname->to_string() : std::string(),
            .args = request.args_text,
            .path = request.path_text,
            .path_name = request.names.path};
}

void require_plugin(const DelegateCall& call) {
    const std::string program = find_plugin(call.plugin, call.path, call.path_name);
    if (::access(program.c_str(), X_OK) != 0) throw_not_executed(name_of(call, Command::add), program, errno);
}

bool is_own_delegate() {
    return current_depth() > 0;
}

Result delegate_add(const DelegateCall& call, const base::Deadline& deadline) {
    const std::string out = call_plugin(call, Command::add, deadline);
    const std::string who = name_of(call, Command::add);
    if (out.empty()) throw_no_result(who, "exited with status 0 but printed no result");
    try {
        const NetConf conf = parse_net_conf(call.config, Strictness::lenient);
        const json::Document document = json::Document::parse(out);
        if (document.root().is_null()) return {}; // as in libcni
        return parse_result(document.root(), conf.version);
    } catch (const json::ParseError& error) {
        throw_no_result(who, fmt::format("printed something that is not JSON ({})", error.what()), out);
    } catch (const json::ValueError& error) {
        throw_no_result(who, fmt::format("printed something that is not a CNI result ({})", error.what()), out);
    }
}

void delegate_del(const DelegateCall& call, const base::Deadline& deadline) {
    (void)call_plugin(call, Command::del, deadline);
}
void delegate_check(const DelegateCall& call, const base::Deadline& deadline) {
    (void)call_plugin(call, Command::check, deadline);
}
void delegate_gc(const DelegateCall& call, const base::Deadline& deadline) {
    (void)call_plugin(call, Command::gc, deadline);
}
void delegate_status(const DelegateCall& call, const base::Deadline& deadline) {
    (void)call_plugin(call, Command::status, deadline);
}

} // namespace rdmanet::cni
