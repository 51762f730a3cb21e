#include "chained_addresses.hpp"

#include <algorithm>

namespace rdmanet::attach {
namespace {

/// `interface` is a valid index: parsing prevResult refuses one that is too large.
bool is_in_pod(const cni::IpConfig& ip, const cni::Result& result) {
    return ip.interface && !result.interfaces.at(*ip.interface).sandbox.empty();
}

} // namespace

cni::Result chained_addresses(const cni::Request& request, const config::Config& config) {
    cni::Result adopted;
    const auto& previous = request.conf.prev_result;
    if (!previous || !std::holds_alternative<config::Ipvlan>(config.attach) ||
        !std::holds_alternative<config::NoIpam>(config.ipam))
        return adopted;
    std::copy_if(previous->ips.begin(), previous->ips.end(), std::back_inserter(adopted.ips),
                 [&](const cni::IpConfig& ip) { return !is_in_pod(ip, *previous); });
    if (!adopted.ips.empty()) adopted.routes = previous->routes;
    return adopted;
}

cni::Result prev_result_without_chained_addresses(const cni::Request& request, const config::Config& config) {
    cni::Result rest = request.conf.prev_result.value_or(cni::Result{});
    const cni::Result previous = rest;
    if (chained_addresses(request, config).ips.empty()) return rest;
    std::erase_if(rest.ips, [&](const cni::IpConfig& ip) { return !is_in_pod(ip, previous); });
    rest.routes.clear();
    return rest;
}

} // namespace rdmanet::attach
