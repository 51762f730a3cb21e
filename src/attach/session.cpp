#include "session.hpp"

namespace rdmanet::attach {

cni::Dns chosen_dns(const cni::Dns& configured, const cni::Dns& from_ipam) {
    return configured.empty() ? from_ipam : configured;
}

cni::Result to_result(const ipam::Allocation& allocation) {
    cni::Result result;
    for (const ipam::AllocatedAddress& ip : allocation.ips)
        result.ips.push_back({.address = ip.address, .gateway = ip.gateway, .interface = {}});
    result.routes = allocation.routes;
    result.dns = allocation.dns;
    return result;
}

} // namespace rdmanet::attach
