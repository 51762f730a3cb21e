// RDMA devices that programs and kernel modules of the node keep from pods.
#include "checks.hpp"
#include "host_socket.hpp"

#include <rdmanet/attach/rdma_use.hpp>

namespace rdmanet::doctor {
namespace {

using inventory::Device;

/// The function whose RDMA device on the host has that name; nullptr for soft-RoCE, which pods do not get.
const Device* find_function(const Context& context, const std::string& rdma_name) {
    for (const Device& device : context.inventory.devices)
        for (const inventory::RdmaDevice& rdma : device.rdma)
            if (device.address && rdma.place == 0 && rdma.name == rdma_name) return &device;
    return nullptr;
}

/// VFs and sub-functions are made for pods. A PF may be the node's own.
bool is_for_pods(const Device& device) {
    return device.parent || (device.pci && device.pci->pf);
}

/// Only a device that moves is taken from its users, and devices move in mode exclusive. That the mode is known also
/// means that ib_core is there, so the socket loads nothing.
void check_device_users(const Context& context, Findings& found) {
    if (context.inventory.mode() != kernel::RdmaNetnsMode::exclusive) return;
    auto rdma = open_on_host(context.inventory, kernel::Protocol::rdma);
    for (const kernel::RdmaDevice& each : kernel::list_rdma_devices(rdma)) {
        const Device* const device = find_function(context, each.name);
        const auto use = device == nullptr ? std::nullopt : attach::find_rdma_use(rdma, each);
        if (!use) continue;
        const std::string what = fmt::format("{}, so ADD does not move it into a pod", use->what);
        const std::string fix = fmt::format("{} before a pod gets the device", use->fix);
        if (is_for_pods(*device))
            found.warning(subject_of(*device), what, fix);
        else
            found.info(subject_of(*device), what, fix);
    }
}

constexpr Check kDeviceUserChecks[] = {
    {{"device-users", Layer::rdma, "programs and kernel modules that use a device in mode exclusive"},
     check_device_users},
};

} // namespace

std::span<const Check> device_user_checks() {
    return kDeviceUserChecks;
}

} // namespace rdmanet::doctor
