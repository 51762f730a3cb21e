#include "session.hpp"

namespace rdmanet::attach {

cni::Dns chosen_dns(const cni::Dns& configured, const cni::Dns& from_ipam) {
    return configured.empty() ? from_ipam : configured;
}

cni::Result to_result(const ipam::Allocation& allocation) {
    cni::Result result;
    for (const ipam::AllocatedAddress& ip : allocation.ips)
        result.ips.push_back({.address = ip.address, .gateway = ip.gateway, .interface = {}});
    for (const ipam::Route& route : allocation.routes)
        result.routes.push_back({.dst = route.destination,
                                 .gw = route.gateway,
                                 .mtu = route.mtu,
                                 .advmss = route.advmss,
                                 .priority = route.priority,
                                 .table = route.table,
                                 .scope = route.scope});
    if (allocation.dns)
        result.dns = {.nameservers = allocation.dns->nameservers,
                      .domain = allocation.dns->domain,
                      .search = allocation.dns->search,
                      .options = allocation.dns->options};
    return result;
}

} // namespace rdmanet::attach
