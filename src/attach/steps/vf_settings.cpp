#include "vf_settings.hpp"

#include "kinds.hpp"
#include "registry.hpp"

#include "lookup/device_usable.hpp"
#include "lookup/request.hpp"
#include "lookup/vf.hpp"
#include "owners/liveness.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/base/wait.hpp>
#include <rdmanet/cni/error.hpp>
#include <rdmanet/kernel/device.hpp>
#include <rdmanet/kernel/device_search.hpp>
#include <rdmanet/kernel/netlink_socket.hpp>
#include <rdmanet/kernel/netns.hpp>
#include <rdmanet/kernel/vf.hpp>

#include <algorithm>
#include <chrono>
#include <string_view>
#include <utility>

namespace rdmanet::attach {
namespace {

using base::quoted;
using kernel::Socket;
using kernel::VfLinkState;
using kernel::VfOf;
using state::DeviceBaseline;
using state::MoveRdma;
using state::SetVf;

void require_mtu(const config::Config& config, const kernel::Link& pf) {
    if (config.mtu.value_or(0) <= pf.mtu) return;
    throw cni::CniError(cni::ErrorCode::invalid_network_config,
                        fmt::format("mtu: {} is above the MTU {} of PF {}: lower \"mtu\", or raise the PF's",
                                    *config.mtu, pf.mtu, quoted(pf.name)));
}

[[noreturn]] void refuse_setting(std::string_view key, const base::BusAddress& address, std::string_view is) {
    throw cni::CniError(cni::ErrorCode::unsupported_field,
                        fmt::format("{}: cannot be set, because device {} is {}: remove it", key, address, is));
}

/// Throws for settings that the kernel cannot make on this link layer (ipoib_netdev_ops_pf,
/// drivers/infiniband/ulp/ipoib/ipoib_main.c). Settings that the VF already has are not refused.
void require_settings_of_link_layer(const FoundVf& vf, const base::BusAddress& address) {
    if (!vf.pf.is_infiniband()) {
        if (vf.changes.node_guid) refuse_setting("guid", address, "Ethernet");
        return;
    }
    if (vf.changes.vlan) refuse_setting("vlan", address, "InfiniBand");
    if (vf.changes.spoof_check) refuse_setting("spoofchk", address, "InfiniBand");
    if (vf.changes.trust) refuse_setting("trust", address, "InfiniBand");
    if (const auto& rates = vf.changes.rates)
        refuse_setting(rates->most_mbps != 0 ? "max_tx_rate" : "min_tx_rate", address, "InfiniBand");
}

std::string difference_text(const FoundVf& vf, const kernel::VfSettings& now, const kernel::VfSettings& missing) {
    return fmt::format("{} has {}, expected {}", vf.id, kernel::restrict_to(now, missing), missing);
}

/// Makes the changes and reads them back. Throws kernel::NetlinkError if the driver refuses one, and CniError if it
/// accepts one without effect. If the driver does not report a setting, this only warns.
void apply_settings(const FoundVf& vf, const base::BusAddress& address, kernel::Socket& route,
                    const base::Logger& log) {
    // Some drivers make the changes only after they reset the VF, and report nothing until then.
    constexpr std::chrono::seconds kTimeout{2};
    constexpr std::chrono::milliseconds kTimeoutOfUncertain{100};
    kernel::change_vf(route, vf.id, vf.changes);
    const auto until_uncertain = route.deadline().at_most(kTimeoutOfUncertain);
    kernel::VfSettings now;
    kernel::VfSettings missing;
    kernel::VfSettings certain;
    base::wait_for(route.deadline().at_most(kTimeout), [&] {
        const auto found = kernel::find_vf(route, vf.id);
        now = found.value_or(kernel::VfSettings{});
        missing = kernel::ignored(vf.changes, vf.before, now);
        certain = kernel::restrict_to(missing, kernel::surely_told(now));
        return found && (missing.empty() || (certain.empty() && until_uncertain.passed()));
    });
    if (!certain.empty())
        refuse_device(address,
                      fmt::format("cannot be set up: {}. Its PF accepted that without an error, but ignores it: update "
                                  "the NIC's driver and firmware, or remove the setting from the network",
                                  difference_text(vf, now, certain)));
    if (!missing.empty())
        log.warn(
            fmt::format("{}: its PF accepted that without an error, and either ignores it or does not report it. If "
                        "`ip -d link show {}` keeps showing that, remove the setting from the network, or update the "
                        "NIC's driver",
                        difference_text(vf, now, missing), vf.id.pf));
}

/// Settings that CHECK must find again beyond the configured ones, as far as the driver reports them. The MAC only of
/// a VF with a net device, because programs in user space choose their own.
std::optional<kernel::VfSettings> settings_to_keep(const FoundVf& vf, const std::optional<kernel::Link>& link,
                                                   const Call& call) {
    // A driver may have changed more than was requested, some of it when the VF came up.
    const auto present = kernel::find_vf(*call.host, vf.id);
    if (!present) return std::nullopt;
    kernel::VfSettings kept =
        kernel::difference(kernel::without_port_speed(*present, vf.id), wanted_settings(*call.request, *call.config));
    if (!link || kept.mac == link->mac()) kept.mac.reset(); // it may be the VF's own MAC, which the pod may change
    return kept;
}

/// Reads the VF's settings and compares them with the requested ones. Throws CniError if:
/// - the device is not a VF, or its PF cannot be asked
/// - the PF's MTU is below the configured one
/// - the link layer does not have a requested setting
FoundVf find_vf(const base::BusAddress& address, const Call& call) {
    VfView vf = view_vf(address, *call.host);
    require_mtu(*call.config, vf.pf);
    FoundVf found{.of = vf.of,
                  .id = std::move(vf.id),
                  .pf = std::move(vf.pf),
                  .before = vf.present,
                  .changes = kernel::difference(wanted_settings(*call.request, *call.config), vf.present)};
    require_settings_of_link_layer(found, address);
    return found;
}

class VfSettingsStep final : public Step {
public:
    explicit VfSettingsStep(const FoundDevice& device)
        : address_(device.address), vf_(*device.vf), link_(device.link) {}

