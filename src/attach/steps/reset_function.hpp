// Resetting a device between the pods that have it: what one of them left in it, queues and steering rules, is gone
// before the next.
#pragma once

#include "context.hpp"
#include "findings.hpp"
#include "step.hpp"

#include <rdmanet/base/logger.hpp>
#include <rdmanet/kernel/netlink_socket.hpp>
#include <rdmanet/state/owed_names.hpp>

#include <memory>
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

[[nodiscard]] std::string describe_step(const state::ResetFunction& step);
void revert_step(const state::ResetFunction& step, const RevertContext& context);

/// Null if the attachment needs none.
[[nodiscard]] std::unique_ptr<Step> make_reset_after(const AddContext& context, const Findings& found);

} // namespace rdmanet::attach
