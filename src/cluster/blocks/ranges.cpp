#include "node_blocks.hpp"

#include "../range_records.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/cluster/whereabouts_store.hpp>

#include <algorithm>
#include <set>
#include <utility>

namespace rdmanet::cluster {
namespace {

using base::IpAddress;
using base::IpPrefix;
using ipam::StoreError;

constexpr int kMostMarkings = 5;

IpPrefix subnet_of(const IpAddress& address, unsigned length) {
    const IpPrefix prefix = *IpPrefix::make(address, length);
    return *IpPrefix::make(prefix.network(), length);
}

std::string text_of(const std::optional<IpPrefix>& prefix) {
    return prefix ? prefix->to_string() : "none";
}

} // namespace

/// Throws if the configuration of the network says something else than the cluster has recorded.
void NodeBlocks::require_agreement(const RangeObject& range) const {
    if (options_.block_size && *options_.block_size != range.block_size)
        refuse_difference(range, "blockSize", fmt::format("{}", *options_.block_size),
                          fmt::format("{}", range.block_size));
    const auto requestable = configured_requestable(range.subnet);
    if (requestable && requestable != range.requestable)
        refuse_difference(range, "requestable", text_of(requestable), text_of(range.requestable));
}

std::optional<IpPrefix> NodeBlocks::configured_requestable(const IpPrefix& subnet) const {
    for (const IpPrefix& prefix : options_.requestable)
        if (subnet.contains(prefix.address())) return subnet_of(prefix.address(), prefix.length());
    return std::nullopt;
}

/// The range that has the claim's addresses, as the cluster has recorded it. This file remembers it: it never changes.
ipam::BlockRange NodeBlocks::range_of(const ipam::Claim& claim, const Deadline& deadline) {
    const IpAddress inside = claim.wanted.value_or(
        IpAddress(claim.family, claim.usable.empty() ? base::Uint128{0} : claim.usable.front().first));
    for (const BlockRange& known : file_.ranges(deadline)) {
        if (known.space != claim.space || !known.subnet.contains(inside)) continue;
        if (!claim.usable.empty() && known.subnet != subnet_of(inside, claim.prefix_length)) break;
        require_agreement({.space = known.space,
                           .subnet = known.subnet,
                           .store = kInBlocks,
                           .block_size = known.block_size,
                           .requestable = known.requestable,
                           .is_confirmed = true});
        if (!follow_kubeconfig(known, deadline))
            throw StoreError(StoreError::Kind::permanent,
                             fmt::format("range {}: this node has blocks of it by kubeconfig {}, and the cluster of {} "
                                         "does not know them: for two clusters, give the networks of one a "
                                         "\"network_name\"; otherwise delete the pods of this range on the node",
                                         known.subnet, known.kubeconfig, options_.kubeconfig));
        return known;
    }
    return record_range(claim, deadline);
}

/// The node may by now reach the cluster by another kubeconfig. Calls without a configuration then need that one. That
/// it is the same cluster shows a block that names this file.
bool NodeBlocks::follow_kubeconfig(BlockRange range, const Deadline& deadline) {
    if (range.kubeconfig == options_.kubeconfig && range.node_name == options_.node_name) return true;
    bool is_known = true; // a range without blocks owes nothing
    for (const Block& block : file_.blocks(deadline)) {
        if (block.space != range.space || block.range != range.subnet) continue;
        const auto object = api_.find_block(object_name(block.space, block.prefix), deadline);
        is_known = object && is_ours(*object, deadline);
        if (is_known) break;
    }
    if (!is_known) return false;
    range.kubeconfig = options_.kubeconfig;
    range.node_name = options_.node_name;
    file_.put_range(range, deadline);
    return true;
}

ipam::BlockRange NodeBlocks::record_range(const ipam::Claim& claim, const Deadline& deadline) {
    std::optional<RangeObject> recorded;
    RangeObject wanted{
        .space = claim.space, .subnet = IpPrefix::make({claim.family, 0}, 0).value(), .store = kInBlocks};
    wanted.recorded_by = options_.node_name;
    if (claim.usable.empty()) { // an address that the configuration sets, and that may be in a range of another network
        for (RangeObject& range : api_.list_ranges(claim.space, deadline))
            if (range.is_confirmed && range.store == kInBlocks && range.subnet.contains(*claim.wanted))
                recorded = std::move(range);
        wanted.subnet =
            subnet_of(*claim.wanted, std::max(claim.prefix_length,
                                              base::address_bits(claim.family) -
                                                  std::min(base::address_bits(claim.family), ipam::kMostHostBits)));
    } else {
        wanted.subnet = subnet_of({claim.family, claim.usable.front().first}, claim.prefix_length);
    }
    wanted.block_size = options_.block_size.value_or(ipam::kDefaultBlockSize);
    wanted.requestable = configured_requestable(wanted.subnet);
    if (!recorded)
        recorded = RangeRecords(api_).record(
            wanted, [&] { take_from_pools(wanted, deadline); }, deadline);
    if (!claim.usable.empty()) require_agreement(*recorded);
    return put_range(*recorded, deadline);
}

bool NodeBlocks::is_as_known(const RangeObject& recorded, const Deadline& deadline) {
    if (!recorded.is_confirmed || recorded.is_going || recorded.store != kInBlocks) return false;
    for (const BlockRange& known : file_.ranges(deadline))
        if (known.space == recorded.space && known.subnet == recorded.subnet)
            return known.block_size == recorded.block_size && known.requestable == recorded.requestable;
    return true;
}

ipam::BlockRange NodeBlocks::put_range(const RangeObject& recorded, const Deadline& deadline) {
    BlockRange range{.space = recorded.space,
                     .subnet = recorded.subnet,
                     .block_size = recorded.block_size,
                     .requestable = recorded.requestable,
                     .kubeconfig = options_.kubeconfig,
                     .node_name = options_.node_name};
    file_.put_range(range, deadline);
    return range;
}

/// What a pool of whereabouts has given, blocks would give again. A pool of another length has the same addresses,
/// unless they are unique in their range only. The pools are marked while they are empty: then store "whereabouts"
/// gives nothing from them, also on a node that may not read AddressRanges. Such a node makes its pool first, then
/// looks for marks. So the range has a marked pool of its own before the others are listed.
void NodeBlocks::take_from_pools(const RangeObject& wanted, const Deadline& deadline) {
    for (const PoolHead& pool : pools_of(wanted, deadline)) (void)find_empty_pool(pool.name, wanted, deadline);
    if (!make_marked_pool(wanted, deadline)) return;
    for (const PoolHead& pool : pools_of(wanted, deadline)) take_from_pool(pool.name, wanted, deadline);
}

/// Those from which whereabouts or store "whereabouts" may give addresses of the range. The name of a node's slice does
/// not say where the name of the network ends and that of the node begins, so the cluster is asked for its nodes.
std::vector<PoolHead> NodeBlocks::pools_of(const RangeObject& wanted, const Deadline& deadline) {
    std::optional<std::set<std::string>> nodes;
    const auto is_of_node = [&](const NodeSlice& slice) {
        if (!overlap(slice.subnet, wanted.subnet)) return false;
        if (!nodes) nodes = api_.list_node_names(deadline);
        return nodes->contains(slice.node);
    };
    std::vector<PoolHead> pools = api_.list_pools(deadline);
    std::erase_if(pools, [&](const PoolHead& pool) {
        if (pool.store == wanted.store) return true;
        const auto subnet = subnet_of_pool(wanted.space, pool.name);
        if (subnet) return !has_addresses_of(wanted, *subnet);
        const std::vector<NodeSlice> slices = slices_of_pool(wanted.space, pool.name);
        return std::none_of(slices.begin(), slices.end(), is_of_node);
    });
    return pools;
}

/// False if nobody can have pools.
bool NodeBlocks::make_marked_pool(const RangeObject& wanted, const Deadline& deadline) {
    // The API server takes no such name, so store "whereabouts" refuses the range.
    if (pool_name({.space = wanted.space, .subnet = wanted.subnet}).starts_with('-')) return true;
    try {
        for (int attempt = 0; attempt < kMostMarkings; ++attempt)
            if (api_.create_marked_pool(wanted.space, wanted.subnet, wanted.store, deadline).done !=
                WriteOutcome::Done::unknown)
                return true;
    } catch (const MissingKind&) {
        return false; // whereabouts is not installed
    }
    throw StoreError(StoreError::Kind::temporary,
                     fmt::format("lease store: no answer says whether the IPPool of range {} was made", wanted.subnet));
}

std::optional<PoolHead> NodeBlocks::find_empty_pool(const std::string& name, const RangeObject& wanted,
                                                    const Deadline& deadline) {
    auto pool = api_.find_pool(name, deadline);
    if (pool && pool->records != 0)
        throw StoreError(StoreError::Kind::permanent,
                         fmt::format("range {} has {} in whereabouts' IPPool {}, which blocks would give again: set "
                                     "\"store\": \"whereabouts\", or delete those pods first",
                                     wanted.subnet, base::counted(pool->records, "lease", "leases"), name));
    return pool;
}

void NodeBlocks::take_from_pool(const std::string& name, const RangeObject& wanted, const Deadline& deadline) {
    for (int attempt = 0; attempt < kMostMarkings; ++attempt) {
        const auto pool = find_empty_pool(name, wanted, deadline);
        if (!pool) return;
        if (api_.mark_pool(*pool, wanted.store, deadline).done == WriteOutcome::Done::yes) return;
    }
    throw StoreError(StoreError::Kind::temporary,
                     fmt::format("lease store: other nodes change IPPool {}: try again", name));
}

} // namespace rdmanet::cluster
