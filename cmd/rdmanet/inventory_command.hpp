// `rdmanet inventory`: what is on this node, and who has it.
#pragma once

#include "plugin.hpp"

#include <CLI/CLI.hpp>

#include <string>

namespace rdmanet::cmd {

struct InventoryOptions {
    std::string format = "table";
    std::string root;
    std::string state_directory = cmd::state_directory();
};

CLI::App* add_inventory_command(CLI::App& app, InventoryOptions& options);

/// Prints the inventory. Returns the exit status. Throws base::Error.
int print_inventory(const InventoryOptions& options);

} // namespace rdmanet::cmd
