// Giving a device back to the host.
#pragma once

#include "steps.hpp"

#include <rdmanet/state/step.hpp>

namespace rdmanet::attach {

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
