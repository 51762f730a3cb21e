// A device in a pod whose record was lost.
#pragma once

#include "owners/attachment.hpp"

#include <rdmanet/kernel/netlink_socket.hpp>
#include <rdmanet/kernel/netns.hpp>
#include <rdmanet/state/step.hpp>

#include <vector>

namespace rdmanet::attach {

/// What the journal would have said of the moves of a device that the configuration names by its address (Multus does
/// for each pod) and that the pod has as the attachment's interface. How the device was before nobody knows: it goes
/// home as it is. Empty for any other device, which may be a stranger's. `inside` is a routing socket of `netns`.
[[nodiscard]] std::vector<state::Step> steps_of_unrecorded_device(const cni::Request& request,
                                                                  const Attachment& attachment,
                                                                  const kernel::Netns& netns, kernel::Socket& inside,
                                                                  const base::Deadline& deadline);

} // namespace rdmanet::attach
