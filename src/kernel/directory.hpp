// Reading the small files and directories of sysfs and procfs, any of which may vanish at any moment.
#pragma once

#include <rdmanet/base/unique_fd.hpp>

#include <optional>
#include <string>
#include <vector>

namespace rdmanet::kernel {

/// An empty descriptor if the directory is absent. Throws base::SystemError.
[[nodiscard]] base::UniqueFd open_directory(const std::string& path);

/// Names in a directory except "." and "..", in no particular order. Empty if the directory is absent. Throws
/// base::SystemError.
[[nodiscard]] std::vector<std::string> list_directory(const std::string& path);

/// The first 4096 bytes of a file without the newline at their end; nullopt if the file is absent or has no value
/// (EINVAL: an empty entry of a GID table). `name` is relative to `directory`. Throws base::SystemError.
[[nodiscard]] std::optional<std::string> find_line(int directory, const std::string& name);

/// Where a symbolic link points; nullopt if it is absent. Throws base::SystemError.
[[nodiscard]] std::optional<std::string> find_symlink(const std::string& path);

} // namespace rdmanet::kernel
