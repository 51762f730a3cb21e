// Processes of the host, as directories in its /proc.
#pragma once

#include "context.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rdmanet::doctor {

[[nodiscard]] std::vector<std::string> list_processes(const Context& context);

/// "containerd"
[[nodiscard]] std::string program_of(const std::string& process);

/// The soft limit in bytes (proc(5), /proc/PID/limits). nullopt if it has none, or has ended.
[[nodiscard]] std::optional<std::uint64_t> locked_memory_of(const std::string& process);

} // namespace rdmanet::doctor
