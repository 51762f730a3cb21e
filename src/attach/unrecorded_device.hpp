// A device in a pod, if the attachment's record is lost.
#pragma once

#include "owners/attachment.hpp"

#include <rdmanet/kernel/netlink_socket.hpp>
#include <rdmanet/kernel/netns.hpp>
#include <rdmanet/state/step.hpp>

#include <vector>

namespace rdmanet::attach {

/// The steps that moved the device into the pod, so that DEL can move it back. The configuration must name the device
/// by its address, as Multus does for each pod, and the pod must have it as the attachment's interface. Otherwise the
/// device may be another plugin's, and the result is empty. Nothing tells how the device was before, so DEL does not
/// restore its settings. `inside` is a routing socket of `netns`.
[[nodiscard]] std::vector<state::Step> steps_of_unrecorded_device(const cni::Request& request,
                                                                  const Attachment& attachment,
                                                                  const kernel::Netns& netns, kernel::Socket& inside,
                                                                  const base::Deadline& deadline);

} // namespace rdmanet::attach
