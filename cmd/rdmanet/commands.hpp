// The commands of a person on the node, each with its options.
#pragma once

#include "plugin.hpp"

#include <CLI/CLI.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rdmanet::cmd {

// `rdmanet check`: compares every attachment of the node with the kernel.

/// Prints the attachments that differ or were not checked in full, and a summary; or JSON. Returns the exit status: 1
/// if anything differs.
[[nodiscard]] int check_node(const std::string& state_directory, bool json);

// `rdmanet gc`

struct GcOptions {
    std::string state_directory = cmd::state_directory();
    bool json = false;
    bool dry_run = false;
    std::vector<std::string> forget; // container and interface, or a record's file
};

[[nodiscard]] CLI::App* add_gc_command(CLI::App& app, GcOptions& options);

/// Removes what dead pods left behind, and prints what it did. Returns the exit status: 1 if something is still held.
[[nodiscard]] int collect_garbage(const GcOptions& options);

// `rdmanet doctor`: what is wrong with RDMA on this node.

struct DoctorOptions {
    std::string format = "table";
    std::string root;
    std::string pod;
    std::string name_space; // of the pod
    std::string kubeconfig;
    unsigned wait = 0; // seconds for which it looks again while there are failures
    std::string state_directory = cmd::state_directory();
    std::vector<std::string> words; // of an error to explain; "-" is standard input
    CLI::App* explain = nullptr;
};

CLI::App* add_doctor_command(CLI::App& app, DoctorOptions& options);

/// Examines the node, or explains an error. Returns the exit status. Throws base::Error.
int run_doctor(const DoctorOptions& options);

// `rdmanet inventory`: what is on this node, and who has it.

struct InventoryOptions {
    std::string format = "table";
    std::string root;
    std::string state_directory = cmd::state_directory();
};

CLI::App* add_inventory_command(CLI::App& app, InventoryOptions& options);

/// Prints the inventory. Returns the exit status. Throws base::Error.
int print_inventory(const InventoryOptions& options);

// `rdmanet plan`: what ADD would do with a network configuration on this node.

/// What a runtime and Multus would add to the configuration.
struct PlanOptions {
    std::string file = "-";
    std::string network; // which network of the file; also the name of a configuration without one
    std::string device;  // PCI or auxiliary
    std::string ifname = "net1";
    std::string netns;       // empty: a new, temporary one
    std::string args;        // CNI_ARGS
    std::string prev_result; // file with the result of the earlier plugins
    std::string cni_path = "/opt/cni/bin";
    std::string state_directory = cmd::state_directory();
    bool json = false;
};

[[nodiscard]] CLI::App* add_plan_command(CLI::App& app, PlanOptions& options);

/// Prints the actions to standard output and warnings to standard error; with JSON, both to standard output. Returns
/// the exit status. It is 1, with the reason on standard error, if ADD would refuse, if the file has no rdmanet
/// network, or if keys have no effect, because their author expects one. Throws what printing throws.
[[nodiscard]] int plan(const PlanOptions& options);

// `rdmanet verify`

struct VerifyOptions {
    std::vector<std::string> pods;
    bool server = false;
    std::string peer;
    std::string token;
    std::vector<std::string> interfaces; // of both pods, or one for each
    std::string listen;                  // empty: all addresses
    std::uint16_t port = 0;
    unsigned seconds = 30;
    std::optional<unsigned> wait; // seconds; 300 if it is not given
    unsigned expected = 80;       // percent
    std::string state_directory = cmd::state_directory();
    bool json = false;
};

[[nodiscard]] CLI::App* add_verify_command(CLI::App& app, VerifyOptions& options);

/// Which of the four forms of the command it is must be clear, and the user must be root. Throws base::Error.
void check_usage(const VerifyOptions& options);

/// Prints the report, and progress to standard error. Returns the exit status.
[[nodiscard]] int run_verify(const VerifyOptions& options);

} // namespace rdmanet::cmd
