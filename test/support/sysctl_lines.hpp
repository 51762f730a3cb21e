// The settings of interfaces under /proc/sys/net that the plugin touches, read file by file.
#pragma once

#include <string>
#include <vector>

namespace rdmanet::test {

/// Of the calling thread's network namespace, for each interface as well as for "all" and "default":
/// "sysctl ipv6/eth0/disable_ipv6 = 0".
[[nodiscard]] std::vector<std::string> sysctl_lines();

/// The one change that outlives a DEL by intent (see enable_ipv6() of the room kernel): ADD switches IPv6 on for a
/// pod's loopback, and others in the pod may need it afterwards. True for the line of a loopback with IPv6 switched on.
[[nodiscard]] bool is_loopback_with_ipv6(const std::string& line);
/// The same line with IPv6 switched off.
[[nodiscard]] std::string switched_off(std::string line);

} // namespace rdmanet::test
