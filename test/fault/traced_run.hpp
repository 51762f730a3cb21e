// Runs a program under ptrace, and kills it before one system call or makes this call fail.
//
// Reasons for not using strace's injection:
// - This tracer needs no second program. That matters, because the tests run it thousands of times under emulation.
// - It kills exactly before the call.
// - It can execute a call and still report an error.
//
// A kill before call N means that calls 1 to N-1 happened, and no others. Between two calls a process leaves no trace
// outside of itself. Therefore kills before each call, also before the last one (exit), cover every state that a kill
// at any instruction can leave. Only the traced process is killed. Programs that it started go on, unless it arranged
// otherwise.
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
    unsigned occurrence = 0; // counts the calls with this number, from 1
    std::array<std::uint64_t, 6> arguments{};
    std::string text; // "openat "/run/rdmanet/lock"", for people
};

/// Whether the call is made before the error is reported, or before the process is killed.
enum class BeforeFailing : std::uint8_t { nothing, execute };

struct Fault {
    std::uint64_t number = 0;
    unsigned occurrence = 0;
    std::optional<int> error; // nullopt: SIGKILL
    BeforeFailing before = BeforeFailing::nothing;
    std::string about{}; // counts only calls whose text has it, because loops that wait vary in length
};

struct TracedResult {
    ProcessResult process;
    bool reached = false;          // the fault's call was made
    SystemCall at;                 // that call
    std::vector<SystemCall> calls; // without a fault: all; with one: empty
    bool left_children = false;    // a process that it started still ran two seconds after its end
};

[[nodiscard]] TracedResult run_traced(const std::string& program, const ProcessOptions& options,
                                      const std::optional<Fault>& fault = std::nullopt);

/// The same for a program with arguments.
[[nodiscard]] TracedResult run_traced(const std::vector<std::string>& command, const ProcessOptions& options,
                                      const std::optional<Fault>& fault = std::nullopt);

/// Like "openat". A decimal number if this architecture's headers do not know the call.
[[nodiscard]] std::string name_of(std::uint64_t system_call);

/// The reverse. Throws for a call that this architecture does not have.
[[nodiscard]] std::uint64_t number_of(std::string_view name);

} // namespace rdmanet::test
