#include "remaining.hpp"

#include "steps/kinds.hpp"
#include "steps/move_rdma.hpp"
#include "steps/registry.hpp"

#include <algorithm>
#include <iterator>

namespace rdmanet::attach {

using state::AttachmentRecord;

AttachmentRecord all_remaining(const AttachmentRecord& record) {
    AttachmentRecord remaining = record;
    remaining.phase = state::Phase::prepared;
    const std::string device = record.device();
    for (state::Step& step : remaining.steps) name_device(step, device);
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
    if (has_no_leases && !has_step(remaining, kDelegateIpam)) remaining.ips.clear();
    if (remaining.device().empty() && remaining.child() == nullptr) remaining.rdma_device.clear();
    remaining.routes.clear();
    remaining.vf_settings.reset();
}

} // namespace rdmanet::attach
