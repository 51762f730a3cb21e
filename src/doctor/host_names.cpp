#include "host_names.hpp"

#include <rdmanet/base/deadline.hpp>
#include <rdmanet/base/error.hpp>
#include <rdmanet/base/interface_name.hpp>
#include <rdmanet/kernel/link.hpp>
#include <rdmanet/kernel/netlink_socket.hpp>
#include <rdmanet/kernel/netns.hpp>

#include <chrono>

namespace rdmanet::doctor {
namespace {

/// If it cannot be entered, that of this process, as in the inventory, which says so.
kernel::Socket open_on_host(const Context& context) {
    const auto deadline = base::Deadline::in(std::chrono::seconds(1));
    try {
        if (const auto host = kernel::find_netns(context.inventory.namespaces.front().path))
            return kernel::Socket::open_in(*host, kernel::Protocol::route, deadline);
    } catch (const base::Error&) { // this user must not
    }
    return kernel::Socket::open(kernel::Protocol::route, deadline);
}

bool is_interface_of_host(const Context& context, const std::string& name) {
    auto route = open_on_host(context);
    if (const auto interface = base::InterfaceName::parse(name))
        return kernel::find_link(route, *interface).has_value();
    return kernel::find_link_by_altname(route, name).has_value();
}

bool is_rdma_device_of_host(const Context& context, const std::string& name) {
    for (const inventory::Device& device : context.inventory.devices)
        for (const inventory::RdmaDevice& rdma : device.rdma)
            if (rdma.place == 0 && rdma.name == name) return true;
    return false;
}

} // namespace

bool is_on_host(const Context& context, const std::string& name) {
    return is_rdma_device_of_host(context, name) || is_interface_of_host(context, name);
}

} // namespace rdmanet::doctor
