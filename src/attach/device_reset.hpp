// Resetting a device between the pods that have it: what one of them left in it, queues and steering rules, is gone
// before the next. The undo is revert_step() of state::ResetFunction, see device_undo.hpp.
#pragma once

#include "device.hpp"

#include <rdmanet/base/logger.hpp>

#include <optional>

namespace rdmanet::attach {

/// Throws CniError with the cure for a device that can't be reset alone.
void require_resettable(const base::BusAddress& address);

/// What DEL is to do; nothing of a device whose driver resets it. The RDMA devices are those on the host.
[[nodiscard]] std::optional<state::ResetFunction> plan_reset(const base::BusAddress& address, const base::Logger& log,
                                                             const base::Deadline& deadline);

} // namespace rdmanet::attach
