// The file systems that a process sees: proc_pid_mountinfo(5).
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace rdmanet::kernel {

inline constexpr std::size_t kMostMountinfoBytes = 64U << 20U; // some ten thousand mounts of some 200 bytes

/// `process` is the process's directory in procfs. nullopt if it is absent or hidden. Throws base::SystemError.
[[nodiscard]] std::optional<std::string> read_mountinfo(const std::string& process);

/// The first line for the file system with this number (stat(2), st_dev); empty if it is not mounted there.
[[nodiscard]] std::string_view find_mount(dev_t device, std::string_view mountinfo);

} // namespace rdmanet::kernel
