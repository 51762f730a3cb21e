// Records the settings of a net device before it moves into a pod, and restores them.
#pragma once

#include <rdmanet/base/deadline.hpp>
#include <rdmanet/base/logger.hpp>
#include <rdmanet/kernel/link.hpp>
#include <rdmanet/kernel/netlink_socket.hpp>
#include <rdmanet/state/step.hpp>

#include <string>

namespace rdmanet::attach {

using state::LinkBefore;

/// Reads how the net device is before it moves. Leaves out a setting that cannot be recorded, with a warning.
[[nodiscard]] LinkBefore keep_link(const std::string& device, const kernel::Link& link, const base::Deadline& deadline,
                                   const base::Logger& log);

/// Restores the net device on the host. If the kernel refuses a setting that the host can do without, or accepts it
/// without effect, this only warns. Throws base::Error for other settings.
void restore_link(kernel::Socket& route, const kernel::Link& link, const LinkBefore& before, const base::Logger& log);

} // namespace rdmanet::attach
