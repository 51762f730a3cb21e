#include "commands.hpp"
#include "output.hpp"

#include <rdmanet/attach/node.hpp>
#include <rdmanet/base/error.hpp>
#include <rdmanet/base/file.hpp>
#include <rdmanet/base/format.hpp>
#include <rdmanet/base/ip_address.hpp>
#include <rdmanet/doctor/doctor.hpp>
#include <rdmanet/inventory/inventory.hpp>
#include <rdmanet/json/writer.hpp>
#include <rdmanet/ops/table.hpp>
#include <rdmanet/ops/verify_report.hpp>
#include <rdmanet/verify/meeting.hpp>
#include <rdmanet/verify/verify.hpp>

#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>

namespace rdmanet::cmd {
namespace {

using verify::FoundEndpoint;
using verify::Report;

void tell(const std::string& text) {
    base::write_all(STDERR_FILENO, fmt::format("{}\n", ops::printable(text)), "standard error");
}

constexpr unsigned kWait = 300; // seconds

/// What keeps the pod's own programs from RDMA, though not this one.
std::vector<verify::Check> check_containers(const inventory::Inventory& inventory, const attach::Node& node,
                                            const std::string& pod) {
    std::vector<verify::Check> checks;
    const doctor::Report report = doctor::examine(inventory, node, {.pod = pod, .pod_only = true});
    for (const doctor::Finding& finding : report.findings)
        if (finding.check == "pod-device-files" || finding.check == "pod-memlock")
            checks.push_back({.id = finding.check,
                              .subject = finding.subject,
                              .outcome = verify::Outcome::warning,
                              .what = finding.what,
                              .fix = finding.fix});
    return checks;
}

std::vector<FoundEndpoint> find_ends(const VerifyOptions& options) {
    const attach::Node node(options.state_directory, base::Logger(base::LogLevel::warning));
    const auto inventory = inventory::read_inventory({.state_directory = options.state_directory});
    std::vector<FoundEndpoint> ends;
    for (std::size_t at = 0; at < options.pods.size(); ++at) {
        const auto& names = options.interfaces;
        ends.push_back(verify::find_endpoint(
            inventory, {.pod = options.pods[at],
                        .interface = names.empty() ? std::string() : names[std::min(at, names.size() - 1)]}));
        const std::string& netns = ends.back().endpoint.netns;
        const bool is_own = options.pods[at] == "." || netns.empty(); // the container is the one that this runs in
        if (is_own || worst_of(ends.back().checks) == verify::Outcome::failure) continue;
        for (verify::Check& check : check_containers(inventory, node, netns))
            ends.back().checks.push_back(std::move(check));
    }
    return ends;
}

/// The client runs this on the other node. `address`: which reaches this one; nullopt if none is known.
void invite(const VerifyOptions& options, const std::optional<base::IpAddress>& address, std::uint16_t port,
            const std::string& token) {
    const verify::Peer here{.host = address ? address->to_string() : "127.0.0.1", .port = port};
    if (!address)
        tell("this node has no address that other nodes reach, only loopback and link-local ones: replace 127.0.0.1 "
             "in the command, or give an address with `--listen`");
    if (options.json)
        return print(fmt::format("{}\n", json::Writer()
                                             .begin_object()
                                             .member("peer", here.to_string())
                                             .member("token", token)
                                             .end_object()
                                             .to_text()));
    print(fmt::format("rdmanet verify NAMESPACE/POD --peer {} --token {}\n", here, token));
    tell(
        fmt::format("run this on the other node within {} s, with the other pod's name", options.wait.value_or(kWait)));
}

Report serve(const VerifyOptions& options, const std::optional<base::IpAddress>& listen, const verify::Endpoint& end,
             const verify::Options& how) {
    const std::string token = options.token.empty() ? verify::make_token() : options.token;
    const verify::Meeting meeting(listen, options.port);
    const bool is_one = listen && !listen->is_unspecified();
    invite(options, is_one ? listen : verify::find_own_address(), meeting.port(), token);
    base::UniqueFd stream =
        meeting.wait_for_client(token, base::Deadline::in(std::chrono::seconds(options.wait.value_or(kWait))),
                                [](const std::string& why) { tell(fmt::format("refused a client: {}", why)); });
    return run_test(verify::Role::server, end, std::move(stream), how);
}

Report call(const VerifyOptions& options, const verify::Endpoint& end, const verify::Options& how) {
    base::UniqueFd stream = meet(verify::Peer::parse(options.peer), options.token, base::Deadline::in(how.patience));
    return run_test(verify::Role::client, end, std::move(stream), how);
}

Report run(const VerifyOptions& options, const std::optional<base::IpAddress>& listen, const verify::Endpoint& first,
           const verify::Endpoint& last) {
    verify::Options how{.patience = std::chrono::seconds(options.seconds), .expected = options.expected};
    if (!options.json || ::isatty(STDERR_FILENO) != 0) how.progress = tell;
    if (options.server) return serve(options, listen, first, how);
    if (!options.peer.empty()) return call(options, first, how);
    return run_pair(first, last, how);
}

Report verify_ends(const VerifyOptions& options) {
    check_usage(options);
    std::optional<base::IpAddress> listen;
    if (!options.listen.empty())
        listen = verify::find_listen_address(options.listen, base::Deadline::in(std::chrono::seconds(options.seconds)));
    std::vector<FoundEndpoint> ends = find_ends(options);
    std::vector<verify::Check> checks;
    for (const FoundEndpoint& end : ends) checks.insert(checks.end(), end.checks.begin(), end.checks.end());
    const verify::Endpoint& first = ends.front().endpoint;
    const verify::Endpoint& last = ends.back().endpoint;
    Report report;
    if (worst_of(checks) == verify::Outcome::failure) {
        report.role = options.server ? verify::Role::server : verify::Role::client;
        report.here = first;
        if (!options.server && options.peer.empty()) report.peer = last;
        report.expected = options.expected;
    } else {
        report = run(options, listen, first, last);
    }
    report.checks.insert(report.checks.begin(), checks.begin(), checks.end());
    return report;
}

} // namespace

int run_verify(const VerifyOptions& options) {
    try {
        const Report report = verify_ends(options);
        print(options.json ? ops::to_json(report) : ops::to_text(report, wanted_colours()));
        return ops::exit_status_of(report);
    } catch (const base::Error& error) {
        tell(fmt::format("rdmanet: {}", error.what()));
        return kDiagnosisFailed;
    }
}

} // namespace rdmanet::cmd
