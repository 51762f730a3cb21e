// The host's end of a VF whose PF is in switchdev mode: a bridge, Open vSwitch or tc connect it with others.
#pragma once

#include "check_context.hpp"
#include "context.hpp"
#include "device_plan.hpp"

#include <rdmanet/base/logger.hpp>

namespace rdmanet::attach {

/// By number and port name, whatever it is called; nullopt if the PF is in legacy mode, or the VF's is not in the
/// host's namespace, of which the log is told.
[[nodiscard]] std::optional<RepresentorPlan> plan_representor(const DevicePlan& plan, const config::Config& config,
                                                              kernel::Socket& route, const base::Logger& log);

/// Raises its MTU to the pod's, if one is configured, and brings it up. Never lowers it: a bridge has the least of its
/// ports' MTUs (br_mtu_auto_adjust()). IPv6 is switched off on one that is no port of a bridge or the like, where the
/// host itself would take what the pod sends, router advertisements among it.
void set_up_representor(RepresentorPlan& representor, const config::Config& config, const base::Deadline& deadline);

/// Throws CniError (code 107) if the representor that the attachment had is gone, down, or too small for the pod. Its
/// name, and a larger MTU, are its bridge's matter.
void check_representor(const std::optional<std::uint32_t>& mtu, const state::AttachmentRecord& record,
                       kernel::Socket& route);

void revert_step(const state::SetRepresentor& step, const RevertContext& context);

} // namespace rdmanet::attach
