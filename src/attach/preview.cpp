#include "prepare.hpp"
#include "session.hpp"

#include "lookup/adopted.hpp"
#include "lookup/request.hpp"
#include "owners/claims.hpp"
#include "owners/liveness.hpp"

#include <rdmanet/attach/preview.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/ipam/allocator.hpp>
#include <rdmanet/kernel/device.hpp>

#include <algorithm>
#include <utility>

namespace rdmanet::attach {
namespace {

using base::concat;
using base::quoted;
using Actions = std::vector<std::string>;

/// ", MTU 1500 -> 9000", ", MTU 1500" of what stays so.
std::string mtu_text(unsigned now, const std::optional<unsigned>& wanted) {
    return wanted && *wanted != now ? concat(", MTU ", now, " -> ", *wanted) : concat(", MTU ", now);
}

std::string asked_of(const ipam::Range& range, const std::vector<ipam::RequestedAddress>& requested) {
    for (const ipam::RequestedAddress& each : requested)
        if (range.contains(each.address)) return concat(each.address, ", which is asked for,");
    return "an address";
}

void tell_leases(Preview& preview, const cni::Request& request, const config::Config& config, Session& session,
                 const base::Deadline& deadline) {
    const auto* own = std::get_if<ipam::Config>(&config.ipam);
    if (own == nullptr) return;
    const auto requested = requested_addresses(request);
    PodProbe pods(session.node);
    ipam::Allocator allocator(session.leases, pods);
    for (const std::string& warning : allocator.foresee(*own, requested, deadline)) session.node.log.warn(warning);
    for (const ipam::ConfiguredRange& configured : own->ranges) {
        const RangeUsage now{.range = configured.range, .usage = allocator.usage(configured, deadline)};
        const std::string resting =
            now.usage.cooling == 0 ? "" : concat(", of which ", now.usage.cooling, " rest after their last pod");
        preview.actions.push_back(concat("lease ", asked_of(now.range, requested), " of range ", now.range, ": ",
                                         ipam::to_text(now.free_count()), " of ",
                                         ipam::to_text(now.range.usable_count()), " are free", resting));
        preview.ranges.push_back(now);
    }
    for (const ipam::StaticAddress& each : own->addresses)
        preview.actions.push_back(concat("lease ", each.address, ", which the configuration names"));
}

std::string mac_of_child(const cni::Request& request, const config::Config& config) {
    const auto* macvlan = std::get_if<config::Macvlan>(&config.attach);
    if (macvlan == nullptr) return {};
    if (const auto mac = wanted_mac(request, config)) return concat(", MAC ", *mac);
    return macvlan->mode == kernel::MacvlanMode::passthru ? ", MAC of its parent" : ", a MAC of its own";
}

void tell_child(Actions& actions, const cni::Request& request, const config::Config& config, const ChildPlan& plan) {
    const state::CreateLink step = child_step(request, config, plan);
    const std::string mtu = config.mtu          ? concat(", MTU ", *config.mtu)
                            : config.is_ipoib() ? std::string()
                                                : concat(", MTU ", plan.parent.mtu);
    actions.push_back(concat("make interface ", quoted(step.ifname), " in the pod: ", step.mode, " on parent ",
                             quoted(step.parent), step.parent_in_pod ? " in the pod" : "", mtu,
                             mac_of_child(request, config)));
}

void tell_vf(Actions& actions, const VfPlan& vf) {
    std::string changes;
    for (const kernel::VfSettings& each : kernel::each_of(vf.changes)) {
        const std::string before = kernel::to_string(kernel::restrict_to(vf.before, each));
        changes += concat(changes.empty() ? "" : ", ", before.empty() ? "(not told)" : before, " -> ",
                          kernel::to_string(each));
    }
    actions.push_back(changes.empty() ? concat("leave the settings of ", vf.id, " as they are")
                                      : concat("set ", vf.id, ": ", changes));
}

void tell_representor(Actions& actions, const RepresentorPlan& plan, const config::Config& config) {
    const state::SetRepresentor& before = plan.before;
    const std::string mtu = before.mtu ? mtu_text(*before.mtu, config.mtu) : std::string();
    const std::string text = concat(before.was_down ? ", up" : "", mtu, before.had_ipv6 ? ", without IPv6" : "");
    actions.push_back(text.empty() ? concat("leave its representor ", quoted(before.name), " as it is")
                                   : concat("set its representor ", quoted(before.name), text));
}

std::string move_text(const cni::Request& request, const config::Config& config, const kernel::Link& link) {
    const auto mac = wanted_mac(request, config);
    const bool is_new = mac && link.mac() != mac;
    return concat("move interface ", quoted(link.name), " into the pod as ", quoted(request.ifname().to_string()),
                  mtu_text(link.mtu, config.mtu),
                  is_new ? concat(", MAC ", link.hardware_address_text(), " -> ", *mac) : std::string());
}

void tell_rdma(Actions& actions, const DevicePlan& plan) {
    for (const kernel::RdmaDevice& device : plan.selection.moving)
        actions.push_back(
            concat("move RDMA device ", quoted(device.name), " into the pod",
                   plan.selection.name_in_pod.empty() ? "" : concat(" as ", quoted(plan.selection.name_in_pod))));
    for (const kernel::RdmaDevice& device : plan.selection.staying)
        actions.push_back(concat("leave RDMA device ", quoted(device.name), " on the host"));
}

void tell_device(Actions& actions, const cni::Request& request, const config::Config& config, const DevicePlan& plan) {
    if (plan.vf) tell_vf(actions, *plan.vf);
    if (plan.representor) tell_representor(actions, *plan.representor, config);
    if (!plan.rebind_to.empty())
        actions.push_back(concat("bind driver ", quoted(plan.rebind_to), " of device ", plan.address,
                                 " anew, which then takes the GUID"));
    if (plan.is_infiniband()) tell_rdma(actions, plan); // the kernel makes the interface anew
    if (plan.link) actions.push_back(move_text(request, config, *plan.link));
    if (!plan.link && !config.is_rdma_only())
        actions.push_back(concat("leave device ", plan.address, " with driver ",
                                 quoted(kernel::driver_of(plan.address)), " and without an interface"));
    if (!plan.is_infiniband()) tell_rdma(actions, plan);
}

void tell_shared_rdma(Actions& actions, const Prepared& prepared, const config::Config& config) {
    if (const auto& rdma = shared_port_of(prepared.plan))
        actions.push_back(concat("share ", *rdma, ", which stays on the host"));
    else if (prepared.record.rdma_device.empty() && !config.is_ipoib())
        actions.emplace_back("give it no RDMA device");
}

void tell_end(Actions& actions, const config::Config& config, const DevicePlan& plan) {
    if (config.device_info_file) actions.push_back(concat("write device-info file ", quoted(*config.device_info_file)));
    if (plan.reset) actions.push_back(concat("reset device ", plan.address, " when the pod is gone"));
}

/// ADD can't know whether a runtime without that capability is meant to have it.
void warn_of_missing_capability(const cni::Request& request, const config::Config& config, const Plan& plan,
                                const base::Logger& log) {
    if (!std::holds_alternative<DevicePlan>(plan) || config.device_info_file) return;
    const auto capabilities = request.conf.document.root().find("capabilities");
    const auto declared = capabilities ? capabilities->find("CNIDeviceInfoFile") : std::nullopt;
    if (declared && declared->is_boolean() && declared->boolean()) return;
    log.warn(
        "capabilities: \"CNIDeviceInfoFile\" is missing, so the pod's network status will not name the device: add "
        "\"capabilities\": {\"CNIDeviceInfoFile\": true}");
}

bool has_interface(const Plan& plan) {
    const auto* device = std::get_if<DevicePlan>(&plan);
    return device == nullptr || device->link;
}

std::string adopted_text(const cni::Request& request, const config::Config& config) {
    std::string text;
    for (const cni::IpConfig& ip : adopt_addresses(request, config).ips)
        text += concat(text.empty() ? "set it up with the addresses of prevResult: " : ", ", ip.address);
    return text.empty() ? "set it up, without addresses" : text;
}

void tell_addressing(Actions& actions, const cni::Request& request, const Prepared& prepared,
                     const config::Config& config) {
    if (const auto* other = std::get_if<config::DelegatedIpam>(&config.ipam))
        actions.push_back(concat("call IPAM plugin ", quoted(other->plugin), ", which gives the addresses"));
    if (!has_interface(prepared.plan)) return;
    std::string routes;
    if (const auto* own = std::get_if<ipam::Config>(&config.ipam))
        for (const ipam::Route& route : own->routes)
            routes += concat(routes.empty() ? " and routes to " : ", ", route.destination);
    const bool none = std::holds_alternative<config::NoIpam>(config.ipam);
    const char* probe = config.duplicate_detection == config::DuplicateDetection::probe
                            ? ", if no other host answers a probe for them"
                            : "";
    actions.push_back(none ? adopted_text(request, config) : concat("set it up with its addresses", routes, probe));
}

} // namespace

base::Uint128 RangeUsage::free_count() const {
    return range.usable_count() - usage.leases;
}

Preview preview_add(const cni::Request& request, const config::Config& config, const Node& node) {
    const auto deadline = base::Deadline::in(kAddTimeout);
    Session session(request, node, state::Access::look);
    Preview preview;
    Target target = find_target(request, config, session, deadline);
    if (target.moving)
        for (const state::AttachmentRecord& stale : list_stale_owners(to_string(*target.moving), session)) {
            preview.taken_back.push_back(describe(stale));
            session.disregarded.push_back(stale.key);
        }
    Prepared prepared = prepare(request, config, session, std::move(target), deadline);
    warn_of_missing_capability(request, config, prepared.plan, node.log);
    tell_leases(preview, request, config, session, deadline);
    if (const auto* device = std::get_if<DevicePlan>(&prepared.plan))
        tell_device(preview.actions, request, config, *device);
    else if (const auto* interface = std::get_if<InterfacePlan>(&prepared.plan))
        preview.actions.push_back(move_text(request, config, interface->link));
    else
        tell_child(preview.actions, request, config, std::get<ChildPlan>(prepared.plan));
    tell_shared_rdma(preview.actions, prepared, config);
    tell_addressing(preview.actions, request, prepared, config);
    if (const auto* device = std::get_if<DevicePlan>(&prepared.plan)) tell_end(preview.actions, config, *device);
    preview.record = std::move(prepared.record);
    return preview;
}

} // namespace rdmanet::attach
