// The driver of an InfiniBand VF is bound anew, so that it takes the GUIDs that the PF has set.
#pragma once

#include "context.hpp"
#include "findings.hpp"
#include "step.hpp"

#include "owners/attachment.hpp"

#include <rdmanet/base/deadline.hpp>
#include <rdmanet/cni/request.hpp>
#include <rdmanet/config/config.hpp>
#include <rdmanet/kernel/netlink_socket.hpp>

#include <memory>
#include <string>

namespace rdmanet::attach {

/// A GUID that is asked for and isn't the VF's yet makes the driver be bound anew; one must be there in any case.
void plan_guid(FoundDevice& plan, const cni::Request& request, const config::Config& config,
               const Attachment& attachment, kernel::Socket& route, const base::Deadline& deadline);

[[nodiscard]] std::string describe_step(const state::RebindDriver& step);
void revert_step(const state::RebindDriver& step, const RevertContext& context);

// Null if the attachment needs none.

[[nodiscard]] std::unique_ptr<Step> make_rebind_after(const AddContext& context, const Findings& found);
[[nodiscard]] std::unique_ptr<Step> make_rebind(const AddContext& context, const Findings& found);

} // namespace rdmanet::attach
