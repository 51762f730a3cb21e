// Whether ADD can use the state directory.
#pragma once

#include <string>

namespace rdmanet::attach {

/// Why ADD cannot use the directory, with the cure: it is not a directory, cannot be written, has no space, or a user
/// other than root could change it. Empty if it can be used. ADD creates a directory that does not exist.
[[nodiscard]] std::string find_state_directory_fault(const std::string& state_directory);

} // namespace rdmanet::attach
