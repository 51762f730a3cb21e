#include "cli.hpp"

#include "check_command.hpp"
#include "doctor_command.hpp"
#include "forget_command.hpp"
#include "inventory_command.hpp"
#include "ipam_command.hpp"
#include "output.hpp"
#include "plan_command.hpp"
#include "plugin.hpp"
#include "verify_command.hpp"
#include "version.hpp"

#include <rdmanet/attach/operations.hpp>
#include <rdmanet/base/file.hpp>
#include <rdmanet/base/file_lock.hpp>
#include <rdmanet/base/format.hpp>
#include <rdmanet/base/late_start.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/json/writer.hpp>
#include <rdmanet/ops/state_report.hpp>
#include <rdmanet/state/state_directory.hpp>

#include <CLI/CLI.hpp>

#include <unistd.h>

#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace rdmanet::cmd {
namespace {

constexpr const char* kDescription =
    "rdmanet gives Kubernetes pods RDMA-capable network interfaces. As a CNI plugin it is executed by a container\n"
    "runtime or by Multus with CNI_COMMAND set; the subcommands below are for the person on the node.";

constexpr int kWrongUsage = 2; // as for a shell's builtins

struct Options {
    std::string state_directory = cmd::state_directory();
    bool json = false;
    bool dry_run = false;
    std::vector<std::string> forget; // container and interface, or a record's file
};

void add_common_options(CLI::App& command, Options& options) {
    command
        .add_option("--state-dir", options.state_directory,
                    "directory of records and leases; default: RDMANET_STATE_DIR, else /run/rdmanet")
        ->capture_default_str();
    add_output_options(command, options.json);
}

std::string to_json(const attach::Collected& collected) {
    json::Writer writer(json::Layout::indented);
    const auto write_list = [&](const char* key, const std::vector<std::string>& texts) {
        writer.key(key).begin_array();
        for (const std::string& text : texts) writer.value(text);
        writer.end_array();
    };
    writer.begin_object();
    write_list("removed", collected.removed);
    write_list("failed", collected.failed);
    write_list("noticed", collected.noticed);
    writer.key("kept").begin_array();
    for (const attach::Kept& kept : collected.kept)
        writer.begin_object()
            .member("attachment", kept.what)
            .member("pod", kept.pod == ipam::Liveness::alive ? "alive" : "unknown")
            .member("reason", kept.pod.liveness == ipam::Liveness::alive ? kept.pod.held_by : kept.pod.reason)
            .end_object();
    writer.end_array();
    return fmt::format("{}\n", writer.end_object().to_text());
}

std::string to_text(const attach::Collected& collected, bool dry_run) {
    std::string text;
    for (const std::string& what : collected.removed)
        text += dry_run ? fmt::format("would remove {}\n", what) : fmt::format("removed {}\n", what);
    for (const std::string& what : collected.failed) text += fmt::format("still held: {}\n", what);
    if (text.empty()) text = "nothing to remove: no record and no lease belongs to a dead pod\n";
    std::size_t alive = 0;
    bool any_unknown = false;
    for (const attach::Kept& kept : collected.kept)
        if (kept.pod != ipam::Liveness::alive) {
            any_unknown = true;
            text += fmt::format("kept {}, because {}\n", kept.what, kept.pod.reason);
        } else if (kept.pod.held_by.empty()) {
            ++alive;
        } else {
            text += fmt::format("kept {}: its network namespace no longer has a name, and is {}\n", kept.what,
                                kept.pod.held_by);
        }
    if (any_unknown) text += "if you know that one of these pods is gone: `rdmanet gc --forget CONTAINER INTERFACE`\n";
    if (alive != 0)
        text +=
            fmt::format("kept {}\n", base::counted(alive, "attachment of a living pod", "attachments of living pods"));
    for (const std::string& what : collected.noticed) text += fmt::format("left alone: {}\n", what);
    return text;
}

std::string version_text() {
    return fmt::format("rdmanet {} (commit {})", kVersion, kCommit);
}

int print_version() {
    print(fmt::format("{}\nCNI protocol versions supported: {}\n", version_text(), cni::supported_versions_text()));
    return 0;
}

/// Prints the help, the version, or what is wrong with the command line. The library would print to std::cout, which
/// loses write errors.
int print_exit(const CLI::App& app, const CLI::ParseError& exit, int wrong_usage) {
    std::ostringstream out;
    std::ostringstream err;
    const bool is_answer = app.exit(exit, out, err) == 0;
    print(out.str());
    base::write_all(STDERR_FILENO, err.str(), "standard error");
    return is_answer ? 0 : wrong_usage;
}

/// Without root, directories that may not be read would look like an empty node.
void require_root(const CLI::App& command) {
    if (::geteuid() != 0)
        throw base::Error(fmt::format(
            "`rdmanet {}` must be run as root: it reads the state directory and the pods' network namespaces",
            command.get_name()));
}

/// Only a warning: these commands read what exists, and `gc` reports what it could not remove.
void warn_of_state_directory(const std::string& directory) try {
    const std::string fault = state::find_directory_fault(directory);
    if (fault.empty()) return;
    base::write_all(STDERR_FILENO, fmt::format("warning: {}. Until then ADD fails with code 109\n", fault),
                    "standard error");
} catch (const base::Error&) { // nobody reads standard error, which must not keep `gc` from its work
}

int print_state(const Options& options) {
    const ops::StateReport report = ops::read_state(options.state_directory);
    print(options.json ? ops::to_json(report) : ops::to_table(report));
    return 0;
}

int collect_garbage(const Options& options) {
    if (!options.forget.empty())
        return forget({.target = options.forget,
                       .state_directory = options.state_directory,
                       .dry_run = options.dry_run,
                       .json = options.json});
    const attach::Node node(options.state_directory, base::Logger(base::LogLevel::warning));
    const auto collected = attach::collect_dead(node, options.dry_run ? attach::DryRun::yes : attach::DryRun::no);
    print(options.json ? to_json(collected) : to_text(collected, options.dry_run));
    return collected.failed.empty() ? 0 : 1;
}

int print_plan(PlanOptions plan_options, const Options& options) {
    plan_options.state_directory = options.state_directory;
    plan_options.json = options.json;
    return plan(plan_options);
}

CLI::App* add_plan_command(CLI::App& app, PlanOptions& options) {
    CLI::App* plan = app.add_subcommand(
        "plan", "show what ADD would do with a network on this node, or why it would fail; changes nothing");
    plan->add_option("FILE", options.file,
                     "JSON or YAML file, - for standard input: a network configuration, a list (its first rdmanet "
                     "entry counts), or manifests with NetworkAttachmentDefinitions")
        ->capture_default_str();
    plan->add_option("--name", options.network,
                     "name of the NetworkAttachmentDefinition to use, or of the network if the configuration has none");
    plan->add_option("--device", options.device, "device that the device plugin would choose, like 0000:3b:00.2");
    plan->add_option("--ifname", options.ifname, "name of the interface in the pod")->capture_default_str();
    plan->add_option("--netns", options.netns, "network namespace of a pod; without it, a temporary one");
    plan->add_option("--args", options.args, "CNI_ARGS, like IP=10.0.0.7");
    plan->add_option("--prev-result", options.prev_result,
                     "file with the result of the plugins before rdmanet in the list, - for standard input");
    plan->add_option("--cni-path", options.cni_path, "directories of other IPAM plugins")->capture_default_str();
    return plan;
}

/// Reports an error in the command line.
int refuse_usage(const std::string& message, const std::string& help) {
    base::write_all(STDERR_FILENO, fmt::format("rdmanet: {}: run `{}`\n", message, help), "standard error");
    return kWrongUsage;
}

std::vector<CLI::App*> subcommands_of(CLI::App& app) {
    return app.get_subcommands([](const CLI::App*) { return true; });
}

CLI::App* find_subcommand(CLI::App& app, const std::string& name) {
    for (CLI::App* each : subcommands_of(app))
        if (each->get_name() == name) return each;
    return nullptr;
}

int refuse_subcommand(CLI::App& app, const std::string& name) {
    std::vector<std::string> known;
    for (const CLI::App* each : subcommands_of(app)) known.push_back(each->get_name());
    return refuse_usage(fmt::format("unknown subcommand {}, expected {}", base::quoted(name),
                                    known.empty() ? fmt::format("none after {}", base::quoted(app.get_name()))
                                                  : fmt::format("one of {}", base::join(known))),
                        "rdmanet --help");
}

/// `topic` is a path of subcommands, "doctor explain".
int print_help(CLI::App& app, const std::vector<std::string>& topic) {
    CLI::App* about = &app;
    std::string path;
    for (const std::string& name : topic) {
        CLI::App* const next = find_subcommand(*about, name);
        if (next == nullptr) return refuse_subcommand(*about, name);
        path += fmt::format("{}{}", path.empty() ? "" : " ", about->get_name());
        about = next;
    }
    // app.help() would be the help of the subcommand "help".
    print(about != &app ? about->help(path)
                        : app.get_formatter()->make_help(&app, app.get_name(), CLI::AppFormatMode::Normal));
    return 0;
}

/// In the order of the command line. The library's own message lists them backwards.
std::string extras_of(const CLI::App& command) {
    std::vector<std::string> extras;
    for (const std::string& each : command.remaining()) extras.push_back(base::quoted(each));
    return base::join(extras, " ");
}

/// Arguments that nothing has taken.
int refuse_extras(const CLI::App& command, const std::string& name) {
    const std::string extras = extras_of(command);
    return extras.empty()
               ? 0
               : refuse_usage(fmt::format("unexpected arguments {}", extras), fmt::format("rdmanet {}", name));
}

CLI::App* add_gc_command(CLI::App& app, Options& options) {
    CLI::App* gc = app.add_subcommand("gc", "remove what dead pods left behind");
    add_common_options(*gc, options);
    gc->footer("Example: rdmanet gc --dry-run");
    gc->add_flag("--dry-run", options.dry_run, "only print what would be removed");
    gc->add_option("--forget", options.forget,
                   "drop the record of one attachment, or an unreadable record by its file's name, and release its "
                   "addresses; prints what is not undone. Refused while the pod's network namespace exists")
        ->expected(1, 2)
        ->type_name("CONTAINER IFNAME | FILE");
    return gc;
}

int run_ipam(const IpamCommand& ipam) {
    const IpamVerb* verb = ipam.chosen();
    if (verb == nullptr) return refuse_usage("`rdmanet ipam` needs a subcommand", "rdmanet help ipam");
    if (const int refused = refuse_extras(*verb->command, fmt::format("ipam {} --help", verb->command->get_name())))
        return refused;
    ipam.require_rights(*verb);
    return verb->run();
}

/// For these, 2 says what they found.
int status_of_wrong_usage(CLI::App& app) {
    const bool is_diagnosis = find_subcommand(app, "doctor")->parsed() || find_subcommand(app, "verify")->parsed();
    return is_diagnosis ? kDiagnosisFailed : kWrongUsage;
}

/// The exit status if the command line is wrong, or if help is all that it asks for.
std::optional<int> parse(CLI::App& app, int argc, char** argv) {
    for (CLI::App* each : subcommands_of(app)) each->allow_extras();
    if (argc > 1 && argv[1][0] != '-' && find_subcommand(app, argv[1]) == nullptr)
        return refuse_subcommand(app, argv[1]);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& exit) {
        return print_exit(app, exit, status_of_wrong_usage(app));
    }
    for (const CLI::App* command : app.get_subcommands())
        if (refuse_extras(*command, fmt::format("help {}", command->get_name())) != 0)
            return status_of_wrong_usage(app);
    return std::nullopt;
}

