// rdmanet plan: what ADD would do with a network configuration on this node.
#pragma once

#include "plugin.hpp"

#include <CLI/CLI.hpp>

#include <string>

namespace rdmanet::cmd {

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

} // namespace rdmanet::cmd
