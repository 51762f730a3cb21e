// `rdmanet gc`
#pragma once

#include "plugin.hpp"

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace rdmanet::cmd {

struct GcOptions {
    std::string state_directory = cmd::state_directory();
    bool json = false;
    bool dry_run = false;
    std::vector<std::string> forget; // container and interface, or a record's file
};

[[nodiscard]] CLI::App* add_gc_command(CLI::App& app, GcOptions& options);

/// Removes what dead pods left behind, and prints what it did. Returns the exit status: 1 if something is still held.
[[nodiscard]] int collect_garbage(const GcOptions& options);

} // namespace rdmanet::cmd
