#include "device_link.hpp"

#include <rdmanet/kernel/device.hpp>

#include <algorithm>

namespace rdmanet::attach {

using base::BusAddress;
using kernel::Link;

std::vector<Link> list_links_on_host(const BusAddress& address, kernel::Socket& route) {
    std::vector<Link> links;
    for (const std::string& netdev : kernel::netdevs_of(address)) {
        const auto name = base::InterfaceName::parse(netdev);
        auto link = name ? kernel::find_link(route, *name) : std::nullopt;
        if (link && !link->parent_ifindex) links.push_back(*std::move(link));
    }
    return links;
}

std::optional<Link> find_link_on_host(const BusAddress& address, kernel::Socket& route) {
    auto links = list_links_on_host(address, route);
    return links.empty() ? std::nullopt : std::optional(std::move(links.front()));
}

std::optional<Link> find_link_inside(const BusAddress& address, kernel::Socket& inside) {
    const auto links = kernel::list_links(inside);
    const auto found = std::find_if(links.begin(), links.end(), [&](const Link& link) {
        return !link.parent_ifindex && kernel::bus_address_of(link.parent_device) == address;
    });
    return found == links.end() ? std::nullopt : std::optional(*found);
}

} // namespace rdmanet::attach
