// Parses the kernel's description of a port's priorities.
#pragma once

#include <rdmanet/kernel/flow_control.hpp>

#include <linux/netlink.h>

#include <optional>

namespace rdmanet::kernel {

/// From the answer to DCB_CMD_IEEE_GET. Leaves out the global pause. nullopt if the message has no PFC.
[[nodiscard]] std::optional<FlowControl> parse_priorities(const nlmsghdr& message);

} // namespace rdmanet::kernel
