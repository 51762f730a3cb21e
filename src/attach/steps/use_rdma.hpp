// What a pod's interface needs for RDMA: a shared device on the host, an active port, GIDs of its addresses.
#pragma once

#include "check_context.hpp"
#include "step.hpp"

#include <memory>

namespace rdmanet::attach {

/// Throws CniError if the children of a parent cannot share its RDMA device as the policy asks.
void find_shared_rdma(const PlanContext& context, Findings& found);
/// Throws CniError if a device's port is not active and the policy refuses that.
void find_awaited_port(const PlanContext& context, Findings& found);

// Null if the attachment needs none.

[[nodiscard]] std::unique_ptr<Step> make_share_rdma(const AddContext& context, const Findings& found);
[[nodiscard]] std::unique_ptr<Step> make_await_rdma(const AddContext& context, const Findings& found);

/// Throws CniError (code 107) for the first difference.
void check_rdma(const CheckContext& context);

} // namespace rdmanet::attach
