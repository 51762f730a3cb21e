// How a device's net device was before its pod, and making it so again.
#pragma once

#include "context.hpp"
#include "device_plan.hpp"

#include <rdmanet/base/deadline.hpp>
#include <rdmanet/base/logger.hpp>
#include <rdmanet/kernel/link.hpp>
#include <rdmanet/kernel/netlink_socket.hpp>

#include <string>

namespace rdmanet::attach {

[[nodiscard]] state::KeepDevice keep_step(const DevicePlan& plan, const base::Deadline& deadline,
                                          const base::Logger& log);

void revert_step(const state::KeepDevice& step, const RevertContext& context);

} // namespace rdmanet::attach
