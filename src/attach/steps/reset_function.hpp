// Resets a device between two pods, so that the next pod finds nothing of the earlier one in it, for example queues
// and steering rules.
#pragma once

#include "step.hpp"

#include <rdmanet/base/logger.hpp>
#include <rdmanet/kernel/netlink_socket.hpp>
#include <rdmanet/state/waiting_names.hpp>

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rdmanet::attach {

/// What DEL must do. nullopt if the device's driver resets it by itself (VFIO). FoundReset::rdma_names are the names
/// of the RDMA devices on the host, or those that wait to be restored.
[[nodiscard]] std::optional<FoundReset> plan_reset(const base::BusAddress& address,
                                                   const std::vector<state::WaitingName>& waiting, const Call& call);

} // namespace rdmanet::attach
