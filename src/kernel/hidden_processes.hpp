// Whether a procfs hides processes from the caller: its mount options hidepid and gid (proc(5)).
#pragma once

#include <string>

namespace rdmanet::kernel {

/// Why processes may be missing from `proc`, with the fix. Empty if none is missing. Throws base::SystemError.
[[nodiscard]] std::string find_reason_for_hidden_processes(const std::string& proc);

} // namespace rdmanet::kernel
