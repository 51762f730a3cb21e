// Programs of the node, known by the names of their processes: their options, and the units that start them.
#pragma once

#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rdmanet::doctor {

/// By its cgroup, whose name kubelet begins with "kubepods".
[[nodiscard]] bool is_in_pod(const std::string& process);

/// The systemd unit in the process's cgroup (cgroups(7), /proc/PID/cgroup): "k3s.service". Empty if there is none.
[[nodiscard]] std::string unit_of(const std::string& process);

/// The value of the first option with one of these names: "--NAME=VALUE", "--NAME VALUE", and both with one dash, as
/// programs in Go take them.
[[nodiscard]] std::optional<std::string> option_of(const std::string& process,
                                                   std::initializer_list<std::string_view> names);

/// Calls `look` with each process. A base::Error does not prevent the other calls: the first one is thrown after them,
/// with the name of its process.
void look_at_each(const std::vector<std::string>& processes, const std::function<void(const std::string&)>& look);

} // namespace rdmanet::doctor
