// What procfs tells about processes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace rdmanet::base {

/// `process 4711 (opensm)`, without the name if the process has ended or may not be examined.
[[nodiscard]] std::string describe_process(std::int64_t pid);

/// The start of a process, in ticks since boot: field 22 of proc_pid_stat(5).
[[nodiscard]] std::optional<std::uint64_t> parse_start_ticks(std::string_view stat);

/// A line of proc_pid_status(5) without its name; empty if it is absent.
[[nodiscard]] std::string_view find_status(std::string_view status, std::string_view name);

/// The line with the process's numbers, from the procfs's PID namespace to its own (task_state(), fs/proc/array.c).
inline constexpr std::string_view kNumbersOfProcess = "NSpid";

/// Identifies one process for good: its number may be reused, the number and the start time together are not. The
/// number is that of the process's own PID namespace, so every observer gets the same one.
struct ProcessIdentity {
    std::int64_t pid = 0;
    std::uint64_t pid_namespace_inode = 0;
    std::uint64_t start_ticks = 0;

    friend bool operator==(const ProcessIdentity&, const ProcessIdentity&) = default;
};

/// `pid` is a number in the caller's PID namespace, or "self". nullopt if there is no such process or it may not be
/// examined.
[[nodiscard]] std::optional<ProcessIdentity> identify_process(std::string_view pid);

} // namespace rdmanet::base
