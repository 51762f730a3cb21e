#include "contain.hpp"

#include "registry.hpp"
#include "vf_settings.hpp"

#include "lookup/vf.hpp"
#include "owners/liveness.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/kernel/device.hpp>
#include <rdmanet/kernel/device_search.hpp>
#include <rdmanet/kernel/netlink_socket.hpp>
#include <rdmanet/kernel/netns.hpp>
#include <rdmanet/kernel/vf.hpp>

#include <algorithm>
#include <chrono>

namespace rdmanet::attach {
namespace {

using kernel::VfLinkState;
using kernel::VfOf;
using state::KeepDevice;
using state::MoveRdma;
using state::SetVf;

/// The attachment's VF. None if another plugin moved the interface: that plugin decides about the VF.
std::optional<VfOf> find_vf_of(const state::AttachmentRecord& record) {
    const auto address =
        record.has_step<KeepDevice>() ? base::PciAddress::parse(record.device()) : std::optional<base::PciAddress>();
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

std::string contain_device(state::AttachmentRecord& record, const state::AttachmentStore& records) {
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
