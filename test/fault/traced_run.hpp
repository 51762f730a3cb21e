// Runs a program under ptrace and lets one system call of it be the last one, or fail.
//
// Its own tracer rather than strace's injection: it costs no second program per run, which matters thousands of times
// under emulation, it kills exactly before the call, and it can let a call happen and still report an error.
//
// Killed before call N means: calls 1 to N-1 happened, N and what follows did not. What the process does between two
// calls leaves no trace outside of it, so killing before each call, the last (exit) included, covers every state that
// a kill at any instruction can leave. Only the traced process is killed; programs that it started run on, unless it
// made arrangements.
#pragma once

#include "support/process.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rdmanet::test {

struct SystemCall {
    std::uint64_t number = 0;
    unsigned occurrence = 0; // the how-manieth call of this number, from 1
    std::array<std::uint64_t, 6> arguments{};
    std::string text; // "openat "/run/rdmanet/lock"", for people
};

enum class BeforeFailing : std::uint8_t { nothing, execute }; // whether the call is made before it reports the error

struct Fault {
    std::uint64_t number = 0;
    unsigned occurrence = 0;
    std::optional<int> error; // none: SIGKILL
    BeforeFailing before = BeforeFailing::nothing;
    std::string about{}; // then only calls count whose text has it: what waits makes more or fewer calls each time
};

struct TracedResult {
    ProcessResult process;
    bool reached = false;          // the fault's call was made
    SystemCall at;                 // that call
    std::vector<SystemCall> calls; // without a fault: all; with one: empty
    bool left_children = false;    // two seconds after the end something it started still ran
};

[[nodiscard]] TracedResult run_traced(const std::string& program, const ProcessOptions& options,
                                      const std::optional<Fault>& fault = std::nullopt);

/// "openat"; the number in decimal if this architecture's headers don't know it.
[[nodiscard]] std::string name_of(std::uint64_t system_call);

/// The other way round. Throws for one that this architecture doesn't have.
[[nodiscard]] std::uint64_t number_of(std::string_view name);

} // namespace rdmanet::test
