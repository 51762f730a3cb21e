#include "device_link.hpp"

#include <rdmanet/kernel/device.hpp>

#include <linux/if_arp.h>

#include <algorithm>
#include <cstdint>

namespace rdmanet::attach {

using base::BusAddress;
using kernel::Link;

std::optional<Link> find_link_on_host(const BusAddress& address, kernel::Socket& route) {
    for (const std::string& netdev : kernel::netdevs_of(address)) {
        const auto name = base::InterfaceName::parse(netdev);
        auto link = name ? kernel::find_link(route, *name) : std::nullopt;
        if (link && !link->parent_ifindex) return link;
    }
    return std::nullopt;
}

std::optional<Link> find_link_inside(const BusAddress& address, kernel::Socket& inside) {
    const auto links = kernel::list_links(inside);
    const auto found = std::find_if(links.begin(), links.end(), [&](const Link& link) {
        return link.parent_device == address.to_string() && !link.parent_ifindex;
    });
    return found == links.end() ? std::nullopt : std::optional(*found);
}

std::optional<base::Guid> guid_of(const Link& link) {
    constexpr std::size_t kBytes = 8; // the last ones of an InfiniBand hardware address (RFC 4391, section 9.1.1)
    if (link.hardware_type != ARPHRD_INFINIBAND || link.hardware_address.size() < kBytes) return std::nullopt;
    std::uint64_t value = 0;
    for (auto byte = link.hardware_address.end() - kBytes; byte != link.hardware_address.end(); ++byte)
        value = value << 8U | *byte;
    return base::Guid(value);
}

} // namespace rdmanet::attach
