#include <rdmanet/cni/delegate.hpp>

#include <rdmanet/base/text.hpp>
#include <rdmanet/cni/error.hpp>

#include "child_process.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>

namespace rdmanet::cni {
namespace {

using base::concat;
using base::quoted;

/// How deep plugins may call each other: an "ipam.type" that leads back here would go on for ever.
constexpr const char* kDepthVariable = "RDMANET_DELEGATION_DEPTH";
constexpr unsigned kMostDepth = 4;

[[noreturn]] void fail(const std::string& message, std::string details = {}) {
    throw CniError(ErrorCode::delegate, message, std::move(details));
}

/// The first directory of CNI_PATH that has a regular file of the name.
std::string find_plugin(const DelegateCall& call) {
    if (call.plugin.find('/') != std::string::npos || call.plugin == "." || call.plugin == "..")
        throw CniError(ErrorCode::invalid_network_config,
                       concat("ipam.type: expected the name of a plugin without '/', found ", quoted(call.plugin)));
    if (call.path.empty())
        throw CniError(ErrorCode::invalid_environment, concat("required env variables [CNI_PATH] missing: IPAM plugin ",
                                                              quoted(call.plugin), " is looked for there"));
    std::string_view rest = call.path;
    while (!rest.empty()) {
        const auto colon = rest.find(':');
        const std::string candidate = concat(rest.substr(0, colon), '/', call.plugin);
        struct stat status {};
        if (::stat(candidate.c_str(), &status) == 0 && S_ISREG(status.st_mode)) return candidate;
        rest = colon == std::string_view::npos ? std::string_view() : rest.substr(colon + 1);
    }
    fail(concat("IPAM plugin ", quoted(call.plugin), " is in none of the directories of CNI_PATH (", call.path,
                "): install it there, or correct \"ipam.type\""));
}

unsigned current_depth() {
    const char* text = std::getenv(kDepthVariable);
    return text == nullptr ? 0 : base::parse_integer<unsigned>(text).value_or(kMostDepth);
}

/// Ours, with what the call says instead.
std::vector<std::string> environment_for(const DelegateCall& call, Command command) {
    const unsigned depth = current_depth();
    if (depth >= kMostDepth)
        fail(concat("IPAM plugin ", quoted(call.plugin), ": plugins call each other ", depth,
                    " levels deep, does \"ipam.type\" lead back to its caller?"));
    const std::pair<const char*, std::string> own[] = {{"CNI_COMMAND", std::string(to_string(command))},
                                                       {"CNI_CONTAINERID", call.container_id},
                                                       {"CNI_NETNS", call.netns_path},
                                                       {"CNI_IFNAME", call.ifname},
                                                       {"CNI_ARGS", call.args},
                                                       {"CNI_PATH", call.path},
                                                       {kDepthVariable, concat(depth + 1)}};
    std::vector<std::string> variables;
    for (char** variable = environ; *variable != nullptr; ++variable) {
        const std::string_view text = *variable;
        const std::string_view name = text.substr(0, text.find('='));
        if (std::none_of(std::begin(own), std::end(own), [&](const auto& pair) { return name == pair.first; }))
            variables.emplace_back(text);
    }
    for (const auto& [name, value] : own) variables.push_back(concat(name, '=', value));
    return variables;
}

/// "text file busy": the plugin is being installed this moment (cni, pkg/invoke, raw_exec.go).
ChildOutcome run_retrying(const std::string& program, const DelegateCall& call, Command command,
                          const base::Deadline& deadline) {
    constexpr std::chrono::milliseconds kPause{200};
    constexpr int kTries = 6;
    const auto environment = environment_for(call, command);
    for (int attempt = 1;; ++attempt) {
        ChildOutcome outcome = run_child(program, environment, call.config, deadline);
        if (outcome.exec_errno != ETXTBSY || attempt == kTries || deadline.passed()) return outcome;
        std::this_thread::sleep_for(std::min(kPause, deadline.remaining()));
    }
}

/// The error document of a plugin that failed; throws always.
[[noreturn]] void throw_plugin_error(const std::string& who, const ChildOutcome& outcome) {
    if (outcome.out.empty()) {
        const std::string how = outcome.signal != 0 ? concat("was killed by signal ", outcome.signal)
                                                    : concat("ended with status ", outcome.exit_status);
        fail(concat(who, ' ', how,
                    outcome.err.empty() ? " and said nothing" : concat(": ", outcome.err.substr(0, 2000))));
    }
    try {
        const json::Document document = json::Document::parse(outcome.out);
        const json::Reader root = document.root();
        const auto details = root.find("details");
        throw CniError(static_cast<int>(root.at("code").integer(0, INT32_MAX)),
                       concat(who, ": ", root.at("msg").string()), details ? details->string() : std::string());
    } catch (const json::ParseError& error) {
        fail(concat(who, " failed and its error is no JSON (", error.what(), ")"), outcome.out.substr(0, 2000));
    } catch (const json::ValueError& error) {
        fail(concat(who, " failed and its error is no CNI error (", error.what(), ")"), outcome.out.substr(0, 2000));
    }
}

/// Standard output of a successful call.
std::string call_plugin(const DelegateCall& call, Command command, const base::Deadline& deadline) {
    const std::string program = find_plugin(call);
    const std::string who = concat("IPAM plugin ", quoted(call.plugin), ' ', to_string(command));
    const auto patience = std::chrono::duration_cast<std::chrono::seconds>(deadline.remaining());
    ChildOutcome outcome = run_retrying(program, call, command, deadline);
    if (outcome.exec_errno != 0)
        fail(concat(who, ": execute ", program, ": ", base::errno_text(outcome.exec_errno),
                    ": is it an executable for this machine?"));
    if (outcome.timed_out)
        throw base::TimeoutError(concat(who, ": gave up after ", patience.count(), " s, ", program,
                                        " was killed: does it wait for a daemon?"));
    if (outcome.exit_status != 0 || outcome.signal != 0) throw_plugin_error(who, outcome);
    if (outcome.out_overflowed) fail(concat(who, " printed more than a result can be"));
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
            .path = request.path_text};
}

Result delegate_add(const DelegateCall& call, const base::Deadline& deadline) {
    const std::string out = call_plugin(call, Command::add, deadline);
    const std::string who = concat("IPAM plugin ", quoted(call.plugin), " ADD");
    try {
        const NetConf conf = parse_net_conf(call.config, Strictness::lenient);
        const json::Document document = json::Document::parse(out);
        if (document.root().is_null()) return {};
        return parse_result(document.root(), conf.version);
    } catch (const json::ParseError& error) {
        fail(concat(who, " printed no JSON (", error.what(), ")"), out.substr(0, 2000));
    } catch (const json::ValueError& error) {
        fail(concat(who, " printed no CNI result (", error.what(), ")"), out.substr(0, 2000));
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
