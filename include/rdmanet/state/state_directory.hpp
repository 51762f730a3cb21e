// Whether ADD can use the state directory.
#pragma once

#include <rdmanet/base/error.hpp>

#include <string>

namespace rdmanet::state {

/// The state directory cannot be used. The message has the cure.
class DirectoryError : public base::Error {
public:
    using Error::Error;
    /// `error` came from writing a file in the directory. If the directory shows why, that is the message.
    DirectoryError(const std::string& directory, const base::SystemError& error);
};

/// Why ADD cannot use the directory, with the cure: it is not a directory, cannot be written, has no space, or a user
/// other than root could change it. Empty if it can be used. ADD creates a directory that does not exist.
[[nodiscard]] std::string find_directory_fault(const std::string& directory);

/// Throws DirectoryError with that fault, for callers that write nothing.
void require_directory(const std::string& directory);

/// The same for ADD, with a single system call. Whether the directory can be written shows when AttachmentStore writes.
void require_trusted_directory(const std::string& directory);

} // namespace rdmanet::state
