// What a PF is to change of a VF, and is to change back.
#pragma once

#include "check_context.hpp"
#include "context.hpp"
#include "device_plan.hpp"

#include <rdmanet/base/bus_address.hpp>
#include <rdmanet/base/deadline.hpp>
#include <rdmanet/base/logger.hpp>
#include <rdmanet/cni/request.hpp>
#include <rdmanet/config/config.hpp>
#include <rdmanet/kernel/device.hpp>
#include <rdmanet/kernel/link.hpp>
#include <rdmanet/kernel/vf.hpp>
#include <rdmanet/state/step.hpp>

#include <optional>

namespace rdmanet::attach {

/// Reads the VF's settings and compares them with what is wanted. Throws CniError for what is no VF, or has a PF that
/// can't be asked, or an MTU below what the configuration wants, and for settings that its link layer doesn't have.
[[nodiscard]] VfPlan plan_vf(const base::BusAddress& address, const cni::Request& request, const config::Config& config,
                             kernel::Socket& route);

/// Makes the plan's changes, and reads them back. Throws kernel::NetlinkError for one that the driver refuses, and
/// CniError for one that it takes and doesn't make; one that it may have made and doesn't tell is a warning.
void apply_settings(const VfPlan& vf, const base::BusAddress& address, kernel::Socket& route, const base::Logger& log);

/// A VLAN that the VF has already, and the configuration says nothing of, is the pod's: an administrator's intention,
/// or what another plugin left behind.
void warn_of_inherited_vlan(const VfPlan& vf, const cni::Request& request, const config::Config& config,
                            const base::Logger& log);

/// What CHECK is to find again of a VF that has been set up, beyond what the configuration says and the driver
/// confirms. As far as the driver tells it; the MAC only of a VF with a net device, as programs in user space choose
/// theirs.
[[nodiscard]] std::optional<kernel::VfSettings> settings_to_keep(const DevicePlan& plan, const cni::Request& request,
                                                                 const config::Config& config,
                                                                 const base::Deadline& deadline);

/// The MAC of a device without a net device, for the result: what its PF decides; empty if that is nothing.
[[nodiscard]] std::string mac_without_link(const DevicePlan& plan);

/// The step that is undone by setting `before` again.
[[nodiscard]] state::SetVf to_step(const base::BusAddress& vf, const kernel::VfOf& of,
                                   const kernel::VfSettings& before);

[[nodiscard]] state::VfSettings to_recorded(const kernel::VfSettings& settings);
[[nodiscard]] kernel::VfSettings to_settings(const state::VfSettings& recorded);

/// As the configuration says, or as ADD left them: where it says nothing, or the driver had not confirmed it by then.
/// `link` is the interface in the pod, if it is there. Throws CniError (code 107).
void check_vf(const Intended& wanted, const state::AttachmentRecord& record, const base::BusAddress& address,
              const kernel::Link* link, const base::Deadline& deadline);

void revert_step(const state::SetVf& step, const RevertContext& context);

} // namespace rdmanet::attach
