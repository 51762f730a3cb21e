// All kinds of steps, as records have them.
#pragma once

#include "context.hpp"

#include <rdmanet/state/step.hpp>

#include <string>

namespace rdmanet::attach {

/// `interface "net1"`, `addresses of IPAM plugin "dhcp"`: what is still held if the step can't be undone.
[[nodiscard]] std::string describe(const state::Step& step);

/// Whether it takes a device's net device or RDMA device into the pod.
[[nodiscard]] bool is_move(const state::Step& step);

/// Whether `step` stays done while `other`, whose undo comes before its own, has failed: how a device is set up, and
/// what its next driver finds, is no matter of the host's before the device is there.
[[nodiscard]] bool waits_for(const state::Step& step, const state::Step& other);

/// Undoes a step that was done, half done or never begun; safe to repeat. Throws if something is left.
void revert(const state::Step& step, const RevertContext& context);

} // namespace rdmanet::attach
