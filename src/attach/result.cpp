#include "result.hpp"

#include <rdmanet/config/config.hpp>

namespace rdmanet::attach {

std::optional<state::LeaseStore> remembered_place_of(const Call& call) try {
    std::vector<std::string> warnings;
    const config::IpamChoice ipam = config::parse_ipam(call.request->conf, warnings);
    const auto* own = std::get_if<ipam::Config>(&ipam);
    return own == nullptr ? std::nullopt : call.leases.remembered_place_of(*own);
} catch (const base::Error&) {
    return std::nullopt;
}

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
