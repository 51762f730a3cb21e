// STATUS: whether ADD would work now. It changes nothing that ADD uses, and reads little because CRI-O asks every half
// second.
#include "session.hpp"

#include "lookup/device_link.hpp"
#include "lookup/device_usable.hpp"
#include "owners/liveness.hpp"
#include "steps/registry.hpp"

#include <rdmanet/attach/operations.hpp>
#include <rdmanet/base/format.hpp>
#include <rdmanet/cni/delegate.hpp>
#include <rdmanet/cni/error.hpp>
#include <rdmanet/ipam/allocator.hpp>
#include <rdmanet/kernel/device.hpp>
#include <rdmanet/state/state_directory.hpp>
#include <rdmanet/state/topic.hpp>

namespace rdmanet::attach {
namespace {

[[noreturn]] void unavailable(const std::string& why) {
    throw cni::CniError(cni::ErrorCode::plugin_not_available, why);
}

void require_usable_state(const Node& node) {
    if (const std::string fault = state::find_directory_fault(node.state_directory); !fault.empty()) unavailable(fault);
}

void require_free_addresses(const ipam::Config& config, const Node& node, const base::Deadline& deadline) {
    const state::AttachmentStore records = node.records();
    PodProbe pods(node);
    const std::string shortage = leases::Leases(node, records).find_shortage(config, pods, deadline);
    if (!shortage.empty()) unavailable(shortage);
}

void require_ipam(const cni::Request& request, const config::IpamChoice& ipam, const Node& node,
                  const base::Deadline& deadline) {
    if (const auto* own = std::get_if<ipam::Config>(&ipam)) require_free_addresses(*own, node, deadline);
    if (const auto* other = std::get_if<config::DelegatedIpam>(&ipam))
        cni::delegate_status(cni::delegate_call(request, other->plugin), deadline);
}

/// Whether a pod has the device: a record says so, or another plugin (which keeps no record) moved it away.
bool is_with_a_pod(const base::BusAddress& address, const state::AttachmentStore& records, kernel::Socket& route) {
    if (!records.list_about(state::device_topic(address.to_string())).empty()) return true;
    const std::string driver = kernel::driver_of(address);
    const bool makes_link = !driver.empty() && !is_user_space_driver(driver);
    return makes_link && list_links_on_host(address, route).empty();
}

/// For networks that move a device. If the configuration names the device, it must exist, be set up, not be in use by
/// the node, have what the network asks of RDMA, and have an active port. If the device plugin will choose one, only
/// the node's RDMA mode is checked. A device that a pod has now is no error: the next ADD comes after that pod. May
/// create and take the lock of RDMA moves for a moment, to ask the kernel whether the device could move.
void require_usable_device(const PlanContext& context) {
    require_mode(context.config.rdma, context.request.conf.name, context.deadline);
    const auto named = find_named_device(context.config, context.records, context.deadline);
    const auto* address = named ? std::get_if<base::BusAddress>(&*named) : nullptr;
    if (address == nullptr) return;
    require_existing(*address);
    if (is_with_a_pod(*address, context.records, context.host)) return;
    try {
        (void)find_out(context, *named);
    } catch (const cni::CniError&) { // any error is possible while an ADD moves the device
        if (!is_with_a_pod(*address, context.records, context.host)) throw;
    }
}

/// Throws what ADD would throw for the parent, or for a device that the configuration names.
void require_usable(const cni::Request& request, const config::Config& config, const Node& node,
                    const base::Deadline& deadline) {
    const state::AttachmentStore records = node.records();
    kernel::Socket host = kernel::Socket::open(kernel::Protocol::route, deadline);
    const base::Logger silent(base::LogLevel::error); // ADD warns; STATUS comes twice a second
    const PlanContext context{request, config, records, silent, deadline, host};
    if (config.is_device()) return require_usable_device(context);
    if (!config.link_in_container) (void)find_out(context, {}); // else the parent is in the pod, which is not there yet
}

} // namespace

void status(const cni::Request& request, const config::Config& config, const Node& node) {
    const auto deadline = base::Deadline::in(kStatusTimeout);
    require_usable_state(node);
    try {
        require_usable(request, config, node, deadline);
    } catch (const cni::CniError& error) {
        unavailable(error.what());
    }
    require_ipam(request, config.ipam, node, deadline);
}

void ipam_only::status(const cni::Request& request, const Node& node) {
    std::vector<std::string> warnings;
    const config::IpamChoice ipam = config::parse_ipam(request.conf, warnings);
    for (const std::string& warning : warnings) node.log.warn(warning);
    if (const auto* own = std::get_if<ipam::Config>(&ipam))
        config::require_useful_keys(own->useless_keys, false, node.strict);
    config::require_sound(ipam);
    require_usable_state(node);
    require_ipam(request, ipam, node, base::Deadline::in(kStatusTimeout));
}

} // namespace rdmanet::attach
