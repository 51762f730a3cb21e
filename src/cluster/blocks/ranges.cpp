#include "node_blocks.hpp"

#include "../range_records.hpp"

#include <rdmanet/base/format.hpp>

#include <algorithm>
#include <string>
#include <utility>

namespace rdmanet::cluster {
namespace {

using base::IpAddress;
using base::IpPrefix;
using ipam::StoreError;

IpPrefix subnet_of(const IpAddress& address, unsigned length) {
    const IpPrefix prefix = *IpPrefix::make(address, length);
    return *IpPrefix::make(prefix.network(), length);
}

} // namespace

bool gives_from_blocks(const RangeObject& range) {
    return range.is_confirmed && range.store == kInBlocks && !range.is_half_moved();
}

/// Throws if the configuration of the network says something else than the cluster has recorded.
void NodeBlocks::require_agreement(const RangeObject& range) const {
    require_same_cut(range, options_.block_size, requestable_in(range.subnet, options_.requestable));
}

bool NodeBlocks::agrees_with(const RangeObject& range) const {
    const auto requestable = requestable_in(range.subnet, options_.requestable);
    return options_.block_size.value_or(range.block_size) == range.block_size &&
           (!requestable || requestable == range.requestable);
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
    if (const auto recalled = recall_range(claim, deadline)) return *recalled;
    return record_range(claim, deadline);
}

/// When a cluster starts, every node asks for the range at once. An answer that is out of date is like what this file
/// remembers of a range: open() asks etcd after the block was made. Whatever would keep this node from a block is asked
/// of etcd at once.
std::optional<ipam::BlockRange> NodeBlocks::recall_range(const ipam::Claim& claim, const Deadline& deadline) {
    if (claim.usable.empty()) return std::nullopt;
    const IpPrefix subnet = subnet_of({claim.family, claim.usable.front().first}, claim.prefix_length);
    const auto recalled = api_.recall_range(object_name(claim.space, subnet), deadline);
    if (!recalled || !is_as_known(*recalled, deadline) || !agrees_with(*recalled)) return std::nullopt;
    return put_range(*recalled, deadline);
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
            if (gives_from_blocks(range) && range.subnet.contains(*claim.wanted)) recorded = std::move(range);
        wanted.subnet =
            subnet_of(*claim.wanted, std::max(claim.prefix_length,
                                              base::address_bits(claim.family) -
                                                  std::min(base::address_bits(claim.family), ipam::kMostHostBits)));
    } else {
        wanted.subnet = subnet_of({claim.family, claim.usable.front().first}, claim.prefix_length);
    }
    wanted.block_size = options_.block_size.value_or(ipam::kDefaultBlockSize);
    wanted.requestable = requestable_in(wanted.subnet, options_.requestable);
    if (!recorded) recorded = RangeRecords(api_).record(wanted, deadline);
    if (!claim.usable.empty()) require_agreement(*recorded);
    return put_range(*recorded, deadline);
}

bool NodeBlocks::is_as_known(const RangeObject& recorded, const Deadline& deadline) {
    if (!gives_from_blocks(recorded) || recorded.is_going) return false;
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

bool NodeBlocks::is_of_this_cluster(const Block& block, const Deadline& deadline) {
    const std::vector<BlockRange> ranges = file_.ranges(deadline);
    return std::any_of(ranges.begin(), ranges.end(), [&](const BlockRange& range) {
        return range.space == block.space && range.subnet == block.range && range.kubeconfig == options_.kubeconfig;
    });
}

} // namespace rdmanet::cluster
