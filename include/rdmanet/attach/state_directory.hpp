// Whether ADD can use the state directory.
#pragma once

#include <string>

namespace rdmanet::attach {

/// What keeps ADD from using the directory, with the cure: it is no directory, takes no writes, or a user other than
/// root could change it. Empty if there is nothing. A directory that does not exist yet is made.
[[nodiscard]] std::string find_fault_of_state_directory(const std::string& state_directory);

} // namespace rdmanet::attach
