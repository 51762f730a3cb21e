// Parses the kernel's description of VFs: rtnl_fill_vfinfo(), net/core/rtnetlink.c.
#pragma once

#include <rdmanet/kernel/vf.hpp>

#include <linux/netlink.h>

#include <optional>
#include <vector>

namespace rdmanet::kernel {

/// The settings of VF `number` in an answer about its PF; nullopt if they are missing.
[[nodiscard]] std::optional<VfSettings> parse_vf(const nlmsghdr& message, unsigned number);

/// The VFs that a message about a link reports.
[[nodiscard]] std::vector<ReportedVf> parse_reported_vfs(const nlmsghdr& message);

} // namespace rdmanet::kernel
