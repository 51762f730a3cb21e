#include "device_status.hpp"

#include "lookup/device_find.hpp"
#include "lookup/device_link.hpp"
#include "lookup/device_usable.hpp"
#include "steps/attached_device.hpp"
#include "steps/registry.hpp"

#include <rdmanet/cni/error.hpp>
#include <rdmanet/kernel/device.hpp>
#include <rdmanet/state/attachment_store.hpp>
#include <rdmanet/state/topic.hpp>

namespace rdmanet::attach {
namespace {

/// Whether a pod has the device: a record says so, or another plugin (which keeps no record) moved it away.
bool is_with_a_pod(const base::BusAddress& address, const state::AttachmentStore& records, kernel::Socket& route) {
    if (!records.list_about(state::device_topic(address.to_string())).empty()) return true;
    const std::string driver = kernel::driver_of(address);
    const bool makes_link = !driver.empty() && !is_user_space_driver(driver);
    return makes_link && list_links_on_host(address, route).empty();
}

} // namespace

void require_usable_device(const PlanContext& context) {
    require_mode(context.config.rdma, context.request.conf.name, context.deadline);
    const auto attached = [&](const config::HostDevice& wanted) { return find_attached(wanted, context.records); };
    const auto named = find_named_device(context.config, attached, context.deadline);
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

} // namespace rdmanet::attach
