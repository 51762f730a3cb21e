// Resetting a device between the pods that have it: what one of them left in it, queues and steering rules, is gone
// before the next. The undo is revert_step() of state::ResetFunction, see device_undo.hpp.
#pragma once

#include "device.hpp"

#include <rdmanet/base/logger.hpp>
#include <rdmanet/kernel/netlink_socket.hpp>
#include <rdmanet/state/owed_names.hpp>

#include <optional>
#include <string>
#include <vector>

namespace rdmanet::attach {

/// Throws CniError with the cure for a device that can't be reset alone.
void require_resettable(const base::BusAddress& address);

/// What DEL is to do; nothing of a device whose driver resets it. The RDMA devices are those on the host, by the names
/// that they have or are owed.
[[nodiscard]] std::optional<state::ResetFunction> plan_reset(const base::BusAddress& address,
                                                             const std::vector<state::OwedName>& owed,
                                                             const base::Logger& log, const base::Deadline& deadline);

/// Who would lose the device with its driver; without `disassociate_ucontext` the driver would wait for that without
/// end (ib_uverbs_remove_one(), drivers/infiniband/core/uverbs_main.c). Empty if nobody. `rdma`: null if this kernel
/// has no RDMA.
[[nodiscard]] std::string user_of(const base::BusAddress& address, kernel::Socket* rdma);

} // namespace rdmanet::attach
