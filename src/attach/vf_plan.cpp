#include "vf_plan.hpp"

#include "device_usable.hpp"

#include <rdmanet/base/text.hpp>
#include <rdmanet/cni/error.hpp>

#include <chrono>
#include <thread>

namespace rdmanet::attach {
namespace {

using base::concat;
using base::quoted;

kernel::VfOf find_vf_of(const base::BusAddress& address) {
    const auto pci = address.pci();
    const auto of = pci ? kernel::find_pf_of(*pci) : std::nullopt;
    if (!of) refuse_device(address, "is no SR-IOV VF, \"attach\": \"sriov\" takes one: \"host-device\" takes others");
    return *of;
}

void require_mtu(const config::Config& config, const kernel::Link& pf) {
    if (config.mtu.value_or(0) <= pf.mtu) return;
    throw cni::CniError(cni::ErrorCode::invalid_network_config,
                        concat("mtu: ", *config.mtu, " is above the MTU ", pf.mtu, " of PF ", quoted(pf.name),
                               ": lower \"mtu\", or raise the PF's"));
}

[[noreturn]] void refuse_setting(std::string_view key, const base::BusAddress& address, std::string_view is) {
    throw cni::CniError(cni::ErrorCode::unsupported_field,
                        concat(key, ": can't be set, device ", address, " is ", is, ": remove it"));
}

/// What the kernel has no call for: ipoib_netdev_ops_pf, drivers/infiniband/ulp/ipoib/ipoib_main.c. Values that the VF
/// has anyway do no harm.
void require_settings_of_link_layer(const VfPlan& vf, const base::BusAddress& address, const kernel::Link& pf) {
    if (!pf.is_infiniband()) {
        if (vf.changes.node_guid) refuse_setting("guid", address, "Ethernet");
        return;
    }
    if (vf.changes.vlan) refuse_setting("vlan", address, "InfiniBand");
    if (vf.changes.spoof_check) refuse_setting("spoofchk", address, "InfiniBand");
    if (vf.changes.trust) refuse_setting("trust", address, "InfiniBand");
    if (const auto& rates = vf.changes.rates)
        refuse_setting(rates->most_mbps != 0 ? "max_tx_rate" : "min_tx_rate", address, "InfiniBand");
}

std::optional<kernel::Link> find_uplink(const kernel::VfOf& of, kernel::Socket& route) {
    const auto uplink = kernel::uplink_of(of.pf);
    const auto name = uplink ? base::InterfaceName::parse(*uplink) : std::nullopt;
    return name ? kernel::find_link(route, *name) : std::nullopt;
}

kernel::VfId id_of(const kernel::VfOf& of, const kernel::Link& pf) {
    return {.pf_ifindex = pf.ifindex, .pf = pf.name, .number = of.number};
}

std::string difference_text(const VfPlan& vf, const kernel::VfSettings& now, const kernel::VfSettings& missing) {
    return concat(vf.id, " has ", to_string(kernel::restrict_to(now, missing)), ", expected ", to_string(missing));
}

} // namespace

VfView view_vf(const base::BusAddress& address, kernel::Socket& route) {
    const kernel::VfOf of = find_vf_of(address);
    auto pf = find_uplink(of, route);
    if (!pf)
        refuse_device(address, concat("has its PF ", of.pf, " without a net device in the host's namespace, through ",
                                      "which VFs are set up: bind the PF to its network driver"));
    kernel::VfId id = id_of(of, *pf);
    const auto present = kernel::find_vf(route, id);
    if (!present) refuse_device(address, concat("is ", id, ", of which the PF tells nothing"));
    return {.of = of, .id = std::move(id), .pf = *std::move(pf), .present = *present};
}

VfPlan plan_vf(const base::BusAddress& address, const cni::Request& request, const config::Config& config,
               kernel::Socket& route) {
    VfView vf = view_vf(address, route);
    require_mtu(config, vf.pf);
    VfPlan plan{.of = vf.of,
                .id = std::move(vf.id),
                .before = vf.present,
                .changes = kernel::difference(wanted_settings(request, config), vf.present)};
    require_settings_of_link_layer(plan, address, vf.pf);
    return plan;
}

void apply_settings(const VfPlan& vf, const base::BusAddress& address, kernel::Socket& route, const base::Logger& log) {
    // Some make them when the VF has been reset, and show nothing of it meanwhile.
    constexpr std::chrono::seconds kTimeout{2};
    constexpr std::chrono::milliseconds kTimeoutOfUncertain{100};
    kernel::change_vf(route, vf.id, vf.changes);
    const auto until = route.deadline().at_most(kTimeout);
    const auto until_uncertain = route.deadline().at_most(kTimeoutOfUncertain);
    for (;; std::this_thread::sleep_for(std::chrono::milliseconds{20})) {
        const auto found = kernel::find_vf(route, vf.id);
        if (!found && !until.passed()) continue;
        const kernel::VfSettings now = found.value_or(kernel::VfSettings{});
        const kernel::VfSettings missing = kernel::ignored(vf.changes, vf.before, now);
        const kernel::VfSettings certain = kernel::restrict_to(missing, kernel::surely_told(now));
        if (missing.empty()) return;
        if (certain.empty() && until_uncertain.passed()) {
            log.warn(concat(difference_text(vf, now, missing), ": its PF took that without an error, and either does ",
                            "nothing or doesn't tell what it did. If `ip -d link show ", vf.id.pf,
                            "` goes on showing that, remove the setting from the network, or update the NIC's driver"));
            return;
        }
        if (until.passed())
            refuse_device(address, concat("can't be set up: ", difference_text(vf, now, certain),
                                          ": its PF took that without an error and does nothing; update the NIC's ",
                                          "driver and firmware, or remove the setting from the network"));
    }
}

void warn_of_inherited_vlan(const VfPlan& vf, const cni::Request& request, const config::Config& config,
                            const base::Logger& log) {
    const auto& vlan = vf.before.vlan;
    if (!vlan || vlan->id == 0 || std::get<config::Sriov>(config.attach).settings.vlan) return;
    log.warn(
        concat(vf.id, " has VLAN ", vlan->id, ", and network ", quoted(request.conf.name),
               " says nothing of one: the pod is in that VLAN. Set \"vlan\" to it if it is meant, else run `ip link "
               "set ",
               vf.id.pf, " vf ", vf.id.number, " vlan 0`"));
}

kernel::VfSettings wanted_settings(const cni::Request& request, const config::Config& config) {
    kernel::VfSettings wanted = std::get<config::Sriov>(config.attach).settings;
    wanted.mac = wanted_mac(request, config);
    return wanted;
}

std::optional<kernel::VfSettings> settings_to_keep(const DevicePlan& plan, const cni::Request& request,
                                                   const config::Config& config, const base::Deadline& deadline) {
    if (!plan.vf) return std::nullopt;
    // A driver may have changed more than it was told, and some settings when the VF came up.
    kernel::Socket route = kernel::Socket::open(kernel::Protocol::route, deadline);
    const auto present = kernel::find_vf(route, plan.vf->id);
    if (!present) return std::nullopt;
    kernel::VfSettings kept =
        kernel::difference(kernel::without_port_speed(*present, plan.vf->id), wanted_settings(request, config));
    if (!plan.link || kept.mac == plan.link->mac()) kept.mac.reset(); // the VF's own, or may be
    return kept;
}

std::optional<kernel::VfId> find_vf_id(const kernel::VfOf& of, kernel::Socket& route) {
    const auto pf = find_uplink(of, route);
    return pf ? std::optional(id_of(of, *pf)) : std::nullopt;
}

} // namespace rdmanet::attach
