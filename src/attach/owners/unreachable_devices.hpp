// Finds devices in network namespaces that nobody can reach.
//
// A namespace without processes and mounts still exists while a process has it open, for example a runtime that leaked
// a descriptor. The devices in it are missing: neither the host nor any pod shows them. GC does not take them back,
// because the process may still use the namespace. It reports the devices and the process.
//
// A process that does not see all other processes cannot know this, and reports nothing.
#pragma once

#include <rdmanet/base/deadline.hpp>

#include <string>
#include <vector>

namespace rdmanet::attach {

/// One sentence with the fix for each such device. If no process has the device's namespace open, this waits a
/// moment before it reports the device: the kernel returns the devices of a pod a little after the pod. Throws
/// base::SystemError.
[[nodiscard]] std::vector<std::string> describe_unreachable_devices(const base::Deadline& deadline);

} // namespace rdmanet::attach
