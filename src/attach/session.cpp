#include "session.hpp"

#include "state_place.hpp"

#include <rdmanet/base/text.hpp>
#include <rdmanet/cni/error.hpp>

namespace rdmanet::attach {

using base::concat;
using base::quoted;

state::AttachmentKey key_of(const cni::Request& request) {
    const char* const role = config::is_ipam_only(request.conf)   ? state::kIpamRole
                             : config::is_rdma_only(request.conf) ? state::kRdmaRole
                                                                  : "";
    return {.network = request.conf.name,
            .container_id = request.container_id,
            .ifname = request.ifname().to_string(),
            .role = role};
}

void require_storable(const state::AttachmentKey& key) {
    const std::size_t length = key.container_id.size() + key.ifname.size() + key.network.size();
    const std::size_t others = key.file_name().size() - length; // the role's suffix among them
    if (length + others > state::kLongestFileName)
        throw cni::CniError(cni::ErrorCode::invalid_environment,
                            concat("CNI_CONTAINERID, CNI_IFNAME and the network's name are too long: ", length,
                                   " bytes together, at most ", state::kLongestFileName - others,
                                   " fit into the journal's file names"));
}

state::NetnsIdentity identify(const std::string& path, const kernel::Netns& netns) {
    return {
        .path = path, .device = netns.id().device, .inode = netns.id().inode, .cookie = kernel::netns_cookie(netns)};
}

state::AttachmentRecord begin_record(const cni::Request& request, const Node& node, const kernel::Netns& netns) {
    if (const std::string fault = find_fault_of_state_place(node.state_directory); !fault.empty()) node.log.warn(fault);
    const ipam::Time now = ipam::system_time();
    state::AttachmentRecord record;
    record.key = key_of(request);
    record.boot_id = node.boot_id;
    record.pid_view = node.view.id();
    record.created = now.epoch;
    record.created_since_boot = now.boot;
    record.netns = identify(request.netns_path, netns);
    record.pod = {
        .pod_namespace = request.args.pod_namespace, .name = request.args.pod_name, .uid = request.args.pod_uid};
    return record;
}

state::DelegateIpam delegate_step(const cni::Request& request, const std::string& plugin) {
    return {.plugin = plugin, .config = request.stdin_text, .args = request.args_text, .path = request.path_text};
}

namespace {

/// What a caller in a container lacks if it can't find what its runtime means.
std::string cure_for_netns(const std::string& path) {
    if (path.starts_with("/proc/")) return "; a container that calls rdmanet needs the node's processes (hostPID)";
    return "; a container that calls rdmanet needs the node's /run/netns, with mountPropagation HostToContainer";
}

} // namespace

kernel::Netns open_pod_netns(const cni::Request& request) {
    try {
        kernel::Netns netns = kernel::get_netns(request.netns_path);
        if (netns == kernel::Netns::current() && !request.netns_override)
            throw cni::CniError(cni::ErrorCode::invalid_netns,
                                concat("CNI_NETNS ", quoted(request.netns_path),
                                       " is the plugin's own network namespace: a pod's was expected",
                                       cure_for_netns(request.netns_path)));
        return netns;
    } catch (const cni::CniError&) {
        throw;
    } catch (const base::Error& error) {
        throw cni::CniError(cni::ErrorCode::invalid_environment,
                            concat("CNI_NETNS: ", error.what(), cure_for_netns(request.netns_path)));
    }
}

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
