#include "device_check.hpp"

#include "vf_plan.hpp"

#include <rdmanet/base/text.hpp>
#include <rdmanet/cni/error.hpp>

namespace rdmanet::attach {
namespace {

using base::concat;
using base::quoted;

template <class Step>
const Step* find_step(const state::AttachmentRecord& record) {
    for (const state::Step& step : record.steps)
        if (const auto* found = std::get_if<Step>(&step)) return found;
    return nullptr;
}

void check_settings(const cni::Request& request, const Config& config, const base::BusAddress& address,
                    const base::Deadline& deadline) {
    kernel::Socket route = kernel::Socket::open(kernel::Protocol::route, deadline);
    const VfPlan vf = plan_vf(address, request, config, route);
    if (!vf.changes.empty())
        differs(concat(vf.id, " has ", to_string(kernel::restrict_to(vf.before, vf.changes)), ", expected ",
                       to_string(vf.changes)));
}

void check_rdma_moved(const state::AttachmentRecord& record, const kernel::Netns& netns,
                      const base::Deadline& deadline) {
    auto inside = kernel::Socket::find_rdma_in(netns, deadline);
    for (const state::Step& step : record.steps) {
        const auto* moved = std::get_if<state::MoveRdma>(&step);
        if (moved != nullptr && (!inside || !kernel::find_rdma_device(*inside, moved->index)))
            differs(concat("RDMA device ", quoted(moved->name), " of ", moved->device, " is gone from the pod"));
    }
}

} // namespace

void differs(const std::string& what) {
    throw cni::CniError(cni::ErrorCode::check_failed, what);
}

bool has_netdev(const state::AttachmentRecord& record) {
    return record.created_link() != nullptr || find_step<state::MoveLink>(record) != nullptr;
}

void check_device(const cni::Request& request, const Config& config, const state::AttachmentRecord& record,
                  const kernel::Netns& netns, const base::Deadline& deadline) {
    check_rdma_moved(record, netns, deadline);
    const auto* kept = find_step<state::KeepDevice>(record);
    if (kept == nullptr) return; // an earlier plugin's
    const auto address = base::BusAddress::parse(kept->device);
    if (!address || (config.device && *config.device != *address))
        differs(concat("the attachment has device ", kept->device, ", expected ",
                       config.device ? config.device->to_string() : std::string("the address of one")));
    if (std::holds_alternative<Sriov>(config.attach)) check_settings(request, config, *address, deadline);
}

} // namespace rdmanet::attach
