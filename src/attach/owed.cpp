#include "owed.hpp"

#include <algorithm>
#include <iterator>

namespace rdmanet::attach {
namespace {

using state::AttachmentRecord;
using state::Step;

bool is_spoilt_by(const Step& step, const Step& owed) {
    if (state::is_any_of<state::KeepDevice>(step)) // drivers make the net device anew, on InfiniBand RDMA's move does
        return state::is_any_of<state::RebindDriver, state::ResetFunction, state::MoveRdma>(owed);
    if (state::is_any_of<state::RebindDriver, state::ResetFunction>(step)) // the driver takes what the PF has set
        return state::is_any_of<state::SetVf>(owed);
    return false;
}

/// One that is home by now is still none that a driver has made anew (see MoveRdma::stayed).
void remember_beside(const state::MoveRdma& home, std::vector<Step>& steps) {
    for (Step& step : steps)
        if (auto* move = std::get_if<state::MoveRdma>(&step); move != nullptr && move->device == home.device)
            move->stayed.push_back(home.index);
}

/// In records of earlier versions only KeepDevice tells the device.
void name_device(Step& step, const std::string& device) {
    if (auto* vf = std::get_if<state::SetVf>(&step); vf != nullptr && vf->device.empty()) vf->device = device;
    if (auto* port = std::get_if<state::SetRepresentor>(&step); port != nullptr && port->device.empty())
        port->device = device;
}

} // namespace

AttachmentRecord all_owed(const AttachmentRecord& record) {
    AttachmentRecord owed = record;
    owed.phase = state::Phase::prepared;
    const std::string device = record.device();
    for (Step& step : owed.steps) name_device(step, device);
    return owed;
}

void leave_owed(AttachmentRecord& owed, std::size_t at) {
    const auto step = std::next(owed.steps.begin(), static_cast<std::ptrdiff_t>(at));
    if (std::any_of(std::next(step), owed.steps.end(), [&](const Step& other) { return is_spoilt_by(*step, other); }))
        return;
    const Step undone = std::move(*step);
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
