#include <rdmanet/cni/delegate.hpp>

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/cni/error.hpp>

#include "child_process.hpp"
#include "plugin_error.hpp"
#include "plugin_search.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <thread>

namespace rdmanet::cni {
namespace {

using base::quoted;

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
