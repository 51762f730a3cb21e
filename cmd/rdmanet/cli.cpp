#include "cli.hpp"

#include "check_command.hpp"
#include "command_line.hpp"
#include "doctor_command.hpp"
#include "gc_command.hpp"
#include "inventory_command.hpp"
#include "ipam_command.hpp"
#include "output.hpp"
#include "plan_command.hpp"
#include "plugin.hpp"
#include "verify_command.hpp"
#include "version.hpp"

#include <rdmanet/base/error.hpp>
#include <rdmanet/base/file.hpp>
#include <rdmanet/base/file_lock.hpp>
#include <rdmanet/base/format.hpp>
#include <rdmanet/base/late_start.hpp>
#include <rdmanet/ops/state_report.hpp>
#include <rdmanet/state/state_directory.hpp>

#include <CLI/CLI.hpp>

#include <unistd.h>

#include <exception>
#include <string>
#include <vector>

namespace rdmanet::cmd {
namespace {

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
