#include "unrecorded_device.hpp"

#include "lookup/device_link.hpp"
#include "lookup/rdma_devices.hpp"
#include "steps/move_rdma.hpp"
#include "steps/rdma_names.hpp"
#include "steps/reset_function.hpp"

#include <rdmanet/config/config.hpp>
#include <rdmanet/json/reader.hpp>
#include <rdmanet/kernel/device.hpp>
#include <rdmanet/kernel/netns_sysfs.hpp>

namespace rdmanet::attach {
namespace {

/// None in shared mode, in which every namespace sees all RDMA devices.
RdmaDevices find_rdma_devices_inside(const base::BusAddress& address, const kernel::Netns& netns,
                                     const base::Deadline& deadline) {
    RdmaDevices devices;
    auto rdma = kernel::Socket::find_rdma_in(netns, deadline);
    if (!rdma || kernel::rdma_netns_mode(*rdma) == kernel::RdmaNetnsMode::shared) return devices;
    for (const std::string& name : kernel::rdma_devices_of(address, kernel::NetnsSysfs(netns)))
        if (auto device = kernel::find_rdma_device(*rdma, name)) devices.push_back(*std::move(device));
    return devices;
}

/// nullopt if the configuration names no usable device, because it was edited since ADD.
std::optional<base::BusAddress> find_device_of_request(const cni::Request& request) try {
    return config::find_device(request.conf.document.root());
} catch (const json::ValueError&) {
    return std::nullopt;
}

bool asks_for_reset(const cni::Request& request) {
    const auto reset = request.conf.document.root().find("reset");
    return reset && reset->is_boolean() && reset->boolean();
}

} // namespace

std::vector<state::Step> steps_of_unrecorded_device(const cni::Request& request, const Attachment& attachment,
                                                    const kernel::Netns& netns, kernel::Socket& inside,
                                                    const base::Deadline& deadline) {
    const auto address = find_device_of_request(request);
    if (!address) return {};
    const auto link = find_link_inside(*address, inside);
    if (!link || link->name != attachment.key.ifname) return {};
    std::vector<state::Step> steps;
    if (attachment.key.role.empty() && asks_for_reset(request))
        if (auto found =
                plan_reset(*address, list_waiting_names(name_keeper(attachment)), attachment.node.log, deadline))
            steps.emplace_back(state::ResetFunction{.device = address->to_string(),
                                                    .driver = std::move(found->driver),
                                                    .rdma_names = std::move(found->rdma_names)});
    if (attachment.key.role.empty())
        steps.emplace_back(state::MoveLink{.device = address->to_string(), .ifname = link->name});
    for (state::Step& step : rdma_steps(*address, find_rdma_devices_inside(*address, netns, deadline)))
        steps.push_back(std::move(step));
    return steps;
}

} // namespace rdmanet::attach
