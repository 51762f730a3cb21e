#include "rdma_choice.hpp"

#include <rdmanet/base/text.hpp>
#include <rdmanet/cni/error.hpp>

#include <fnmatch.h>

#include <algorithm>
#include <utility>

namespace rdmanet::attach {
namespace {

using base::concat;
using base::quoted;

std::string shown(const config::RdmaChoice& choice) {
    const auto* place = std::get_if<std::size_t>(&choice);
    return place != nullptr ? concat(*place) : quoted(std::get<std::string>(choice));
}

bool is_meant(const config::RdmaChoice& choice, std::size_t place, const kernel::RdmaDevice& device) {
    const auto* pattern = std::get_if<std::string>(&choice);
    if (pattern == nullptr) return std::get<std::size_t>(choice) == place;
    return ::fnmatch(pattern->c_str(), device.name.c_str(), FNM_NOESCAPE) == 0;
}

/// "0 is "mlx5_2", 1 is "mlx5_3"".
std::string numbered(const RdmaDevices& devices) {
    std::string names;
    for (std::size_t place = 0; place < devices.size(); ++place)
        names += concat(place == 0 ? "" : ", ", place, " is ", quoted(devices[place].name));
    return names;
}

[[noreturn]] void refuse_choice(const DevicePlan& plan, const config::RdmaChoice& choice, const RdmaDevices& present) {
    const std::string names = numbered(present);
    throw cni::CniError(cni::ErrorCode::rdma, concat("rdma.device: ", shown(choice), " is no RDMA device of ",
                                                     plan.address, ", of whose RDMA devices ", names,
                                                     ": set it to one of these numbers, or to a pattern of names"));
}

/// Among all of the plan.
std::size_t place_of(const kernel::RdmaDevice& device, const DevicePlan& plan) {
    const auto is_before = [&](const kernel::RdmaDevice& other) { return other.index < device.index; };
    return static_cast<std::size_t>(std::count_if(plan.moving.begin(), plan.moving.end(), is_before) +
                                    std::count_if(plan.staying.begin(), plan.staying.end(), is_before));
}

} // namespace

void sort_as_made(RdmaDevices& devices) {
    std::sort(devices.begin(), devices.end(),
              [](const auto& one, const auto& other) { return one.index < other.index; });
}

void refuse_late_choice(const base::BusAddress& address, const config::RdmaPolicy& policy) {
    if (!policy.device && !policy.name) return;
    const std::string key =
        policy.device ? concat("rdma.device: ", shown(*policy.device)) : concat("rdma.name: ", quoted(*policy.name));
    throw cni::CniError(cni::ErrorCode::rdma,
                        concat(key, " comes too late, the RDMA devices of ", address,
                               " were moved by an entry of the list before this one: set it there"));
}

void choose_rdma(DevicePlan& plan, const config::RdmaPolicy& policy, RdmaDevices present) {
    sort_as_made(present);
    plan.moving.clear();
    plan.staying.clear();
    for (std::size_t place = 0; place < present.size(); ++place) {
        const bool moves = !policy.device || is_meant(*policy.device, place, present[place]);
        (moves ? plan.moving : plan.staying).push_back(present[place]);
    }
    if (plan.moving.empty() && policy.device) refuse_choice(plan, *policy.device, present);
    plan.name_in_pod = policy.name.value_or("");
    if (policy.name && plan.moving.size() > 1)
        throw cni::CniError(cni::ErrorCode::rdma,
                            concat("rdma.name: ", quoted(*policy.name), " is one name for ", plan.moving.size(),
                                   " RDMA devices of ", plan.address, ", of which ", numbered(present),
                                   ": set \"rdma.device\", too"));
}

void choose_rdma_again(DevicePlan& plan, const config::RdmaPolicy& policy, RdmaDevices made) {
    if (made.size() != plan.moving.size() + plan.staying.size()) return choose_rdma(plan, policy, std::move(made));
    sort_as_made(made);
    RdmaDevices moving;
    RdmaDevices staying;
    for (std::size_t place = 0; place < made.size(); ++place) {
        const auto before = [&](const kernel::RdmaDevice& other) { return place_of(other, plan) == place; };
        const bool moves = std::any_of(plan.moving.begin(), plan.moving.end(), before);
        (moves ? moving : staying).push_back(std::move(made[place]));
    }
    plan.moving = std::move(moving);
    plan.staying = std::move(staying);
}

} // namespace rdmanet::attach
