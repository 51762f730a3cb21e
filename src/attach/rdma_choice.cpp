#include "rdma_choice.hpp"

#include <rdmanet/base/text.hpp>
#include <rdmanet/cni/error.hpp>

#include <fnmatch.h>

#include <algorithm>

namespace rdmanet::attach {
namespace {

using base::concat;
using base::quoted;

/// IB_DEVICE_NAME_MAX, less the zero (include/uapi/rdma/rdma_netlink.h).
constexpr std::size_t kLongestRdmaName = 63;
constexpr std::int64_t kLastRdmaPlace = 63;

std::string shown(const RdmaChoice& choice) {
    const auto* place = std::get_if<std::size_t>(&choice);
    return place != nullptr ? concat(*place) : quoted(std::get<std::string>(choice));
}

bool is_meant(const RdmaChoice& choice, std::size_t place, const kernel::RdmaDevice& device) {
    const auto* pattern = std::get_if<std::string>(&choice);
    if (pattern == nullptr) return std::get<std::size_t>(choice) == place;
    return ::fnmatch(pattern->c_str(), device.name.c_str(), FNM_NOESCAPE) == 0;
}

[[noreturn]] void refuse_choice(const DevicePlan& plan, const RdmaChoice& choice, const RdmaDevices& present) {
    std::string names;
    for (std::size_t place = 0; place < present.size(); ++place)
        names += concat(place == 0 ? "" : ", ", place, " is ", quoted(present[place].name));
    throw cni::CniError(cni::ErrorCode::rdma, concat("rdma.device: ", shown(choice), " is no RDMA device of ",
                                                     plan.address, ", of whose RDMA devices ", names,
                                                     ": set it to one of these numbers, or to a pattern of names"));
}

} // namespace

std::optional<RdmaChoice> parse_rdma_choice(const json::Reader& rdma) {
    const auto device = rdma.find("device");
    if (!device) return std::nullopt;
    if (!device->is_string()) return RdmaChoice(static_cast<std::size_t>(device->integer(0, kLastRdmaPlace)));
    std::string pattern = device->string();
    if (pattern.empty() || pattern.size() > kLongestRdmaName || !base::is_printable_utf8(pattern))
        throw device->unexpected("a number from 0, or a name of an RDMA device, in which * and ? stand for anything");
    return RdmaChoice(std::move(pattern));
}

void refuse_late_choice(const base::BusAddress& address, const RdmaPolicy& policy) {
    if (policy.device)
        throw cni::CniError(cni::ErrorCode::rdma,
                            concat("rdma.device: ", shown(*policy.device), " comes too late, the RDMA devices of ",
                                   address, " were moved by an entry of the list before this one: set it there"));
}

void choose_rdma(DevicePlan& plan, const RdmaPolicy& policy, RdmaDevices present) {
    // As the driver has made them: a name may become another by udev, a number can't.
    std::sort(present.begin(), present.end(),
              [](const auto& one, const auto& other) { return one.index < other.index; });
    plan.moving.clear();
    plan.staying.clear();
    for (std::size_t place = 0; place < present.size(); ++place) {
        const bool moves = !policy.device || is_meant(*policy.device, place, present[place]);
        (moves ? plan.moving : plan.staying).push_back(present[place]);
    }
    if (plan.moving.empty() && policy.device) refuse_choice(plan, *policy.device, present);
}

} // namespace rdmanet::attach
