// Settings of a net device that only sysfs has (Documentation/ABI/testing/sysfs-class-net and
// sysfs-class-net-queues): how it polls, and limits of its queues.
#pragma once

#include <rdmanet/base/interface_name.hpp>

#include <map>
#include <string>

namespace rdmanet::kernel {

/// The file, relative to the device's directory, such as "queues/tx-0/tx_maxrate", and its content.
using NetdevFiles = std::map<std::string, std::string>;

struct NetdevFilesRead {
    NetdevFiles files;
    NetdevFiles unreadable; // the reason instead of the value
};

/// Settings of an interface in the calling thread's namespace, without those that the kernel or the driver lacks.
/// Throws base::SystemError.
[[nodiscard]] NetdevFilesRead read_netdev_files(const base::InterfaceName& interface);

/// Throws base::SystemError.
void write_netdev_file(const base::InterfaceName& interface, const std::string& file, const std::string& value);

/// Leaves out values that a queue shares with the first queue: devices have a hundred queues.
[[nodiscard]] NetdevFiles without_repetitions(const NetdevFiles& files);
/// The value of `file` in `files` without repetitions; empty if there is none.
[[nodiscard]] std::string find_value(const NetdevFiles& files, const std::string& file);

} // namespace rdmanet::kernel
