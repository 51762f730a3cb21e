// Runs a program to its end.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace rdmanet::test {

struct ProcessResult {
    int exit_status = -1; // 128 + signal if a signal ended it
    bool timed_out = false;
    std::string out;
    std::string err;
};

struct ProcessOptions {
    std::string input;
    std::vector<std::string> environment; // "NAME=VALUE"; the program gets only these and PATH
    std::chrono::milliseconds timeout{300'000};
    bool close_stdout = false;
    std::size_t stack_limit = 0; // bytes; 0: inherited
};

[[nodiscard]] ProcessResult run_process(const std::vector<std::string>& arguments, const ProcessOptions& options = {});

/// Called in the process that is about to become the program.
void limit_stack(const ProcessOptions& options) noexcept;

/// Runs a shell command and returns its standard output. Throws with all output if it fails.
std::string shell(const std::string& command);
/// True if the shell command ends with status 0.
[[nodiscard]] bool succeeds(const std::string& command);

} // namespace rdmanet::test
