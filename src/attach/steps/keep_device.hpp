// How a device's net device was before its pod, and making it so again.
#pragma once

#include "check_context.hpp"
#include "context.hpp"
#include "findings.hpp"
#include "step.hpp"

#include <rdmanet/base/deadline.hpp>
#include <rdmanet/base/logger.hpp>
#include <rdmanet/kernel/link.hpp>
#include <rdmanet/kernel/netlink_socket.hpp>

#include <memory>
#include <string>

namespace rdmanet::attach {

[[nodiscard]] std::string describe_step(const state::KeepDevice& step);
void revert_step(const state::KeepDevice& step, const RevertContext& context);

/// Null if the attachment needs none.
[[nodiscard]] std::unique_ptr<Step> make_keep_device(const AddContext& context, const Findings& found);

/// Throws CniError (code 107) for what differs.
void check_keep_device(const CheckContext& context);

} // namespace rdmanet::attach
