// Giving a device back to the host.
#pragma once

#include "steps.hpp"

#include <rdmanet/kernel/link.hpp>
#include <rdmanet/kernel/netlink_socket.hpp>

#include <string>
#include <string_view>

#include <rdmanet/state/step.hpp>

namespace rdmanet::attach {

/// Begins the name, of which the rest is a number, of a link that can't have its pod's name on the host.
inline constexpr std::string_view kNameOnReturn = "rdmanet";

/// Takes the link down and moves it out of the pod, under the name that it has, or another if that one is taken on the
/// host; returns that name. Its own comes back with restore_link(). The new name is the pattern by which the kernel
/// finds a free one (__dev_change_net_namespace()).
std::string send_home(const kernel::Link& link, kernel::Socket& inside, kernel::Socket& outside,
                      const kernel::Netns& home);

// Each as revert(): of a step that was done, half done or never begun; safe to repeat; throws if something is left. A
// device that has left the machine, or has a driver for user space by now, has nothing to give back.

void revert_step(const state::KeepDevice& step, const RevertContext& context);
void revert_step(const state::RebindDriver& step, const RevertContext& context);
void revert_step(const state::ResetFunction& step, const RevertContext& context);
void revert_step(const state::SetVf& step, const RevertContext& context);
void revert_step(const state::SetRepresentor& step, const RevertContext& context);
void revert_step(const state::MoveLink& step, const RevertContext& context);
void revert_step(const state::MoveRdma& step, const RevertContext& context);

} // namespace rdmanet::attach
