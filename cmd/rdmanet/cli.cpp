#include "cli.hpp"

#include "commands.hpp"
#include "ipam_command.hpp"
#include "output.hpp"
#include "version.hpp"

#include <rdmanet/base/error.hpp>
#include <rdmanet/base/file.hpp>
#include <rdmanet/base/file_lock.hpp>
#include <rdmanet/base/format.hpp>
#include <rdmanet/base/late_start.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/ops/state_report.hpp>
#include <rdmanet/state/state_directory.hpp>

#include <CLI/CLI.hpp>

#include <unistd.h>

#include <exception>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

namespace rdmanet::cmd {
namespace {

constexpr int kWrongUsage = 2; // as for a shell's builtins

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

std::vector<CLI::App*> subcommands_of(CLI::App& app) {
    return app.get_subcommands([](const CLI::App*) { return true; });
}

CLI::App* find_subcommand(CLI::App& app, const std::string& name) {
    for (CLI::App* each : subcommands_of(app))
        if (each->get_name() == name) return each;
    return nullptr;
}

/// Reports an error in the command line, and `help`, the command that shows the right one. Returns the exit status.
int refuse_usage(const std::string& message, const std::string& help) {
    base::write_all(STDERR_FILENO, fmt::format("rdmanet: {}: run `{}`\n", message, help), "standard error");
    return kWrongUsage;
}

int refuse_subcommand(CLI::App& app, const std::string& name) {
    const std::string known = base::join(subcommands_of(app), ", ", &CLI::App::get_name);
    return refuse_usage(fmt::format("unknown subcommand {}, expected {}", base::quoted(name),
                                    known.empty() ? fmt::format("none after {}", base::quoted(app.get_name()))
                                                  : fmt::format("one of {}", known)),
                        "rdmanet --help");
}

/// In the order of the command line. The library's own message lists them backwards.
std::string extras_of(const CLI::App& command) {
    return base::join(command.remaining(), " ", [](const std::string& each) { return base::quoted(each); });
}

/// For these, 2 says what they found.
int status_of_wrong_usage(CLI::App& app) {
    const bool is_diagnosis = find_subcommand(app, "doctor")->parsed() || find_subcommand(app, "verify")->parsed();
    return is_diagnosis ? kDiagnosisFailed : kWrongUsage;
}

/// The same for arguments that nothing has taken. 0 if there are none. `name` is the command that shows help.
int refuse_extras(const CLI::App& command, const std::string& name) {
    const std::string extras = extras_of(command);
    return extras.empty()
               ? 0
               : refuse_usage(fmt::format("unexpected arguments {}", extras), fmt::format("rdmanet {}", name));
}

/// Prints the help of a path of subcommands, "doctor explain". Returns the exit status.
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

constexpr const char* kDescription =
    "rdmanet gives Kubernetes pods RDMA-capable network interfaces. As a CNI plugin it is executed by a container\n"
    "runtime or by Multus with CNI_COMMAND set; the subcommands below are for the person on the node.";

/// Of commands without options of their own.
struct Options {
    std::string state_directory = cmd::state_directory();
    bool json = false;
};

std::string version_text() {
    return fmt::format("rdmanet {} (commit {})", kVersion, kCommit);
}

int print_version() {
    print(fmt::format("{}\nCNI protocol versions supported: {}\n", version_text(), cni::supported_versions_text()));
    return 0;
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

int run_ipam(const IpamCommand& ipam) {
    const IpamVerb* verb = ipam.chosen();
    if (verb == nullptr) return refuse_usage("`rdmanet ipam` needs a subcommand", "rdmanet help ipam");
    if (const int refused = refuse_extras(*verb->command, fmt::format("ipam {} --help", verb->command->get_name())))
        return refused;
    ipam.require_rights(*verb);
    return verb->run();
}

int parse_and_run(int argc, char** argv) {
    CLI::App app(kDescription, "rdmanet");
    app.require_subcommand(1);
    app.set_version_flag("--version", version_text());
    Options options;

    app.add_subcommand("version", "print the version and the supported CNI versions");

    CLI::App* state =
        app.add_subcommand("state", "show attachments, RDMA devices and leases: who holds what on this node");
    add_common_options(*state, options.state_directory, options.json);
    state->footer("Example: rdmanet state -o json");

    GcOptions gc_options;
    CLI::App* gc = add_gc_command(app, gc_options);

    CLI::App* check = app.add_subcommand(
        "check", "compare every attachment of this node with the kernel; exit status 1 if anything differs");
    add_common_options(*check, options.state_directory, options.json);
    check->footer("Example: rdmanet check -o json");

    DoctorOptions doctor_options;
    const CLI::App* doctor = add_doctor_command(app, doctor_options);

    InventoryOptions inventory_options;
    const CLI::App* inventory = add_inventory_command(app, inventory_options);

    VerifyOptions verify_options;
    const CLI::App* verify = add_verify_command(app, verify_options);

    PlanOptions plan_options;
    CLI::App* plan_command = add_plan_command(app, plan_options);

    IpamCommand ipam(app);

    std::vector<std::string> topic;
    CLI::App* help = app.add_subcommand("help", "show this help, or that of a subcommand");
    help->add_option("SUBCOMMAND", topic, "like doctor, or doctor explain")->option_text(" ");

    if (const auto status = parse(app, argc, argv)) return *status;
    if (help->parsed()) return print_help(app, topic);
    if (ipam.parsed()) return run_ipam(ipam);
    for (const CLI::App* command : {state, gc, check, plan_command})
        if (command->parsed()) require_root(*command);
    if (state->parsed() || check->parsed()) warn_of_state_directory(options.state_directory);
    if (gc->parsed()) warn_of_state_directory(gc_options.state_directory);
    if (state->parsed()) return print_state(options);
    if (gc->parsed()) return collect_garbage(gc_options);
    if (check->parsed()) return check_node(options.state_directory, options.json);
    if (doctor->parsed()) return run_doctor(doctor_options);
    if (verify->parsed()) return run_verify(verify_options);
    if (inventory->parsed()) return print_inventory(inventory_options);
    if (plan_command->parsed()) return plan(plan_options);
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
