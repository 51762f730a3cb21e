// Whether the state directory can be used.
#pragma once

#include <rdmanet/base/error.hpp>

#include <string>

namespace rdmanet::state {

/// The state directory cannot be used. The message has the fix.
class DirectoryError : public base::Error {
public:
    using Error::Error;
};

/// Why ADD cannot use the directory, with the fix: it is not a directory, cannot be written, has no space, or a user
/// other than root could change it. Empty if it can be used. ADD creates a directory that does not exist.
[[nodiscard]] std::string find_directory_fault(const std::string& directory);

/// The same, for a write that has failed: who else could change the directory does not matter then.
[[nodiscard]] std::string find_write_fault(const std::string& directory);

/// Throws DirectoryError with the fault of find_directory_fault().
void require_directory(const std::string& directory);

/// `error` came from writing a file in the directory. Throws DirectoryError if the directory or its file system is the
/// cause. Returns for other causes, such as too many open files.
void require_other_cause(const std::string& directory, const base::SystemError& error);

} // namespace rdmanet::state
