#include "device_check.hpp"

#include "device.hpp"

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

void check_settings(const cni::Request& request, const Config& config, const base::PciAddress& address,
                    const base::Deadline& deadline) {
    kernel::Socket route = kernel::Socket::open(kernel::Protocol::route, deadline);
    const auto of = kernel::find_pf_of(address);
    if (!of) differs(concat("device ", address, " is gone, or no VF any more"));
    const kernel::VfId vf = find_vf_id(address, *of, route);
    const auto present = kernel::find_vf(route, vf);
    if (!present) differs(concat(vf, " is gone"));
    const auto different = kernel::difference(wanted_settings(request, config), *present);
    if (!different.empty())
        differs(concat(vf, " has ", to_string(kernel::restrict_to(*present, different)), ", expected ",
                       to_string(different)));
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
    const auto* kept = find_step<state::KeepDevice>(record);
    return kept == nullptr || !kept->name.empty();
}

void check_device(const cni::Request& request, const Config& config, const state::AttachmentRecord& record,
                  const kernel::Netns& netns, const base::Deadline& deadline) {
    const auto* kept = find_step<state::KeepDevice>(record);
    if (kept == nullptr) differs("the journal's record is not that of a device");
    const auto address = base::PciAddress::parse(kept->device);
    if (!address || (config.device && *config.device != *address))
        differs(concat("the attachment has device ", kept->device, ", expected ",
                       config.device ? config.device->to_string() : std::string("a PCI address")));
    check_settings(request, config, *address, deadline);
    check_rdma_moved(record, netns, deadline);
}

} // namespace rdmanet::attach
