#include "prepare.hpp"

#include "owners/attached_device.hpp"
#include "owners/attachment.hpp"
#include "steps/delegate.hpp"

#include <rdmanet/base/text.hpp>
#include <rdmanet/cni/error.hpp>

#include <utility>
#include <vector>

namespace rdmanet::attach {
namespace {

using base::concat;
using base::quoted;

/// With commas between them, as the SR-IOV device plugin writes them into its device-info files.
std::string names_of(const RdmaDevices& devices) {
    std::string names;
    for (const kernel::RdmaDevice& device : devices) names += concat(names.empty() ? "" : ",", device.name);
    return names;
}

std::vector<state::Step> steps_of(const cni::Request& request, const config::Config& config, const Plan& plan,
                                  const base::Deadline& deadline, const base::Logger& log) {
    std::vector<state::Step> steps;
    if (const auto* device = std::get_if<DevicePlan>(&plan)) {
        steps = device_steps(request, config, *device, deadline, log);
        if (config.device_info_file) steps.emplace_back(state::WriteDeviceInfo{.path = *config.device_info_file});
    } else if (const auto* interface = std::get_if<InterfacePlan>(&plan)) {
        steps.emplace_back(interface_step(request, *interface, deadline, log));
    } else {
        steps.emplace_back(child_step(request, config, std::get<ChildPlan>(plan)));
    }
    if (const auto* delegated = std::get_if<config::DelegatedIpam>(&config.ipam))
        steps.emplace_back(delegate_step(request, delegated->plugin));
    return steps;
}

state::AttachmentRecord first_record(const cni::Request& request, const config::Config& config, const Node& node,
                                     const PodSide& pod, const Plan& plan, const base::Deadline& deadline) {
    state::AttachmentRecord record = begin_record(request, node, pod.netns);
    record.attach = config.kind();
    record.rdma_device = rdma_device_of(plan);
    record.steps = steps_of(request, config, plan, deadline, node.log);
    return record;
}

} // namespace

Target find_target(const cni::Request& request, const config::Config& config, const Attachment& attachment,
                   const base::Deadline& deadline) {
    require_storable(attachment.key);
    require_possible(request, config, attachment.node.log);
    Target target{.pod = open_pod_side(request, deadline), .moving = {}};
    const auto attached = [&](const config::HostDevice& wanted) { return find_attached(wanted, attachment.records); };
    if (config.is_device()) target.moving = find_movable(request, config, target.pod, attached, deadline);
    return target;
}

Prepared prepare(const cni::Request& request, const config::Config& config, const Attachment& attachment, Target target,
                 const base::Deadline& deadline) {
    if (!config.is_rdma_only() && kernel::find_link(target.pod.route, request.ifname()))
        refuse_taken_name(request, ": remove it, or choose another interface name");
    Plan plan = make_plan(request, config, attachment, target.pod, target.moving, deadline);
    state::AttachmentRecord record = first_record(request, config, attachment.node, target.pod, plan, deadline);
    return {.pod = std::move(target.pod), .plan = std::move(plan), .record = std::move(record)};
}

void refuse_taken_name(const cni::Request& request, std::string_view cure) {
    throw cni::CniError(cni::ErrorCode::name_taken, concat("interface ", quoted(request.ifname().to_string()),
                                                           " exists already in ", request.netns_path, cure));
}

const std::optional<kernel::RdmaPort>& shared_port_of(const Plan& plan) {
    return std::visit(
        [](const auto& concrete) -> const auto& { return concrete.rdma; }, plan);
}

std::string rdma_device_of(const Plan& plan) {
    const auto& rdma = shared_port_of(plan);
    if (rdma) return rdma->link_name();
    const auto* device = std::get_if<DevicePlan>(&plan);
    if (device == nullptr) return {};
    return device->selection.name_in_pod.empty() ? names_of(device->selection.moving) : device->selection.name_in_pod;
}

} // namespace rdmanet::attach
