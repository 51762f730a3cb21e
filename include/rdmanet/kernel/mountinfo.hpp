// Which file systems a process sees: proc_pid_mountinfo(5).
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace rdmanet::kernel {

inline constexpr std::size_t kMostMountinfoBytes = 64U << 20U; // some ten thousand mounts of some 200 bytes

/// Of the process with this directory in procfs; nullopt if that is absent or hidden. Throws base::SystemError.
[[nodiscard]] std::optional<std::string> read_mountinfo(const std::string& process);

/// The first line about the file system that has this number (stat(2), st_dev); empty if it isn't mounted there.
[[nodiscard]] std::string_view find_mount(dev_t device, std::string_view mountinfo);

} // namespace rdmanet::kernel
