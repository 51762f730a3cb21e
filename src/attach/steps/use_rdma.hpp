// What a pod's interface needs of RDMA: a device on the host that pods share, an active port, GIDs of its addresses.
#pragma once

#include "check_context.hpp"
#include "step.hpp"

#include <memory>

namespace rdmanet::attach {

/// Throws CniError for a parent's RDMA device that its children can't share as the policy wants it.
void find_shared_rdma(const PlanContext& context, Findings& found);
/// Throws CniError for a device's port that is not active, where the policy refuses that.
void find_awaited_port(const PlanContext& context, Findings& found);

// Null if the attachment needs none.

[[nodiscard]] std::unique_ptr<Step> make_share_rdma(const AddContext& context, const Findings& found);
[[nodiscard]] std::unique_ptr<Step> make_await_rdma(const AddContext& context, const Findings& found);

/// Throws CniError (code 107) for what differs.
void check_rdma(const CheckContext& context);

} // namespace rdmanet::attach
