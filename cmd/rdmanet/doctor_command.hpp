// `rdmanet doctor`: what is wrong with RDMA on this node.
#pragma once

#include "plugin.hpp"

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace rdmanet::cmd {

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

} // namespace rdmanet::cmd
