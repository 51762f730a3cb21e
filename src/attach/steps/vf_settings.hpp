// What a PF is to change of a VF, and is to change back.
#pragma once

#include "check_context.hpp"
#include "context.hpp"
#include "findings.hpp"
#include "step.hpp"

#include <rdmanet/base/bus_address.hpp>
#include <rdmanet/base/deadline.hpp>
#include <rdmanet/base/logger.hpp>
#include <rdmanet/cni/request.hpp>
#include <rdmanet/config/config.hpp>
#include <rdmanet/kernel/device.hpp>
#include <rdmanet/kernel/link.hpp>
#include <rdmanet/kernel/vf.hpp>
#include <rdmanet/state/step.hpp>

#include <memory>
#include <optional>
#include <string>

namespace rdmanet::attach {

/// Reads the VF's settings and compares them with what is wanted. Throws CniError for what is no VF, or has a PF that
/// can't be asked, or an MTU below what the configuration wants, and for settings that its link layer doesn't have.
[[nodiscard]] FoundVf plan_vf(const base::BusAddress& address, const cni::Request& request,
                              const config::Config& config, kernel::Socket& route);

/// A VLAN that the VF has already, and the configuration says nothing of, is the pod's: an administrator's intention,
/// or what another plugin left behind.
void warn_of_inherited_vlan(const FoundVf& vf, const cni::Request& request, const config::Config& config,
                            const base::Logger& log);

[[nodiscard]] std::string describe_step(const state::SetVf& step);
void revert_step(const state::SetVf& step, const RevertContext& context);

/// Null if the attachment needs none.
[[nodiscard]] std::unique_ptr<Step> make_vf_settings(const AddContext& context, const Findings& found);

/// Throws CniError (code 107) for what differs.
void check_vf_settings(const CheckContext& context);

} // namespace rdmanet::attach
