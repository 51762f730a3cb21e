#include "request.hpp"

namespace rdmanet::attach {

std::vector<ipam::RequestedAddress> requested_addresses(const cni::Request& request) {
    std::vector<ipam::RequestedAddress> addresses;
    for (const cni::RequestedIp& ip : cni::requested_ips(request.conf, request.args))
        addresses.push_back({.address = ip.address, .prefix_length = ip.prefix_length});
    return addresses;
}

std::optional<base::MacAddress> wanted_mac(const cni::Request& request, const config::Config& config) {
    const auto requested = cni::requested_mac(request.conf, request.args);
    return requested ? std::optional(requested->mac) : config.mac;
}

base::VfSettings wanted_settings(const cni::Request& request, const config::Config& config) {
    base::VfSettings wanted = std::get<config::Sriov>(config.attach).settings;
    wanted.mac = wanted_mac(request, config);
    return wanted;
}

} // namespace rdmanet::attach
