#include "host_names.hpp"

#include "host_socket.hpp"

#include <rdmanet/base/interface_name.hpp>
#include <rdmanet/kernel/link.hpp>

namespace rdmanet::doctor {
namespace {

bool is_interface_of_host(const Context& context, const std::string& name) {
    auto route = open_on_host(context, kernel::Protocol::route);
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
