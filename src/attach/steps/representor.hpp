// The host's end of a VF whose PF is in switchdev mode: a bridge, Open vSwitch or tc connect it with others.
#pragma once

#include "check_context.hpp"
#include "context.hpp"
#include "findings.hpp"
#include "step.hpp"

#include <rdmanet/base/logger.hpp>

#include <memory>
#include <string>

namespace rdmanet::attach {

/// By number and port name, whatever it is called; nullopt if the PF is in legacy mode, or the VF's is not in the
/// host's namespace, of which the log is told.
[[nodiscard]] std::optional<FoundRepresentor> plan_representor(const FoundDevice& plan, const config::Config& config,
                                                               kernel::Socket& route, const base::Logger& log);

[[nodiscard]] std::string describe_step(const state::SetRepresentor& step);
void revert_step(const state::SetRepresentor& step, const RevertContext& context);

/// Null if the attachment needs none.
[[nodiscard]] std::unique_ptr<Step> make_representor(const AddContext& context, const Findings& found);

/// Throws CniError (code 107) for what differs.
void check_representor(const CheckContext& context);

} // namespace rdmanet::attach
