// Files of a host whose / is mounted in this process's container.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace rdmanet::base {

/// Content of a regular file of the host whose / is mounted at `root`; an empty `root` is this process's own /. nullopt
/// if the file does not exist. Absolute symbolic links lead to files below `root` (RESOLVE_IN_ROOT, openat2(2)). Where
/// that call is missing (before Linux 5.6) or forbidden (seccomp), they lead to the container's. Throws as
/// read_named_file_if_exists(). Messages have the host's path.
[[nodiscard]] std::optional<std::string> read_host_file_if_exists(const std::string& root, const std::string& file,
                                                                  std::size_t most);

} // namespace rdmanet::base
