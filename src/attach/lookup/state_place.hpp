// Whether the state directory can be used, and is the node's.
#pragma once

#include <string>

namespace rdmanet::attach {

/// Throws CniError with the fault that find_fault_of_state_directory() finds. ADD asks before its first change, and so
/// do its preview and STATUS.
void require_state_directory(const std::string& state_directory);

/// A container that calls the plugin may have a /run of its own, and what is written there ends with it. What is wrong
/// then, with the cure; empty if the first process that /proc shows has the same directory or, under another path,
/// its file system, or if that can't be told.
[[nodiscard]] std::string find_fault_of_state_place(const std::string& state_directory);

} // namespace rdmanet::attach
