#include <rdmanet/kernel/address.hpp>
#include <rdmanet/kernel/link.hpp>
#include <rdmanet/kernel/route.hpp>
#include <rdmanet/verify/meeting.hpp>

#include <linux/if.h>

#include <chrono>

namespace rdmanet::verify {
namespace {

constexpr std::chrono::seconds kSocketPatience{10};

std::optional<base::IpAddress> address_on(kernel::Socket& socket, unsigned ifindex) {
    for (const kernel::Address& each : kernel::list_addresses(socket, ifindex))
        if (!each.prefix.address().is_link_local()) return each.prefix.address();
    return std::nullopt;
}

} // namespace

std::optional<base::IpAddress> find_own_address() {
    kernel::Socket socket = kernel::Socket::open(kernel::Protocol::route, base::Deadline::in(kSocketPatience));
    for (const base::Family family : {base::Family::v4, base::Family::v6})
        if (const auto route = kernel::find_default_route(socket, family))
            if (const auto address = address_on(socket, route->ifindex)) return address;
    for (const kernel::Link& link : kernel::list_links(socket))
        if (link.is_up() && (link.flags & IFF_LOOPBACK) == 0)
            if (const auto address = address_on(socket, link.ifindex)) return address;
    return std::nullopt;
}

} // namespace rdmanet::verify
