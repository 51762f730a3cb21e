// Settings of a net device that goes into a pod: how they were, and making them so again.
#pragma once

#include <rdmanet/base/deadline.hpp>
#include <rdmanet/base/logger.hpp>
#include <rdmanet/kernel/link.hpp>
#include <rdmanet/kernel/netlink_socket.hpp>
#include <rdmanet/state/step.hpp>

#include <string>

namespace rdmanet::attach {

/// How the net device is before it moves. A setting that can't be recorded is left out, with a warning.
[[nodiscard]] state::KeepDevice keep_link(const std::string& device, const kernel::Link& link,
                                          const base::Deadline& deadline, const base::Logger& log);

/// Makes the net device as it was, when it is home. A setting without which it is as good to the host is a warning,
/// whether the kernel refuses it or takes it without an error and leaves it as it is. Throws base::Error for others.
void restore_link(kernel::Socket& route, const kernel::Link& link, const state::KeepDevice& before,
                  const base::Logger& log);

} // namespace rdmanet::attach
