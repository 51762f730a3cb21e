#include "remaining.hpp"

#include "steps/registry.hpp"

#include <algorithm>
#include <iterator>

namespace rdmanet::attach {

using state::AttachmentRecord;
using state::MoveRdma;

namespace {

/// The steps that move RDMA devices of the same device remember the returned one. Otherwise it would look like one that
/// the driver created since.
void remember_sibling(const state::Step& undone, std::vector<state::Step>& remaining) {
    const auto* returned = std::get_if<MoveRdma>(&undone);
    if (returned == nullptr) return;
    for (state::Step& step : remaining)
        if (auto* move = std::get_if<MoveRdma>(&step); move != nullptr && move->device == returned->device)
            move->stayed.push_back(returned->index);
}

} // namespace

AttachmentRecord all_remaining(const AttachmentRecord& record) {
    AttachmentRecord remaining = record;
    remaining.phase = state::Phase::prepared;
    return remaining;
}

void drop_undone_step(AttachmentRecord& remaining, std::size_t at) {
    const auto step = std::next(remaining.steps.begin(), static_cast<std::ptrdiff_t>(at));
    if (std::any_of(std::next(step), remaining.steps.end(),
                    [&](const state::Step& other) { return is_spoilt_by(*step, other); }))
        return;
    const state::Step undone = std::move(*step);
    remaining.steps.erase(step);
    remember_sibling(undone, remaining.steps);
}

void drop_released(AttachmentRecord& remaining, bool has_no_leases) {
    if (has_no_leases) remaining.leases.clear();
    if (has_no_leases) remaining.lease_store.reset();
    if (has_no_leases && !remaining.has_step<state::DelegateIpam>()) remaining.ips.clear();
    if (remaining.device().empty() && remaining.child() == nullptr) remaining.rdma_device.clear();
    remaining.routes.clear();
    remaining.vf_settings.reset();
}

} // namespace rdmanet::attach
