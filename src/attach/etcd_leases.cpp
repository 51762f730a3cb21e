#include "etcd_leases.hpp"

#include "clusters.hpp"
#include "shared_leases.hpp"

#include <rdmanet/attach/machine.hpp>
#include <rdmanet/base/format.hpp>
#include <rdmanet/base/hash.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/cluster/etcd_access.hpp>
#include <rdmanet/cluster/etcd_store.hpp>
#include <rdmanet/etcd/client.hpp>
#include <rdmanet/ipam/errors.hpp>
#include <rdmanet/ipam/etcd_servers.hpp>

#include <algorithm>

namespace rdmanet::attach {
namespace {

[[noreturn]] void refuse(const std::string& why) {
    throw ipam::StoreError(ipam::StoreError::Kind::permanent, fmt::format("lease store: {}", why));
}

std::vector<std::string> spaces_of(const state::LeaseStore& where) {
    std::vector<std::string> spaces;
    for (const state::LeasePool& pool : where.pools)
        if (std::find(spaces.begin(), spaces.end(), pool.space) == spaces.end()) spaces.push_back(pool.space);
    return spaces;
}

/// One for each cluster and user. It ends with the boot, as everything in the state directory.
std::string memory_file(const ipam::EtcdServers& servers, const Node& node) {
    return fmt::format(
        "{}/etcd-{:016x}", node.state_directory,
        base::hash64(fmt::format("{}\n{}\n{}", base::join(servers.endpoints, "\n"), servers.username, servers.prefix)));
}

etcd::Client make_client(const ipam::EtcdServers& servers, const http::Limits& limits, const Node& node) try {
    return {cluster::read_etcd_access(servers), etcd::Memory(memory_file(servers, node)), limits};
} catch (const etcd::Failure& failure) {
    refuse(failure.what());
}

etcd::Client connect(const state::LeaseStore& where, const ipam::EtcdServers& servers, const Node& node) {
    const http::Limits limits = limits_of(where);
    return node.clusters->connect_to_etcd(where.etcd, limits, [&] { return make_client(servers, limits, node); });
}

} // namespace

ipam::EtcdServers servers_in(const state::LeaseStore& where) try {
    return ipam::parse_etcd(json::Document::parse(where.etcd).root(), ipam::EtcdSource::node);
} catch (const base::Error& error) {
    refuse(fmt::format("the journal's record of it: {}", error.what()));
}

std::unique_ptr<ipam::Store> open_etcd(const state::LeaseStore& where, const Node& node,
                                       std::function<void(const ipam::Lease&)> before_claim) {
    const ipam::EtcdServers servers = servers_in(where);
    cluster::EtcdOptions options{.prefix = servers.prefix,
                                 .machine_id = read_machine_id(),
                                 .node_name = where.node_name.empty() ? host_name() : where.node_name,
                                 .boot_id = node.boot_id,
                                 .spaces = spaces_of(where),
                                 .are_spaces_guessed = where.are_pools_guessed,
                                 .before_claim = std::move(before_claim),
                                 .warn = [&node](const std::string& text) { node.log.warn(text); },
                                 .has_open_claim = where.has_open_claim};
    return cluster::make_etcd_store(connect(where, servers, node), std::move(options));
}

cluster::EtcdRange open_etcd_range(const state::LeaseStore& where, const cluster::Place& place, const Node& node) {
    const ipam::EtcdServers servers = servers_in(where);
    return {connect(where, servers, node), servers.prefix, place};
}

} // namespace rdmanet::attach
