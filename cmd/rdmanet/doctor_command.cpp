#include "commands.hpp"
#include "output.hpp"

#include <rdmanet/attach/node.hpp>
#include <rdmanet/base/error.hpp>
#include <rdmanet/base/file.hpp>
#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/base/wait.hpp>
#include <rdmanet/doctor/doctor.hpp>
#include <rdmanet/inventory/inventory.hpp>
#include <rdmanet/ops/doctor_report.hpp>
#include <rdmanet/ops/table.hpp>

#include <unistd.h>

#include <chrono>
#include <utility>

namespace rdmanet::cmd {
namespace {

constexpr std::size_t kLargestOutput = std::size_t{16} << 20U; // of a program; bytes

int explain(const std::vector<std::string>& words) {
    const std::string text = base::join(words, " ");
    const auto found =
        doctor::explain(text == "-" ? base::read_all(STDIN_FILENO, kLargestOutput, "standard input") : text);
    std::string out;
    for (const doctor::Explanation& each : found) {
        out += fmt::format("\"{}\"\n  cause: {}\n", each.text, each.cause);
        if (!each.checks.empty()) out += fmt::format("  checks of `rdmanet doctor`: {}\n", each.checks);
    }
    if (found.empty())
        out = "no known cause: run `rdmanet doctor`, and for a pod `rdmanet doctor --pod NAMESPACE/NAME`. Messages of "
              "rdmanet itself are in docs/troubleshooting.md\n";
    print(out);
    return found.empty() ? 1 : 0;
}

/// As kubectl takes it: a namespace beside the name, or in front of it.
std::string asked_pod(const DoctorOptions& options) {
    if (options.name_space.empty()) return options.pod;
    if (options.pod.find('/') != std::string::npos)
        throw base::Error(fmt::format("--namespace {}: expected the pod's name alone in --pod, found {}",
                                      options.name_space, base::quoted(options.pod)));
    return base::scoped_name(options.name_space, options.pod);
}

doctor::Report look(const DoctorOptions& options) {
    const std::string pod = asked_pod(options);
    const attach::Node node(fmt::format("{}{}", options.root, options.state_directory),
                            base::Logger(base::LogLevel::warning));
    const auto inventory = inventory::read_inventory({.root = options.root,
                                                      .state_directory = options.state_directory,
                                                      .nic_settings = inventory::NicSettings::read});
    return doctor::examine(inventory, node, {.root = options.root, .pod = pod, .kubeconfig = options.kubeconfig});
}

/// For a person who waits, if it is another finding than before. A report in a file has no such lines.
void tell_progress(const doctor::Finding& finding, std::string& before) {
    if (::isatty(STDERR_FILENO) == 0) return;
    std::string text = fmt::format("waiting until this ends: {} {}: {}", finding.check, finding.subject, finding.what);
    if (text == before) return;
    base::write_all(STDERR_FILENO, fmt::format("{}\n", ops::printable(text)), "standard error");
    before = std::move(text);
}

doctor::Report look_until_well(const DoctorOptions& options) {
    constexpr std::chrono::seconds kPause{1};
    const base::Deadline deadline = base::Deadline::in(std::chrono::seconds(options.wait));
    doctor::Report report;
    std::string told;
    const auto is_well = [&] {
        report = look(options);
        const doctor::Finding* finding = report.first_to_wait_for();
        if (finding != nullptr && !deadline.passed()) tell_progress(*finding, told);
        return finding == nullptr;
    };
    base::wait_for(deadline, is_well, {.first = kPause, .longest = kPause});
    return report;
}

int examine(const DoctorOptions& options) {
    const doctor::Report report = look_until_well(options);
    if (options.format == "json")
        print(ops::to_json(report));
    else
        print(ops::to_text(report, options.format == "wide" ? ops::Detail::all_checks : ops::Detail::findings,
                           wanted_colours()));
    return ops::exit_status_of(report);
}

} // namespace

CLI::App* add_doctor_command(CLI::App& app, DoctorOptions& options) {
    CLI::App* command = app.add_subcommand(
        "doctor", "find out why RDMA does not work on this node, and how to fix it; changes nothing");
    add_format_options(*command, options.format, {"table", "wide", "json"},
                       "table (findings), wide (all checks, too), or json");
    CLI::Option* pod = command->add_option(
        "--pod", options.pod, "look at this pod, too: NAMESPACE/NAME, or the path of its network namespace");
    command->add_option("-n,--namespace", options.name_space, "the pod's namespace, if --pod is its name alone")
        ->needs(pod);
    command->add_option("--root", options.root, "where the host's / is mounted, in a container");
    command->add_option("--kubeconfig", options.kubeconfig,
                        "ask the API server with this file, on the host; default: Multus' file, or else rdmanet's");
    command
        ->add_option("--wait", options.wait,
                     "look again each second while something fails or still comes up, for at most this many seconds, "
                     "1 to 600; reports the last look")
        ->check(CLI::Range(1U, 600U));
    command->add_option("--state-dir", options.state_directory, "directory of rdmanet's records, on the host")
        ->capture_default_str();
    command->footer("Exit status: 0 nothing worse than info, 1 warnings, 2 failures, 3 doctor itself failed.\n"
                    "Example: rdmanet doctor --pod default/worker\n"
                    "Example: rdmanet doctor --wait 120  # after a boot, until the links are up");
    options.explain = command->add_subcommand("explain", "say what causes an error's text");
    options.explain
        ->add_option("TEXT", options.words,
                     "what the program printed, in quotes if it has characters of the shell; - for standard input")
        ->required()
        ->option_text(" ");
    options.explain->footer("Exit status: 0 a cause is known, 1 none is, 3 the command line is wrong.\n"
                            "Example: rdmanet doctor explain \"Failed to modify QP to RTR\"");
    return command;
}

int run_doctor(const DoctorOptions& options) {
    try {
        if (options.explain->parsed()) return explain(options.words);
        return examine(options);
    } catch (const base::Error& error) {
        base::write_all(STDERR_FILENO, fmt::format("rdmanet: {}\n", error.what()), "standard error");
        return kDiagnosisFailed;
    }
}

} // namespace rdmanet::cmd