int parse_and_run(int argc, char** argv) {
    CLI::App app(kDescription, "rdmanet");
    app.require_subcommand(1);
    app.set_version_flag("--version", version_text());
    Options options;

    app.add_subcommand("version", "print the version and the supported CNI versions");

    CLI::App* state =
        app.add_subcommand("state", "show attachments, RDMA devices and leases: who holds what on this node");
    add_common_options(*state, options);
    state->footer("Example: rdmanet state -o json");

    CLI::App* gc = add_gc_command(app, options);

    CLI::App* check = app.add_subcommand(
        "check", "compare every attachment of this node with the kernel; exit status 1 if anything differs");
    add_common_options(*check, options);
    check->footer("Example: rdmanet check -o json");

    DoctorOptions doctor_options;
    const CLI::App* doctor = add_doctor_command(app, doctor_options);

    InventoryOptions inventory_options;
    const CLI::App* inventory = add_inventory_command(app, inventory_options);

    VerifyOptions verify_options;
    const CLI::App* verify = add_verify_command(app, verify_options);

    PlanOptions plan_options;
    CLI::App* plan_command = add_plan_command(app, plan_options);
    add_common_options(*plan_command, options);
    plan_command->footer("Example: rdmanet plan nad.yaml --device 0000:3b:00.2");

    IpamCommand ipam(app);

    std::vector<std::string> topic;
    CLI::App* help = app.add_subcommand("help", "show this help, or that of a subcommand");
    help->add_option("SUBCOMMAND", topic, "like doctor, or doctor explain")->option_text(" ");

    if (const auto status = parse(app, argc, argv)) return *status;
    if (help->parsed()) return print_help(app, topic);
    if (ipam.parsed()) return run_ipam(ipam);
    for (const CLI::App* command : {state, gc, check, plan_command})
        if (command->parsed()) require_root(*command);
    if (state->parsed() || gc->parsed() || check->parsed()) warn_of_state_directory(options.state_directory);
    if (state->parsed()) return print_state(options);
    if (gc->parsed()) return collect_garbage(options);
    if (check->parsed()) return check_node(options.state_directory, options.json);
    if (doctor->parsed()) return run_doctor(doctor_options);
    if (verify->parsed()) return run_verify(verify_options);
    if (inventory->parsed()) return print_inventory(inventory_options);
    if (plan_command->parsed()) return print_plan(std::move(plan_options), options);
    return print_version();
}

} // namespace

int run_cli(int argc, char** argv) {
    base::start_late_parts();
    try {
        return parse_and_run(argc, argv);
    } catch (const NobodyReads&) {
        return 1;
    } catch (const std::exception& error) {
        const bool is_locked = dynamic_cast<const base::LockTimeout*>(&error) != nullptr;
        const std::string message = fmt::format("rdmanet: {}{}\n", error.what(),
                                                is_locked ? ": run the command again when that has ended" : "");
        (void)!::write(STDERR_FILENO, message.data(), message.size()); // the exit status remains
        return 1;
    }
}

} // namespace rdmanet::cmd
