// Files below a directory that is another /: of the host, in a container, or of a container's image.
#pragma once

#include <rdmanet/base/error.hpp>
#include <rdmanet/base/unique_fd.hpp>

#include <cstddef>
#include <optional>
#include <string>

namespace rdmanet::base {

/// Opens `file` below the directory `root` with O_PATH. Symbolic links, also absolute ones, lead to files below `root`
/// (RESOLVE_IN_ROOT, openat2(2)). Empty, with errno, if that fails: ENOSYS before Linux 5.6.
[[nodiscard]] UniqueFd find_below(const UniqueFd& root, const std::string& file);

/// A file is not where it must be.
class OutsideError : public Error {
public:
    using Error::Error;
};

/// Content of a regular file of the host whose / is mounted at `root`; an empty `root` is this process's own /. nullopt
/// if the file does not exist. Absolute symbolic links lead to files below `root` (RESOLVE_IN_ROOT, openat2(2)). Where
/// that call is missing (before Linux 5.6) or forbidden (seccomp), they lead to the container's. Throws Error, also for
/// a file whose read may never end (proc, sysfs, tracefs, debugfs, FUSE) and for one that is read for two seconds.
/// Messages have the host's path.
/// With a `directory` of the host (no '/' at its end) the file must lie below it: links may lead to the directory, but
/// none may lead out of it (RESOLVE_BENEATH; without openat2(2), the path of the opened file decides). Throws
/// OutsideError.
[[nodiscard]] std::optional<std::string> read_host_file_if_exists(const std::string& root, const std::string& file,
                                                                  std::size_t most, const std::string& directory = {});

} // namespace rdmanet::base
