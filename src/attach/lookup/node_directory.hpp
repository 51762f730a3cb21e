// Whether the state directory is the node's.
#pragma once

#include <string>

namespace rdmanet::attach {

/// A container that calls rdmanet may have a /run of its own, whose files end with the container. Returns a warning
/// with the fix in that case. Empty if the first process in /proc has the same directory, or its file system at
/// another path, or if this cannot be known.
[[nodiscard]] std::string why_state_directory_is_not_the_nodes(const std::string& state_directory);

} // namespace rdmanet::attach
