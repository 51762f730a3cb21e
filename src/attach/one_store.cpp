#include "one_store.hpp"

#include "block_leases.hpp"
#include "clusters.hpp"
#include "leases.hpp"
#include "node_store.hpp"
#include "shared_ranges.hpp"

#include "owners/liveness.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/ipam/allocator.hpp>
#include <rdmanet/ipam/errors.hpp>
#include <rdmanet/state/topic.hpp>

#include <algorithm>
#include <utility>
#include <vector>

namespace rdmanet::attach {
namespace {

using ipam::StoreError;
using ipam::StoreKind;

void require_none_on_node(const ipam::Config& network, NodeStore& on_node, const Node& node,
                          const base::Deadline& deadline) {
    if (const auto known = find_range_on_node(network, on_node, node, deadline))
        throw StoreError(
            StoreError::Kind::permanent,
            fmt::format("range {} has {} in the store of this node, and the cluster's store does not know "
                        "them: set \"store\": \"node\", or delete the pods of the range on this node first",
                        known->range, known->leases));
}

void require_none_in_blocks(const ipam::Config& network, const Node& node, const state::AttachmentStore& records,
                            const base::Deadline& deadline) {
    if (!has_block_file(node)) return;
    ipam::BlockFile in_blocks = open_block_leases(node, records);
    PodProbe pods(node);
    ipam::Allocator allocator(in_blocks, pods);
    for (const ipam::ConfiguredRange& range : network.ranges) {
        const auto leases = allocator.usage(range, deadline).leases;
        if (leases == 0) continue;
        throw StoreError(StoreError::Kind::permanent,
                         fmt::format("range {} has {} in blocks of the cluster, and the network's store does not "
                                     "know them: set \"store\": \"blocks\", or delete the pods of the range on this "
                                     "node first",
                                     range.range, base::counted(leases, "lease", "leases")));
    }
}

using OfNode = std::vector<state::AttachmentRecord>;

/// Attachments of this node with addresses of pools that overlap `range`, in stores of the cluster but `own`. Without
/// those that only owe something: they have no pod any more. Throws if it is not yet known which addresses they get.
OfNode list_in_other_stores(const ipam::ConfiguredRange& range, StoreKind own, const std::vector<SharedRange>& shared,
                            const state::AttachmentStore& records) {
    OfNode all;
    for (const SharedRange& pool : shared) {
        if (pool.store == to_string(own) || !pool.overlaps(range)) continue;
        for (state::AttachmentRecord& record :
             records.list_about(state::pool_topic(pool.store, pool.space, pool.subnet))) {
            if (record.owes_addresses()) continue;
            if (record.leases.empty())
                throw StoreError(StoreError::Kind::temporary,
                                 fmt::format("another ADD takes an address of range {} from store {}, and this "
                                             "network's store is \"{}\": use one store for the range",
                                             range.range, base::quoted(pool.store), own));
            all.push_back(std::move(record));
        }
    }
    return all;
}

template <class IsWanted>
std::size_t count_leases(const OfNode& records, IsWanted is_wanted) {
    return static_cast<std::size_t>(
        std::count_if(records.begin(), records.end(), [&](const state::AttachmentRecord& record) {
            const std::vector<ipam::Lease> leases = recorded_leases_of(record);
            return std::any_of(leases.begin(), leases.end(), is_wanted);
        }));
}

/// Such a store may have given any address of the range to another node.
void require_none_in_cluster(const ipam::Config& network, const Node& node, const state::AttachmentStore& records) {
    const std::vector<SharedRange> shared = SharedRanges(node).list();
    for (const ipam::ConfiguredRange& range : network.ranges) {
        const OfNode others = list_in_other_stores(range, StoreKind::node, shared, records);
        const std::size_t leases = count_leases(others, [&](const ipam::Lease& lease) {
            const base::IpAddress address = lease.address.address();
            return lease.space == range.space && address.family() == range.range.family() &&
                   range.range.bounds().contains(address.value());
        });
        if (leases == 0) continue;
        const std::string store = others.front().lease_store->kind;
        throw StoreError(StoreError::Kind::permanent,
                         fmt::format("range {} has {} of this node in store {}, and this network's store, \"node\", "
                                     "does not know them: set \"store\": {}, or delete the pods of the range on this "
                                     "node first",
                                     range.range, base::counted(leases, "lease", "leases"), base::quoted(store),
                                     base::quoted(store)));
    }
}

} // namespace

std::optional<RangeOnNode> find_range_on_node(const ipam::Config& network, NodeStore& on_node, const Node& node,
                                              const base::Deadline& deadline) {
    // Without the file nothing was given from it, and every record of the journal would have to be read to say so.
    if (!on_node.is_there()) return std::nullopt;
    PodProbe pods(node);
    ipam::Allocator allocator(on_node.store(), pods);
    for (const ipam::ConfiguredRange& range : network.ranges)
        if (const auto leases = allocator.usage(range, deadline).leases; leases != 0)
            return RangeOnNode{.range = range.range, .leases = base::counted(leases, "lease", "leases")};
    return std::nullopt;
}

void require_in_one_store(const ipam::Config& network, NodeStore& on_node, const Node& node,
                          const state::AttachmentStore& records, const base::Deadline& deadline) {
    if (network.store.kind != StoreKind::node) require_none_on_node(network, on_node, node, deadline);
    if (network.store.kind != StoreKind::blocks) require_none_in_blocks(network, node, records, deadline);
    if (network.store.kind == StoreKind::node) require_none_in_cluster(network, node, records);
}

void require_given_once(const std::vector<ipam::Lease>& fresh, const ipam::Config& network, const Node& node,
                        const state::AttachmentStore& records) {
    if (fresh.empty()) return;
    const std::vector<SharedRange> shared = SharedRanges(node).list();
    for (const ipam::ConfiguredRange& range : network.ranges) {
        const OfNode others = list_in_other_stores(range, network.store.kind, shared, records);
        for (const ipam::Lease& lease : fresh)
            if (count_leases(others, [&](const ipam::Lease& other) {
                    return other.space == lease.space && other.address.address() == lease.address.address();
                }) != 0)
                throw StoreError(
                    StoreError::Kind::permanent,
                    fmt::format("store \"{}\" gives {}, which an attachment of this node has from store {}: "
                                "use one store for range {}, or give one of the networks a network_name",
                                network.store.kind, lease.address.address(),
                                base::quoted(others.front().lease_store->kind), range.range));
    }
}

} // namespace rdmanet::attach
