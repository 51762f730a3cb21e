// The command line: help, and what is wrong with it.
#pragma once

#include <CLI/CLI.hpp>

#include <optional>
#include <string>
#include <vector>

namespace rdmanet::cmd {

/// Reports an error in the command line, and `help`, the command that shows the right one. Returns the exit status.
[[nodiscard]] int refuse_usage(const std::string& message, const std::string& help);

/// The same for arguments that nothing has taken. 0 if there are none. `name` is the command that shows help.
[[nodiscard]] int refuse_extras(const CLI::App& command, const std::string& name);

/// Prints the help of a path of subcommands, "doctor explain". Returns the exit status.
[[nodiscard]] int print_help(CLI::App& app, const std::vector<std::string>& topic);

/// The exit status if the command line is wrong, or if help is all that it asks for.
[[nodiscard]] std::optional<int> parse(CLI::App& app, int argc, char** argv);

} // namespace rdmanet::cmd
