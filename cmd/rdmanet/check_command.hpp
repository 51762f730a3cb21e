// `rdmanet check`: compares every attachment of the node with the kernel.
#pragma once

#include <string>

namespace rdmanet::cmd {

/// Prints the attachments that differ or were not checked in full, and a summary; or JSON. Returns the exit status: 1
/// if anything differs.
[[nodiscard]] int check_node(const std::string& state_directory, bool json);

} // namespace rdmanet::cmd
