#include "device_status.hpp"

#include "lookup/device_find.hpp"
#include "lookup/device_link.hpp"
#include "lookup/device_usable.hpp"
#include "lookup/rdma_devices.hpp"
#include "steps/attached_device.hpp"
#include "steps/device_port.hpp"
#include "steps/move_rdma.hpp"
#include "steps/reset_function.hpp"
#include "steps/vf_settings.hpp"

#include <rdmanet/base/logger.hpp>
#include <rdmanet/cni/error.hpp>
#include <rdmanet/kernel/device.hpp>
#include <rdmanet/kernel/netns.hpp>
#include <rdmanet/state/attachment_store.hpp>
#include <rdmanet/state/topic.hpp>

#include <algorithm>
#include <chrono>
#include <optional>

namespace rdmanet::attach {
namespace {

/// Whether a pod has the device: a record says so, or another plugin (which keeps no record) moved it away.
bool is_with_a_pod(const base::BusAddress& address, const state::AttachmentStore& records, kernel::Socket& route) {
    if (!records.list_about(state::device_topic(address.to_string())).empty()) return true;
    const std::string driver = kernel::driver_of(address);
    const bool makes_link = !driver.empty() && !is_user_space_driver(driver);
    return makes_link && list_links_on_host(address, route).empty();
}

/// Asks the kernel whether the RDMA devices could move to another namespace. It takes the lock of RDMA moves, so that
/// no device arrives in that namespace meanwhile. It does not ask if the lock is taken or no other namespace is
/// known.
void require_movable_somewhere(FoundDevice& plan, const config::RdmaPolicy& policy, kernel::Socket& rdma,
                               const state::AttachmentStore& records, const base::Logger& log) try {
    if (plan.selection.moving.empty() || policy.demand != config::RdmaDemand::required) return;
    const auto elsewhere = kernel::find_other_netns();
    if (!elsewhere) return;
    const base::FileLock lock = records.lock_rdma(base::Deadline::in(std::chrono::milliseconds{0}));
    const RdmaDevices by_now = find_rdma_devices(plan.address, rdma);
    std::erase_if(plan.selection.moving, [&](const kernel::RdmaDevice& device) {
        return std::none_of(by_now.begin(), by_now.end(),
                            [&](const kernel::RdmaDevice& other) { return other.index == device.index; });
    });
    require_movable(plan, policy, rdma, *elsewhere, log);
} catch (const base::TimeoutError&) { // the next STATUS asks
}

void require_usable_device(const base::BusAddress& address, const cni::Request& request, const config::Config& config,
                           const state::AttachmentStore& records, kernel::Socket& route,
                           const base::Deadline& deadline) {
    FoundDevice plan{.address = address};
    if (std::holds_alternative<config::Sriov>(config.attach)) plan.vf = plan_vf(address, request, config, route);
    if (is_with_a_pod(address, records, route)) return;
    if (config.reset) require_resettable(address);
    if (!config.is_rdma_only()) plan.link = find_device_link(address, route);
    if (plan.link) require_spare(address, *plan.link, route);
    const base::Logger silent(base::LogLevel::error); // ADD warns; STATUS comes twice a second
    auto rdma = kernel::Socket::find_rdma(deadline);
    find_rdma_of_device(plan, config, request, rdma ? &*rdma : nullptr, silent);
    if (rdma) require_movable_somewhere(plan, config.rdma, *rdma, records, silent);
    if (plan.link) require_active_port_before(plan, config, plan.link->name, silent, deadline);
}

} // namespace

void require_device(const cni::Request& request, const config::Config& config, const Node& node,
                    const base::Deadline& deadline) {
    require_mode(config.rdma, request.conf.name, deadline);
    const state::AttachmentStore records = node.records();
    const auto named = find_named_device(
        config, [&](const config::HostDevice& wanted) { return find_attached(wanted, records); }, deadline);
    const auto* address = named ? std::get_if<base::BusAddress>(&*named) : nullptr;
    if (address == nullptr) return;
    require_existing(*address);
    kernel::Socket route = kernel::Socket::open(kernel::Protocol::route, deadline);
    try {
        require_usable_device(*address, request, config, records, route, deadline);
    } catch (const cni::CniError&) { // any error is possible while an ADD moves the device
        if (!is_with_a_pod(*address, records, route)) throw;
    }
}

} // namespace rdmanet::attach
