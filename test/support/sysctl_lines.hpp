// Reads the settings of interfaces under /proc/sys/net that the plugin touches.
#pragma once

#include <string>
#include <vector>

namespace rdmanet::test {

/// "sysctl ipv6/eth0/disable_ipv6 = 0" for each interface of the calling thread's network namespace, and for "all"
/// and "default".
[[nodiscard]] std::vector<std::string> sysctl_lines();

/// True for the line of a loopback with IPv6 switched on. ADD may switch it on, and DEL leaves it, because other
/// interfaces of the pod may need it (enable_ipv6() of module kernel).
[[nodiscard]] bool is_loopback_with_ipv6(const std::string& line);
/// The same line with IPv6 switched off.
[[nodiscard]] std::string switched_off(std::string line);

} // namespace rdmanet::test
