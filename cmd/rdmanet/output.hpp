// Output of the subcommands.
#pragma once

#include <rdmanet/ops/colours.hpp>

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace rdmanet::cmd {

/// Adds "-o table|json" and "--json" to a command.
void add_output_options(CLI::App& command, bool& json);
/// The same for a command with more formats.
void add_format_options(CLI::App& command, std::string& format, const std::vector<std::string>& formats,
                        const std::string& about);
/// "-o table|json", "--json" and "--state-dir".
void add_common_options(CLI::App& command, std::string& state_directory, bool& json);

/// The reader of the output ended, as `head` does. It has seen enough, so no message is printed.
struct NobodyReads {};

/// Exit status of `doctor` and `verify` if the command itself has failed, also for wrong usage: 2 says that RDMA does
/// not work.
constexpr int kDiagnosisFailed = 3;

/// Colours for standard output: on a terminal, unless NO_COLOR is set (https://no-color.org).
[[nodiscard]] ops::Colours wanted_colours();

/// Prints to standard output. Throws NobodyReads or SystemError.
void print(const std::string& text);

} // namespace rdmanet::cmd