    [[nodiscard]] std::vector<state::Step> recorded() const override {
        if (vf_.changes.empty()) return {};
        return {SetVf{.pf = vf_.of.pf.to_string(),
                      .number = vf_.of.number,
                      .before = kernel::restrict_to(vf_.before, vf_.changes),
                      .device = address_.to_string()}};
    }

    void describe(const Call& /*call*/, Description& description) const override {
        const auto changes = base::join(kernel::each_of(vf_.changes), ", ", [&](const kernel::VfSettings& each) {
            const std::string before = kernel::to_string(kernel::restrict_to(vf_.before, each));
            return fmt::format("{} -> {}", before.empty() ? "(not reported)" : before, each);
        });
        description.add.push_back(changes.empty() ? fmt::format("leave the settings of {} as they are", vf_.id)
                                                  : fmt::format("set {}: {}", vf_.id, changes));
    }

    void apply(const Call& call, Progress& /*progress*/) override {
        if (vf_.changes.empty()) return;
        apply_settings(vf_, address_, *call.host, call.log);
    }

    void conclude(const Call& call, const Progress& /*progress*/, Conclusion& end) const override {
        end.record.vf_settings = settings_to_keep(vf_, link_, call);
        end.record.wanted->vf = wanted_settings(*call.request, *call.config);
    }

private:
    base::BusAddress address_;
    FoundVf vf_;
    std::optional<kernel::Link> link_; // on the host
};

/// A VLAN that the VF has already, and the configuration says nothing of, is the pod's: an administrator's intention,
/// or what another plugin left behind.
void warn_of_inherited_vlan(const FoundVf& vf, const Call& call) {
    const auto& vlan = vf.before.vlan;
    if (!vlan || vlan->id == 0 || std::get<config::Sriov>(call.config->attach).settings.vlan) return;
    call.log.warn(
        fmt::format("{} has VLAN {}, and network {} sets none: the pod is in that VLAN. Set \"vlan\" to it if that is "
                    "intended, otherwise run `ip link set {} vf {} vlan 0`",
                    vf.id, vlan->id, quoted(call.request->conf.name), vf.id.pf, vf.id.number));
}

/// The attachment's VF. None if another plugin moved the interface: that plugin decides about the VF.
std::optional<VfOf> find_vf_of(const state::AttachmentRecord& record) {
    const auto address = record.has_step<DeviceBaseline>() ? base::PciAddress::parse(record.device())
                                                           : std::optional<base::PciAddress>();
    return address ? kernel::find_pf_of(*address) : std::nullopt;
}

/// Saves the present link state in the step of the VF's settings, which is added if ADD had nothing to set. That step
/// is undone after the moves.
void remember(VfLinkState present, state::AttachmentRecord& record, const VfOf& of,
              const state::AttachmentStore& records) {
    auto& steps = record.steps;
    auto at = std::find_if(steps.begin(), steps.end(), state::is_any_of<SetVf>);
    if (at == steps.end())
        at = steps.insert(std::find_if(steps.begin(), steps.end(), is_move),
                          SetVf{.pf = of.pf.to_string(), .number = of.number, .before = {}, .device = record.device()});
    auto& before = std::get<SetVf>(*at).before;
    if (before.link_state) return;
    before.link_state = present;
    records.save(record);
}

/// Returns false if the PF does not report the new state. Then the old state is set again at once, because DEL could
/// not see later that it must be restored.
bool switch_link_off(kernel::Socket& route, const kernel::VfId& vf, VfLinkState present) {
    kernel::change_vf(route, vf, {.link_state = VfLinkState::disable});
    const auto now = kernel::find_vf(route, vf);
    if (now && now->link_state == VfLinkState::disable) return true;
    kernel::change_vf(route, vf, {.link_state = present});
    return false;
}

} // namespace

void VfSettingsKind::find(const Call& call, Findings& found) {
    if (!found.device || !std::holds_alternative<config::Sriov>(call.config->attach)) return;
    found.device->vf = find_vf(found.device->address, call);
    if (call.pod != nullptr) warn_of_inherited_vlan(*found.device->vf, call);
}

std::unique_ptr<Step> VfSettingsKind::make(const Call& /*call*/, const Findings& found) {
    if (!found.device || !found.device->vf) return nullptr;
    return std::make_unique<VfSettingsStep>(*found.device);
}

/// Compares with the configuration and, for what it does not set or the driver did not confirm, with what ADD left.
void VfSettingsKind::check(const Comparison& compared) {
    const auto address = base::BusAddress::parse(compared.record.device());
    if (compared.wanted.kind != "sriov" || !address) return;
    const kernel::Link* const link = compared.link ? &*compared.link : nullptr;
    Socket route = Socket::open(kernel::Protocol::route, compared.call.deadline);
    const VfView vf = view_vf(*address, route);
    kernel::VfSettings left = compared.record.vf_settings.value_or(kernel::VfSettings{});
    // Some PFs report the MAC that the VF chose itself (i40e, ice), which a later plugin may have changed. They report
    // none for a while after the VF's interface was down.
    const bool tells_own_mac = link == nullptr || vf.present.mac == link->mac();
    if (tells_own_mac || (vf.present.mac && vf.present.mac->is_zero())) left.mac.reset();
    const kernel::VfSettings present = kernel::without_port_speed(vf.present, vf.id);
    const kernel::VfSettings lost = kernel::lost(compared.wanted.vf, left, present);
    if (!lost.empty())
        differs(fmt::format("{} has {}, expected {}, as ADD left it", vf.id, kernel::restrict_to(present, lost), lost),
                fmt::format("run `{}`, or delete the pod", to_command(lost, vf.id)));
}

std::string VfSettingsKind::describe(const Recorded& step) {
    return fmt::format("settings of VF {} of PF {}", step.number, step.pf);
}

ByHand VfSettingsKind::by_hand(const Recorded& step, const base::Deadline& deadline) {
    const auto address = base::PciAddress::parse(step.pf);
    if (!address || kernel::count_vfs_of(*address) <= step.number)
        return {.text = "nothing to do, because the VF is gone"};
    Socket route = Socket::open(kernel::Protocol::route, deadline);
    const auto vf = find_vf_id({.pf = *address, .number = step.number}, route);
    if (!vf)
        return {.text = "its PF has no net device on the host now: restore them when it has", .needs_record = true};
    if (step.before.empty())
        return {.text = "the PF did not report how they were: set them as you need", .needs_record = true};
    return {.text = fmt::format("once the pod is gone, run `{}`", to_command(step.before, *vf))};
}

void VfSettingsKind::revert(const Recorded& step, const Undo& undo) {
    const auto address = base::PciAddress::parse(step.pf);
    // A PF that loses its driver also loses its VFs, and their settings with them.
    if (!address || kernel::count_vfs_of(*address) <= step.number) return;
    Socket route = Socket::open(kernel::Protocol::route, undo.call.deadline);
    const auto vf = find_vf_id({.pf = *address, .number = step.number}, route);
    if (!vf)
        throw base::Error(
            fmt::format("PF {} has no net device on the host, and its VFs cannot be set up without it: return it "
                        "to the host, or set sriov_numvfs to 0",
                        *address));
    const auto present = kernel::find_vf(route, *vf);
    if (!present) return;
    std::string refused;
    for (const kernel::VfSettings& setting : kernel::each_of(kernel::difference(step.before, *present))) try {
            kernel::change_vf(route, *vf, setting);
        } catch (const base::Error& error) {
            refused += fmt::format("{}{}", refused.empty() ? "" : "; ", error.what());
        }
    if (!refused.empty()) throw base::Error(refused);
}

bool is_still_with_attachment(const state::Step& move, const Undo& undo) {
    const auto address = base::BusAddress::parse(state::held_device(move));
    const auto own = find_recorded_netns(undo.record, undo.call.netns_path());
    if (!undo.is_of_owner || !address || !own) return false;
    const bool is_rdma = std::holds_alternative<MoveRdma>(move);
    const kernel::ElsewhereDevice moved{.address = *address, .net = !is_rdma, .rdma = is_rdma};
    const std::string& path = undo.record.netns.path; // runtimes mount all pods' namespaces in one directory
    const auto others = kernel::list_other_netns(path.substr(0, path.rfind('/')), *own);
    return !kernel::subtract_devices_in(others, {moved}).empty();
}

std::string disconnect_device(state::AttachmentRecord& record, const state::AttachmentStore& records) {
    constexpr std::chrono::seconds kTimeout{2}; // waiting for the device has used up the time of the call
    const auto of = find_vf_of(record);
    if (!of) return {};
    const auto deadline = base::Deadline::in(kTimeout);
    kernel::Socket route = kernel::Socket::open(kernel::Protocol::route, deadline);
    const auto vf = find_vf_id(*of, route);
    const auto present = vf ? kernel::find_vf(route, *vf) : std::nullopt;
    if (!present || !present->link_state) return {};
    if (*present->link_state != VfLinkState::disable) {
        remember(*present->link_state, record, *of, records);
        if (!switch_link_off(route, *vf, *present->link_state))
            return fmt::format("{} keeps its settings and its link, because the PF does not switch the link off", *vf);
    }
    return fmt::format("{} keeps its settings, and its link is off", *vf);
}

} // namespace rdmanet::attach
