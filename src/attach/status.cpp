// STATUS: whether ADD would work now. It changes nothing that ADD uses, and reads little because CRI-O asks every half
// second.
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

void require_ipam(const Call& call, const config::IpamChoice& ipam) {
    if (const auto* own = std::get_if<ipam::Config>(&ipam)) {
        PodProbe pods(call.node);
        const std::string shortage = call.leases.find_shortage(*own, pods, call.deadline);
        if (!shortage.empty()) unavailable(shortage);
    }
    if (const auto* other = std::get_if<config::DelegatedIpam>(&ipam))
        cni::delegate_status(cni::delegate_call(*call.request, other->plugin), call.deadline);
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
void require_usable_device(const Call& call) {
    require_mode(call.config->rdma, call.request->conf.name, call.deadline);
    const auto named = find_named_device(call);
    const auto* address = named ? std::get_if<base::BusAddress>(&*named) : nullptr;
    if (address == nullptr) return;
    require_existing(*address);
    if (is_with_a_pod(*address, call.records, *call.host)) return;
    try {
        (void)find(call, *named);
    } catch (const cni::CniError&) { // any error is possible while an ADD moves the device
        if (!is_with_a_pod(*address, call.records, *call.host)) throw;
    }
}

/// Throws what ADD would throw for the parent, or for a device that the configuration names.
void require_usable(const Call& call) {
    if (call.config->is_device()) return require_usable_device(call);
    if (!call.config->link_in_container) (void)find(call, {}); // else the parent is in the pod, which is not there yet
}

} // namespace

void status(const cni::Request& request, const config::Config& config, const Node& node) {
    require_usable_state(node);
    const base::Logger silent(base::LogLevel::error); // ADD warns; STATUS comes twice a second
    Call call(node, base::Deadline::in(kStatusTimeout), request, state::Access::change, &silent);
    call.config = &config;
    kernel::Socket host = kernel::Socket::open(kernel::Protocol::route, call.deadline);
    call.host = &host;
    try {
        require_usable(call);
    } catch (const cni::CniError& error) {
        unavailable(error.what());
    }
    require_ipam(call, config.ipam);
}

void ipam_only::status(const cni::Request& request, const Node& node) {
    std::vector<std::string> warnings;
    const config::IpamChoice ipam = config::parse_ipam(request.conf, warnings);
    for (const std::string& warning : warnings) node.log.warn(warning);
    if (const auto* own = std::get_if<ipam::Config>(&ipam))
        config::require_useful_keys(own->useless_keys, false, node.strict);
    config::require_sound(ipam);
    require_usable_state(node);
    require_ipam(Call(node, base::Deadline::in(kStatusTimeout), request), ipam);
}

} // namespace rdmanet::attach
