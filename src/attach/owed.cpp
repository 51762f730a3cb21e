#include "owed.hpp"

#include "steps/move_rdma.hpp"
#include "steps/registry.hpp"

#include <algorithm>
#include <iterator>

namespace rdmanet::attach {
namespace {

using state::AttachmentRecord;

/// In records of earlier versions only KeepDevice tells the device.
void name_device(state::Step& step, const std::string& device) {
    if (auto* vf = std::get_if<state::SetVf>(&step); vf != nullptr && vf->device.empty()) vf->device = device;
    if (auto* port = std::get_if<state::SetRepresentor>(&step); port != nullptr && port->device.empty())
        port->device = device;
}

} // namespace

AttachmentRecord all_owed(const AttachmentRecord& record) {
    AttachmentRecord owed = record;
    owed.phase = state::Phase::prepared;
    const std::string device = record.device();
    for (state::Step& step : owed.steps) name_device(step, device);
    return owed;
}

void leave_owed(AttachmentRecord& owed, std::size_t at) {
    const auto step = std::next(owed.steps.begin(), static_cast<std::ptrdiff_t>(at));
    if (std::any_of(std::next(step), owed.steps.end(),
                    [&](const state::Step& other) { return is_spoilt_by(*step, other); }))
        return;
    const state::Step undone = std::move(*step);
    owed.steps.erase(step);
    if (const auto* home = std::get_if<state::MoveRdma>(&undone)) remember_beside(*home, owed.steps);
}

void forget_given_back(AttachmentRecord& owed, bool has_no_leases) {
    if (has_no_leases) owed.leases.clear();
    if (has_no_leases && owed.find_step<state::DelegateIpam>() == nullptr) owed.ips.clear();
    if (owed.device().empty() && owed.created_link() == nullptr) owed.rdma_device.clear();
    owed.routes.clear();
    owed.vf_settings.reset();
}

} // namespace rdmanet::attach
