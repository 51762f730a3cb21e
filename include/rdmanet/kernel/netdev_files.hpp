// Settings of a net device that the kernel has in sysfs alone (Documentation/ABI/testing/sysfs-class-net and
// sysfs-class-net-queues): how it polls, and limits of its queues.
#pragma once

#include <rdmanet/base/interface_name.hpp>

#include <map>
#include <string>

namespace rdmanet::kernel {

/// "queues/tx-0/tx_maxrate", relative to the device's directory, and what is in it.
using NetdevFiles = std::map<std::string, std::string>;

struct NetdevFilesRead {
    NetdevFiles files;
    NetdevFiles unreadable; // with the reason in place of the value
};

/// Of an interface in the calling thread's namespace; without those that the kernel or driver lacks. Throws
/// base::SystemError.
[[nodiscard]] NetdevFilesRead read_netdev_files(const base::InterfaceName& interface);

/// Throws base::SystemError.
void write_netdev_file(const base::InterfaceName& interface, const std::string& file, const std::string& value);

/// Without what stands for each queue as it does for the first: devices have a hundred of them.
[[nodiscard]] NetdevFiles without_repetitions(const NetdevFiles& files);
/// What `files`, of which repetitions were left out, say of `file`; empty if nothing.
[[nodiscard]] std::string find_value(const NetdevFiles& files, const std::string& file);

} // namespace rdmanet::kernel
