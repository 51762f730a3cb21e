#include "rdma_choice.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/cni/error.hpp>

#include <fnmatch.h>

#include <algorithm>
#include <utility>

namespace rdmanet::attach {
namespace {

using base::quoted;

std::string shown(const config::RdmaChoice& choice) {
    const auto* place = std::get_if<std::size_t>(&choice);
    return place != nullptr ? std::to_string(*place) : quoted(std::get<std::string>(choice));
}

bool is_meant(const config::RdmaChoice& choice, std::size_t place, const kernel::RdmaDevice& device) {
    const auto* pattern = std::get_if<std::string>(&choice);
    if (pattern == nullptr) return std::get<std::size_t>(choice) == place;
    return ::fnmatch(pattern->c_str(), device.name.c_str(), FNM_NOESCAPE) == 0;
}

/// `0 ("mlx5_2"), 1 ("mlx5_3")`.
std::string numbered(const RdmaDevices& devices) {
    std::string names;
    for (std::size_t place = 0; place < devices.size(); ++place)
        names += fmt::format("{}{} ({})", place == 0 ? "" : ", ", place, quoted(devices[place].name));
    return names.empty() ? "none" : names;
}

[[noreturn]] void refuse_choice(const base::BusAddress& address, const config::RdmaChoice& choice,
                                const RdmaDevices& present) {
    throw cni::CniError(
        cni::ErrorCode::rdma,
        fmt::format("rdma.device: {} has no RDMA device {}, it has {}: set \"rdma.device\" to one of these "
                    "numbers, or to a name (* and ? match anything)",
                    address, shown(choice), numbered(present)));
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
    const std::string key = policy.device ? fmt::format("rdma.device: {}", shown(*policy.device))
                                          : fmt::format("rdma.name: {}", quoted(*policy.name));
    throw cni::CniError(
        cni::ErrorCode::rdma,
        fmt::format("{} has no effect here, because an earlier plugin of the list has already moved the "
                    "RDMA devices of {}: set it there",
                    key, address));
}

RdmaSelection choose_rdma(const base::BusAddress& address, const config::RdmaPolicy& policy, RdmaDevices present) {
    sort_in_driver_order(present);
    RdmaSelection chosen;
    for (std::size_t place = 0; place < present.size(); ++place) {
        const bool moves = !policy.device || is_meant(*policy.device, place, present[place]);
        (moves ? chosen.moving : chosen.staying).push_back(present[place]);
    }
    if (chosen.moving.empty() && policy.device) refuse_choice(address, *policy.device, present);
    chosen.name_in_pod = policy.name.value_or("");
    if (policy.name && chosen.moving.size() > 1)
        throw cni::CniError(cni::ErrorCode::rdma,
                            fmt::format("rdma.name: {} is one name for {} RDMA devices of {}, which has {}: set "
                                        "\"rdma.device\" to one of them as well",
                                        quoted(*policy.name), chosen.moving.size(), address, numbered(present)));
    return chosen;
}

RdmaSelection choose_rdma_again(const base::BusAddress& address, const config::RdmaPolicy& policy,
                                const RdmaSelection& before, RdmaDevices made) {
    if (made.size() != before.moving.size() + before.staying.size())
        return choose_rdma(address, policy, std::move(made));
    sort_in_driver_order(made);
    RdmaSelection chosen{.name_in_pod = before.name_in_pod};
    for (std::size_t place = 0; place < made.size(); ++place) {
        const auto was_there = [&](const kernel::RdmaDevice& other) { return place_of(other, before) == place; };
        const bool moves = std::any_of(before.moving.begin(), before.moving.end(), was_there);
        (moves ? chosen.moving : chosen.staying).push_back(std::move(made[place]));
    }
    return chosen;
}

} // namespace rdmanet::attach
