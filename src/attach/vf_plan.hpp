// A VF as its PF administers it.
#pragma once

#include "device.hpp"

namespace rdmanet::attach {

struct VfView {
    kernel::VfOf of;
    kernel::VfId id;
    kernel::Link pf;
    kernel::VfSettings present; // as far as the driver tells
};
/// Throws CniError for what is no VF, or has a PF that can't be asked.
[[nodiscard]] VfView view_vf(const base::BusAddress& address, kernel::Socket& route);

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

/// What the pod or the configuration asks the VF to be.
[[nodiscard]] kernel::VfSettings wanted_settings(const cni::Request& request, const config::Config& config);

/// What CHECK is to find again of a VF that has been set up, beyond what the configuration says and the driver
/// confirms. As far as the driver tells it; the MAC only of a VF with a net device, as programs in user space choose
/// theirs.
[[nodiscard]] std::optional<kernel::VfSettings> settings_to_keep(const DevicePlan& plan, const cni::Request& request,
                                                                 const config::Config& config,
                                                                 const base::Deadline& deadline);

/// The VF by its PF's net device; nullopt if that isn't in the host's namespace.
[[nodiscard]] std::optional<kernel::VfId> find_vf_id(const kernel::VfOf& of, kernel::Socket& route);

} // namespace rdmanet::attach
