// The driver of an InfiniBand VF is bound anew, so that it takes the GUIDs that the PF has set.
#pragma once

#include "context.hpp"
#include "device_plan.hpp"

#include "owners/attachment.hpp"

#include <rdmanet/base/deadline.hpp>
#include <rdmanet/cni/request.hpp>
#include <rdmanet/config/config.hpp>
#include <rdmanet/kernel/netlink_socket.hpp>

namespace rdmanet::attach {

/// A GUID that is asked for and isn't the VF's yet makes the driver be bound anew; one must be there in any case.
void plan_guid(DevicePlan& plan, const cni::Request& request, const config::Config& config,
               const Attachment& attachment, kernel::Socket& route, const base::Deadline& deadline);

/// The driver bound anew, with the new GUID. What it made of the device is there again when this returns.
[[nodiscard]] RdmaDevices rebind(const DevicePlan& plan, const state::AttachmentStore& records,
                                 const base::Deadline& deadline);

/// What the driver made when it was bound anew may have other names and numbers.
void replace_rdma(DevicePlan& plan, const config::RdmaPolicy& policy, RdmaDevices made);

void revert_step(const state::RebindDriver& step, const RevertContext& context);

} // namespace rdmanet::attach
