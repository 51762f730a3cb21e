#include "contain.hpp"

#include "recorded.hpp"
#include "registry.hpp"
#include "vf_settings.hpp"

#include "lookup/vf.hpp"
#include "owners/liveness.hpp"

#include <rdmanet/base/text.hpp>
#include <rdmanet/kernel/device.hpp>
#include <rdmanet/kernel/device_search.hpp>
#include <rdmanet/kernel/netlink_socket.hpp>
#include <rdmanet/kernel/netns.hpp>
#include <rdmanet/kernel/vf.hpp>

#include <algorithm>
#include <chrono>

namespace rdmanet::attach {
namespace {

using base::concat;
using kernel::VfLinkState;
using kernel::VfOf;

/// Nothing for the RDMA devices of another plugin's interface: that plugin decides about the VF.
std::optional<VfOf> find_vf_of(const state::AttachmentRecord& record) {
    const auto address =
        has_step(record, kKeepDevice) ? base::PciAddress::parse(record.device()) : std::optional<base::PciAddress>();
    return address ? kernel::find_pf_of(*address) : std::nullopt;
}

/// The state before goes into the step that has the VF's settings, which is made if ADD had nothing to set. It is
/// undone after the moves.
void remember(VfLinkState present, state::AttachmentRecord& record, const VfOf& of,
              const state::AttachmentStore& records) {
    const auto is_settings = [](const state::Step& step) { return step.kind == kSetVf; };
    auto at = std::find_if(record.steps.begin(), record.steps.end(), is_settings);
    SetVf settings{.pf = of.pf.to_string(), .number = of.number, .before = {}, .device = record.device()};
    if (at != record.steps.end())
        settings = parse_if<SetVf>(*at).value();
    else
        at = record.steps.insert(std::find_if(record.steps.begin(), record.steps.end(), is_move), state::Step{});
    if (settings.before.link_state) return;
    settings.before.link_state = present;
    *at = to_record(settings);
    records.save(record);
}

/// A PF that doesn't tell the new state would never get the old one back: then that is set at once.
bool switch_link_off(kernel::Socket& route, const kernel::VfId& vf, VfLinkState present) {
    kernel::change_vf(route, vf, {.link_state = VfLinkState::disable});
    const auto now = kernel::find_vf(route, vf);
    if (now && now->link_state == VfLinkState::disable) return true;
    kernel::change_vf(route, vf, {.link_state = present});
    return false;
}

} // namespace

bool is_still_with_attachment(const state::Step& move, const RevertContext& context) {
    const auto address = base::BusAddress::parse(move.holds.device);
    const auto own = find_recorded_netns(context.record, context.caller.netns_path);
    if (!context.is_of_owner || !address || !own) return false;
    const bool is_rdma = move.holds.rdma.has_value();
    const kernel::ElsewhereDevice moved{.address = *address, .net = !is_rdma, .rdma = is_rdma};
    const std::string& path = context.record.netns.path; // runtimes mount the namespaces of all pods in one directory
    const auto others = kernel::list_other_netns(path.substr(0, path.rfind('/')), *own);
    return !kernel::subtract_devices_in(others, {moved}).empty();
}

std::string contain_device(state::AttachmentRecord& record, const state::AttachmentStore& records) {
    constexpr std::chrono::seconds kTimeout{2}; // of its own: the time of the call went by with waiting for the device
    const auto of = find_vf_of(record);
    if (!of) return {};
    const auto deadline = base::Deadline::in(kTimeout);
    kernel::Socket route = kernel::Socket::open(kernel::Protocol::route, deadline);
    const auto vf = find_vf_id(*of, route);
    const auto present = vf ? kernel::find_vf(route, *vf) : std::nullopt;
    if (!present || !present->link_state) return {};
    const std::string keeps = concat(*vf, " keeps its settings");
    if (*present->link_state != VfLinkState::disable) {
        remember(*present->link_state, record, *of, records);
        if (!switch_link_off(route, *vf, *present->link_state))
            return concat(keeps, ", and its link, which the PF does not switch off");
    }
    return concat(keeps, ", and its link is off");
}

} // namespace rdmanet::attach
