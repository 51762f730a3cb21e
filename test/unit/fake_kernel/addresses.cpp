#include "shared.hpp"

#include <rdmanet/kernel/address_probe.hpp>

namespace rdmanet::kernel {

std::vector<Address> list_addresses(Socket& socket, unsigned ifindex) {
    return need(machine().space_of(socket), ifindex, "list addresses").addresses;
}

void add_address(Socket& socket, unsigned ifindex, const base::IpPrefix& prefix, Dad /*dad*/) {
    Space& space = machine().space_of(socket);
    const std::string what = fmt::format("add {} to {}", prefix, name_of(space, ifindex));
    if (machine().change(what)) need(space, ifindex, what).addresses.push_back({.prefix = prefix});
}

void add_route(Socket& socket, const Route& route) {
    if (machine().change(fmt::format("add route {}", route.destination)))
        machine().space_of(socket).routes.push_back(route);
}

std::vector<Route> list_routes(Socket& socket, const RouteFilter& filter) {
    std::vector<Route> routes = machine().space_of(socket).routes;
    std::erase_if(routes, [&](const Route& route) {
        return (filter.family && route.destination.family() != *filter.family) ||
               (filter.ifindex && route.ifindex != *filter.ifindex) || (filter.table && route.table != *filter.table);
    });
    return routes;
}

std::optional<Route> find_default_route(Socket& socket, base::Family family) {
    for (const Route& route : list_routes(socket, {.family = family, .ifindex = {}, .table = kMainTable}))
        if (route.destination.is_default_route()) return route;
    return std::nullopt;
}

AddressProber::AddressProber(const Netns& /*netns*/, unsigned ifindex, const base::MacAddress& mac)
    : ifindex_(ifindex), mac_(mac) {}
std::optional<AddressHolder> AddressProber::find_holder(std::span<const base::IpAddress> /*addresses*/,
                                                        const base::Deadline& /*deadline*/) const {
    return std::nullopt;
}
void AddressProber::announce(std::span<const base::IpAddress> /*addresses*/) const {}

} // namespace rdmanet::kernel
