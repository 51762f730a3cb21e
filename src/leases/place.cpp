#include "place.hpp"

#include "clusters.hpp"
#include "recorded.hpp"

#include <rdmanet/base/boot_memory.hpp>
#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/cluster/ranges.hpp>
#include <rdmanet/ipam/errors.hpp>

#include <algorithm>
#include <utility>
#include <vector>

namespace rdmanet::leases {
namespace {

using ipam::StoreError;
using ipam::StoreKind;

constexpr std::size_t kMostNamed = 5;

cluster::Place place_of(const std::string& space, const base::IpPrefix& prefix) {
    return {.space = space, .subnet = *base::IpPrefix::make(prefix.network(), prefix.length())};
}

std::vector<cluster::Place> places_of(const ipam::Config& network) {
    std::vector<cluster::Place> places;
    for (const ipam::ConfiguredRange& range : network.ranges)
        places.push_back(place_of(range.space, range.range.subnet()));
    return places;
}

kube::Api& connect(const std::string& kubeconfig, const ipam::StoreLimits& limits, const Node& node) {
    return node.clusters->connect(kubeconfig, limits_of(limits), node.log);
}

std::vector<ipam::BlockRange> known_ranges(const Node& node, const state::AttachmentStore& records) {
    if (!has_block_file(node)) return {};
    ipam::BlockFile file = open_block_file(node, records);
    try {
        return file.ranges();
    } catch (const ipam::DamagedStore&) { // whoever needs it makes it again
        return {};
    }
}

cluster::Keeper find_keeper(const ipam::Config& config, const std::vector<cluster::Place>& places, const Node& node,
                            const state::AttachmentStore& records, const std::function<kube::Api&()>& api,
                            const base::Deadline& deadline) {
    std::optional<cluster::DeclaredRanges> recalled;
    const cluster::Keeper keeper = cluster::find_keeper(
        places, known_ranges(node, records),
        {.state_directory = node.state_directory, .boot_id = node.boot_id, .kubeconfig = config.store.kubeconfig}, api,
        deadline, &recalled);
    if (recalled) node.clusters->note_ranges(config.store.kubeconfig, *std::move(recalled));
    return keeper;
}

/// The cluster does not know what this node has given by itself.
void require_none_on_node(const ipam::Config& config, ipam::LeaseFile& file, const Node& node,
                          ipam::LivenessProbe& pods, const base::Deadline& deadline) {
    if (!file.is_there()) return;
    std::vector<std::string> living;
    for (const ipam::Lease& lease : repairing(file, node, deadline, [&] { return file.list_all(deadline); })) {
        const bool is_of_network = std::ranges::any_of(config.ranges, [&](const ipam::ConfiguredRange& range) {
            return range.space == lease.space && range.range.subnet().contains(lease.address.address());
        });
        if (is_of_network && pods.probe(lease.owner) != ipam::Liveness::dead)
            living.push_back(fmt::format("{} of {}", lease.address.address(), lease.owner));
    }
    if (living.empty()) return;
    const std::size_t more = living.size() - std::min(living.size(), kMostNamed);
    living.resize(living.size() - more);
    throw StoreError(StoreError::Kind::permanent,
                     fmt::format("pods of this node have addresses of range {} that the cluster does not know, because "
                                 "the node gave them by itself: {}{}: delete these pods first, or set \"store\": "
                                 "\"node\" in the network",
                                 config.ranges.front().range, base::join(living),
                                 more == 0 ? "" : fmt::format(" and {} more", more)));
}

/// Blocks of other nodes would give what this node gives by itself. Asked once in a boot for each range.
void require_not_declared(const ipam::Config& config, const Node& node, const base::Deadline& deadline) {
    if (config.store.kubeconfig.empty()) return;
    for (const cluster::Place& place : places_of(config)) {
        const base::BootMemory memory(node.state_directory, node.boot_id, "undeclared",
                                      fmt::format("{}\n{}\n{}", config.store.kubeconfig, place.space, place.subnet));
        if (memory.find()) continue;
        const cluster::DeclaredRanges ranges =
            base::in_context("look whether the cluster has an AddressRange for the network's ranges", [&] {
                return node.clusters->ask(config.store.kubeconfig, [&] {
                    return cluster::read_ranges(connect(config.store.kubeconfig, config.store.limits, node), deadline);
                });
            });
        for (const cluster::AddressRange& range : ranges.declared)
            if (range.space == cluster::network_of(place.space) && cluster::overlap(range.subnet, place.subnet))
                throw StoreError(
                    StoreError::Kind::permanent,
                    fmt::format("AddressRange {} of the cluster has addresses of range {}, which this node "
                                "would give as well: remove \"store\": \"node\" from the network, or "
                                "use another range",
                                range.name, place.subnet));
        memory.note("asked");
    }
}

base::BootMemory first_used_cluster(const Node& node) {
    return {node.state_directory, node.boot_id, "cluster-of-node", ""};
}

/// Two clusters give the same addresses. The node's cluster is that of its own file, else the one that was used first.
void require_cluster_of_node(const ipam::Config& config, const Node& node, const state::AttachmentStore& records,
                             const base::Deadline& deadline) {
    const ipam::StoreChoice& store = config.store;
    const std::string own =
        store.kubeconfig_of_node.empty() ? first_used_cluster(node).find().value_or("") : store.kubeconfig_of_node;
    if (own.empty() || own == store.kubeconfig) return;
    const base::BootMemory same(node.state_directory, node.boot_id, "same-cluster",
                                fmt::format("{}\n{}", own, store.kubeconfig));
    if (same.find()) return;
    if (store.kubeconfig_of_node.empty()) {
        const auto all = records.list().records;
        const bool is_used = std::ranges::any_of(all, [&](const state::AttachmentRecord& record) {
            return record.lease_store && record.lease_store->kubeconfig == own && !record.owes_addresses();
        });
        if (!is_used) return;
    }
    const auto uid_of = [&](const std::string& kubeconfig) {
        try {
            return node.clusters->ask(
                kubeconfig, [&] { return cluster::cluster_uid(connect(kubeconfig, store.limits, node), deadline); });
        } catch (StoreError& error) {
            error.add_context(
                fmt::format("pods of this node have addresses by kubeconfig {}, and whether {} leads to "
                            "the same cluster is not known: keep the former until their pods are gone, or "
                            "set the latter in {}",
                            own, store.kubeconfig, ipam::kNodeFile));
            throw;
        }
    };
    if (uid_of(own) == uid_of(store.kubeconfig)) return same.note("same");
    throw StoreError(StoreError::Kind::permanent,
                     fmt::format("kubeconfig {} of the network leads to another cluster than {}, which is that of this "
                                 "node, and both would give the same addresses: name the node's cluster",
                                 store.kubeconfig, own));
}

ipam::Config settled(const ipam::Config& config, StoreKind kind, const Node& node) {
    ipam::Config settled = ipam::settle_store(config, kind);
    for (std::size_t at = config.warnings.size(); at < settled.warnings.size(); ++at)
        node.log.warn(settled.warnings[at]);
    return settled;
}

StoreKind kind_of(cluster::Keeper keeper) {
    return keeper == cluster::Keeper::blocks ? StoreKind::blocks : StoreKind::pools;
}

} // namespace

void note_cluster(const ipam::StoreChoice& store, const Node& node) {
    if (!store.kubeconfig_of_node.empty()) return;
    const base::BootMemory first = first_used_cluster(node);
    if (first.find() != store.kubeconfig) first.note(store.kubeconfig);
}

void PlaceFinder::require_possible(const ipam::Config& config, const base::Deadline& deadline) {
    require_none_on_node(config, file_, node_, pods_, deadline);
    (void)connect(config.store.kubeconfig, config.store.limits, node_);
}

ipam::Config PlaceFinder::settle(const ipam::Config& config, const std::optional<state::LeaseStore>& earlier,
                                 const base::Deadline& deadline) {
    if (earlier && !earlier->is_released && earlier->kubeconfig == config.store.kubeconfig &&
        config.store.kind == StoreKind::cluster)
        for (const StoreKind kind : {StoreKind::pools, StoreKind::blocks})
            if (earlier->kind == store_word(kind)) return settled(config, kind, node_);
    const base::Deadline until = node_.clusters->until(deadline.at_most(config.store.limits.add));
    if (config.store.kind == StoreKind::node) {
        require_not_declared(config, node_, until);
        return config;
    }
    require_none_on_node(config, file_, node_, pods_, deadline);
    require_cluster_of_node(config, node_, records_, until);
    const auto keeper_of = [&](const std::vector<cluster::Place>& places) {
        return node_.clusters->ask(config.store.kubeconfig, [&] {
            return find_keeper(
                config, places, node_, records_,
                [&]() -> kube::Api& { return connect(config.store.kubeconfig, config.store.limits, node_); }, until);
        });
    };
    const cluster::Keeper keeper = keeper_of(places_of(config));
    if (keeper == cluster::Keeper::blocks && !config.addresses.empty()) {
        std::vector<cluster::Place> all = places_of(config); // there, addresses that it sets have leases, too
        for (const ipam::StaticAddress& given : config.addresses) {
            const base::IpAddress address = given.address.address();
            all.push_back(place_of(given.space, *base::IpPrefix::make(address, base::address_bits(address.family()))));
        }
        (void)keeper_of(all);
    }
    return settled(config, kind_of(keeper), node_);
}

ipam::Config remembered(const ipam::Config& config, const Node& node, const state::AttachmentStore& records) {
    if (config.store.kind == StoreKind::node) return config;
    const auto nobody = []() -> kube::Api& { throw StoreError(StoreError::Kind::temporary, "nobody is asked"); };
    try {
        return ipam::settle_store(
            config, kind_of(find_keeper(config, places_of(config), node, records, nobody, base::Deadline::in({}))));
    } catch (const StoreError&) { // whether the network fits into pools is asked when it is known
        ipam::Config in_pools = config;
        in_pools.store.kind = StoreKind::pools;
        return in_pools;
    }
}

std::string describe_place(const ipam::StoreChoice& store) {
    switch (store.kind) {
    case StoreKind::pools:
        return fmt::format("keep leases in whereabouts' pools, because no AddressRange has the range; kubeconfig {}",
                           store.kubeconfig);
    case StoreKind::blocks:
        return fmt::format("keep leases in blocks of the AddressRange that has the range; kubeconfig {}",
                           store.kubeconfig);
    case StoreKind::node:
    case StoreKind::cluster: break;
    }
    return fmt::format("keep leases in a file of this node, {}: this range is given on this node only",
                       store.kubeconfig.empty() ? "because no cluster is configured" : "as the network says");
}

} // namespace rdmanet::leases
