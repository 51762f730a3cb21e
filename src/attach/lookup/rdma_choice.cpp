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

[[noreturn]] void refuse_choice(const base::BusAddress& address, const config::RdmaChoice& choice,
                                const RdmaDevices& present) {
    const std::string names = numbered(present);
    throw cni::CniError(cni::ErrorCode::rdma,
                        concat("rdma.device: ", address, " has no RDMA device ", shown(choice), "; ", names,
                               ": set it to one of these numbers, or to a pattern of names"));
}

/// The device's place among all devices of the earlier choice.
std::size_t place_of(const kernel::RdmaDevice& device, const RdmaSelection& all) {
    const auto is_before = [&](const kernel::RdmaDevice& other) { return other.index < device.index; };
    return static_cast<std::size_t>(std::count_if(all.moving.begin(), all.moving.end(), is_before) +
                                    std::count_if(all.staying.begin(), all.staying.end(), is_before));
}

} // namespace

void refuse_late_choice(const base::BusAddress& address, const config::RdmaPolicy& policy) {
    if (!policy.device && !policy.name) return;
    const std::string key =
        policy.device ? concat("rdma.device: ", shown(*policy.device)) : concat("rdma.name: ", quoted(*policy.name));
    throw cni::CniError(cni::ErrorCode::rdma,
                        concat(key, " has no effect here, because the RDMA devices of ", address,
                               " were already moved by an earlier entry of the list: set it there"));
}

RdmaSelection choose_rdma(const base::BusAddress& address, const config::RdmaPolicy& policy, RdmaDevices present) {
    sort_as_made(present);
    RdmaSelection chosen;
    for (std::size_t place = 0; place < present.size(); ++place) {
        const bool moves = !policy.device || is_meant(*policy.device, place, present[place]);
        (moves ? chosen.moving : chosen.staying).push_back(present[place]);
    }
    if (chosen.moving.empty() && policy.device) refuse_choice(address, *policy.device, present);
    chosen.name_in_pod = policy.name.value_or("");
    if (policy.name && chosen.moving.size() > 1)
        throw cni::CniError(cni::ErrorCode::rdma, concat("rdma.name: ", quoted(*policy.name), " is one name for ",
                                                         chosen.moving.size(), " RDMA devices of ", address, " (",
                                                         numbered(present), "): set \"rdma.device\" as well"));
    return chosen;
}

RdmaSelection choose_rdma_again(const base::BusAddress& address, const config::RdmaPolicy& policy,
                                const RdmaSelection& before, RdmaDevices made) {
    if (made.size() != before.moving.size() + before.staying.size())
        return choose_rdma(address, policy, std::move(made));
    sort_as_made(made);
    RdmaSelection chosen{.name_in_pod = before.name_in_pod};
    for (std::size_t place = 0; place < made.size(); ++place) {
        const auto was_there = [&](const kernel::RdmaDevice& other) { return place_of(other, before) == place; };
        const bool moves = std::any_of(before.moving.begin(), before.moving.end(), was_there);
        (moves ? chosen.moving : chosen.staying).push_back(std::move(made[place]));
    }
    return chosen;
}

} // namespace rdmanet::attach
