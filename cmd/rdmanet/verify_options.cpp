#include "commands.hpp"
#include "output.hpp"

#include <rdmanet/base/error.hpp>
#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/verify/meeting.hpp>

#include <unistd.h>

#include <cstddef>
#include <utility>

namespace rdmanet::cmd {
namespace {

/// An option of one form of the command does nothing in the others.
void check_forms(const VerifyOptions& options) {
    const std::pair<const char*, bool> of_server[] = {
        {"--listen", !options.listen.empty()}, {"--port", options.port != 0}, {"--wait", options.wait.has_value()}};
    for (const auto& [name, is_given] : of_server)
        if (is_given && !options.server)
            throw base::Error(fmt::format("{} without --server: give --server too, or leave {} out", name, name));
    if (!options.token.empty() && !options.server && options.peer.empty())
        throw base::Error("--token without --peer: give the HOST:PORT that `rdmanet verify --server` prints, as "
                          "`--peer HOST:PORT`");
    if (!options.peer.empty() && options.token.empty())
        throw base::Error("--peer without --token: give the token that `rdmanet verify --server` prints");
    if (!options.peer.empty()) (void)verify::Peer::parse(options.peer);
}

} // namespace

void check_usage(const VerifyOptions& options) {
    const std::size_t pods = options.pods.size();
    if (options.server && !options.peer.empty())
        throw base::Error("--server and --peer: give --server on one node and --peer on the other");
    if ((options.server || !options.peer.empty()) && pods != 1)
        throw base::Error(fmt::format("{} pods with {}: expected one, because the other end has the other", pods,
                                      options.server ? "--server" : "--peer"));
    if (pods == 0 || pods > 2) throw base::Error(fmt::format("{} pods: expected one or two, as NAMESPACE/POD", pods));
    if (options.interfaces.size() > pods)
        throw base::Error(fmt::format("{} times --interface with {}: expected at most one for each pod",
                                      options.interfaces.size(), base::counted(pods, "pod", "pods")));
    check_forms(options);
    if (::geteuid() != 0)
        throw base::Error("`rdmanet verify` must be run as root: it enters the pods' network namespaces");
}

CLI::App* add_verify_command(CLI::App& app, VerifyOptions& options) {
    CLI::App* command = app.add_subcommand(
        "verify", "prove RDMA between two pods, with messages, bandwidth and latency; changes nothing");
    command->add_option(
        "POD", options.pods,
        "NAMESPACE/NAME, the path of a network namespace, or . for this process's own; two pods of this "
        "node, or one: with --server or --peer, or else its device with itself");
    command->add_flag("--server", options.server, "wait for the other end, and print what it needs");
    const CLI::Validator not_empty(
        [](const std::string& text) { return text.empty() ? std::string("expected a text, found \"\"") : ""; }, "");
    command->add_option("--peer", options.peer, "HOST:PORT that --server prints on the other node")->check(not_empty);
    command->add_option("--token", options.token, "token that --server prints; with --server: use this one")
        ->check(not_empty);
    command
        ->add_option("--interface", options.interfaces,
                     "interface of the pod, if it has several with RDMA; for two pods: of each")
        ->allow_extra_args(false); // it would take pods
    command->add_option("--listen", options.listen, "address or name for --server to listen on; default: all")
        ->check(not_empty);
    command->add_option("--port", options.port, "TCP port for --server to listen on; default: any");
    command->add_option("--seconds", options.seconds, "longest time of the test")
        ->check(CLI::Range(1U, 3600U))
        ->capture_default_str();
    command->add_option("--wait", options.wait, "seconds for which --server waits; default: 300")
        ->check(CLI::Range(1U, 86400U));
    command
        ->add_option("--expect", options.expected,
                     "percent of the port's speed that the bandwidth must reach; 0: any will do")
        ->check(CLI::Range(0U, 100U))
        ->capture_default_str();
    command->add_option("--state-dir", options.state_directory, "directory of rdmanet's records")
        ->capture_default_str();
    add_output_options(*command, options.json);
    command->footer(
        "Exit status: 0 proven, 1 it works with warnings or too slowly, 2 it does not work, 3 verify itself "
        "failed.\nExample: rdmanet verify default/worker-0 default/worker-1");
    return command;
}

} // namespace rdmanet::cmd
