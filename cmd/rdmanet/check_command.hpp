// `rdmanet check`: every attachment of the node compared with the kernel.
#pragma once

#include <string>

namespace rdmanet::cmd {

/// Prints what differs, could not be checked or was checked in part, and a line with the numbers; or JSON. Returns the
/// exit status: 1 if anything differs.
[[nodiscard]] int check_node(const std::string& state_directory, bool json);

} // namespace rdmanet::cmd
