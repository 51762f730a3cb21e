// What the cluster says of this node's blocks, and what the node does about it.
#include "../tries.hpp"
#include "node_blocks.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/ipam/block_cut.hpp>

#include <algorithm>

namespace rdmanet::cluster {
namespace {

using ipam::Block;
using ipam::BlockState;
using ipam::StoreError;

/// The declared range of that UID, if no other one of its space overlaps it: of two that do, none is used.
const AddressRange* find_usable(const DeclaredRanges& ranges, const std::string& uid) {
    const AddressRange* found = nullptr;
    for (const AddressRange& range : ranges.declared)
        if (range.uid == uid && !range.is_going) found = &range;
    if (found == nullptr) return nullptr;
    const bool is_alone = std::ranges::none_of(ranges.declared, [&](const AddressRange& other) {
        return other.uid != uid && other.space == found->space && overlap(other.subnet, found->subnet);
    });
    return is_alone ? found : nullptr;
}

/// Seven of eight blocks are taken.
bool is_scarce(const AddressRange& range) {
    return range.blocks && base::Uint128{*range.blocks} * 8 >= count_of_blocks(range) * 7;
}

bool is_off_by_half(std::uint64_t written, std::uint64_t now) {
    return 2 * (std::max(written, now) - std::min(written, now)) > std::max(written, now);
}

} // namespace

std::optional<AddressRange> NodeBlocks::find_declared(const BlockRange& range, const Deadline& deadline) {
    const DeclaredRanges ranges = api_.list_ranges(From::etcd, deadline);
    const AddressRange* const declared = find_usable(ranges, range.uid);
    return declared == nullptr ? std::nullopt : std::optional(*declared);
}

/// Its UID. From etcd: a server that has lost etcd goes on answering from its memory.
std::string NodeBlocks::require_this_node(const Deadline& deadline) {
    if (!base::is_name_of_object(options_.node_name)) // a configured one was checked before
        throw StoreError(StoreError::Kind::permanent,
                         fmt::format("lease store: this host's name, {}, cannot be the name of a Node: set "
                                     "\"nodeName\" to the name of this node, in the node's rdmanet.conf",
                                     base::quoted(options_.node_name)));
    const auto node = api_.find_node(options_.node_name, From::etcd, deadline);
    if (!node)
        throw StoreError(
            StoreError::Kind::temporary, // kubelet registers a new machine, or registers one anew
            fmt::format("lease store: the cluster has no Node {}: wait until kubelet has registered it, or "
                        "set \"nodeName\" to the name of this node, in the node's rdmanet.conf",
                        base::quoted(options_.node_name)));
    require_machine(*node, options_.machine_id);
    // Of two machines with one name and one machine id, kubelet's reports name the boot of one. And a Node that names an
    // earlier boot would let reconcile think that this boot is over.
    if (node->boot_id != options_.boot_id)
        throw StoreError(
            StoreError::Kind::temporary,
            fmt::format("lease store: Node {} reports boot {}, and this machine's boot is {}: wait until kubelet has "
                        "reported; if that does not help, another machine has this name: set \"nodeName\" to the "
                        "name of this node",
                        options_.node_name, node->boot_id.empty() ? "none" : node->boot_id, options_.boot_id));
    return node->uid;
}

/// Whoever has asked within the last two minutes need not ask again.
void NodeBlocks::know_this_node(const Deadline& deadline) {
    if (!node_uid_.empty()) return;
    const std::int64_t now = file_.now().boot;
    for (const Block& block : file_.blocks()) {
        const bool is_fresh = block.state == BlockState::open && block.boot_id == options_.boot_id && block.confirmed &&
                              *block.confirmed <= now && now - *block.confirmed <= ipam::kFreshFor.count();
        const auto range = is_fresh ? range_of(block) : std::nullopt;
        if (!range || !is_of_this_cluster(*range) || range->node_name != options_.node_name) continue;
        node_uid_ = block.node_uid;
        return;
    }
    node_uid_ = require_this_node(deadline);
}

void NodeBlocks::confirm(const Deadline& first, const Deadline& deadline) {
    const std::int64_t begun = file_.now().boot;
    node_uid_ = require_this_node(first);
    recalled_ = api_.list_ranges(From::etcd, deadline);
    follow_ranges(*recalled_, deadline);
    FirstFailure failure;
    for (const Block& block : file_.blocks()) {
        const auto range = range_of(block);
        if (block.state == BlockState::going || (range && !is_of_this_cluster(*range))) continue;
        failure.attempt([&] { confirm(block, begun, deadline); });
    }
    failure.rethrow();
}

void NodeBlocks::follow_ranges(const DeclaredRanges& ranges, const Deadline& deadline) {
    file_.change(deadline, [&](Rows& rows) {
        for (BlockRange range : std::vector<BlockRange>(rows.ranges())) {
            if (!is_of_this_cluster(range)) continue;
            const AddressRange* const declared = find_usable(ranges, range.uid);
            range.is_gone = declared == nullptr;
            range.is_scarce = declared != nullptr && is_scarce(*declared);
            rows.put_range(range);
            if (range.is_gone) rows.forget_range(range.uid);
        }
        // A file that was made again from the journal knows leases, and no block.
        for (const ipam::Lease& lease : rows.leases_without_block())
            for (const AddressRange& declared : ranges.declared) {
                if (declared.space != lease.space || !declared.subnet.contains(lease.address.address())) continue;
                if (find_usable(ranges, declared.uid) == nullptr) continue;
                if (rows.find_range(declared.uid) == nullptr) rows.put_range(range_of(declared));
                const ipam::BlockCut cut(declared.subnet, declared.block_size, declared.requestable);
                const base::IpPrefix prefix = cut.block_of(lease.address.address());
                if (!rows.find(lease.space, prefix))
                    rows.put({.range_uid = declared.uid, .space = lease.space, .prefix = prefix});
            }
    });
}

void NodeBlocks::confirm(Block block, std::int64_t begun, const Deadline& deadline) {
    // A row of a file that was put back: what the node's namespaces have, and its leases lack, counts as taken.
    if (block.state == BlockState::open && !block.confirmed) block.state = BlockState::closed;
    const auto object = api_.find_block(object_name(block.space, block.prefix), deadline);
    if (!object) {
        // A request that is still on its way makes a block that look_for_unknown() finds.
        if (block.state == BlockState::closed && block.leases == 0) return forget(block, deadline);
        return make_again(std::move(block), begun, deadline);
    }
    if (!is_ours(*object)) return lose(std::move(block), object->node.name, deadline);
    const bool is_as_written = block.state == BlockState::open && object->range_uid == block.range_uid &&
                               object->node.uid == node_uid_ && object->node.boot_id == options_.boot_id &&
                               !object->gone && !is_off_by_half(object->in_use, block.leases);
    if (!is_as_written) return write_anew(std::move(block), *object, begun, deadline);
    block.uid = object->uid;
    block.version = object->version;
    block.node_uid = node_uid_;
    block.confirmed = begun;
    put(block, deadline);
}

/// The object is this node's, and says something else than it should: an earlier boot, another Node object, or that its
/// node is gone. A write that somebody else was faster than leaves the block unconfirmed.
void NodeBlocks::write_anew(Block block, const BlockObject& object, std::int64_t begun, const Deadline& deadline) {
    auto range = range_of(block);
    BlockObject own = object;
    own.node = self();
    own.gone.reset();
    own.in_use = block.leases;
    own.in_use_at = time_text();
    const WriteOutcome written = api_.write(own, object.version, deadline);
    if (!is_done("change", block, written)) return;
    // A closed one may be that of a late request: whoever has deleted the range need not have seen it.
    const bool is_open = block.state == BlockState::open;
    if (range && object.range_uid == range->uid &&
        (is_open || may_open(*range, block.prefix, deadline) == Opening::yes))
        return (void)open(std::move(block), written, begun, deadline);
    block.version = written.version; // nothing is given from it
    block.uid = object.uid;
    put(block, deadline);
}

/// Its object is gone, though only its node and reconcile take the finalizer away. Creating it is the lock, as for a
/// new one.
void NodeBlocks::make_again(Block block, std::int64_t begun, const Deadline& deadline) {
    auto range = range_of(block);
    block.confirmed.reset();
    if (!range || range->is_gone) return lose(std::move(block), {}, deadline);
    // Marks may have gone with the object, and a file that was made again from the journal has marked none.
    if (fenced_.insert(range->uid).second) {
        range->is_fenced = false;
        file_.change(deadline, [&](Rows& rows) { rows.put_range(*range); });
        if (!is_noted_exclusive(*range, deadline)) fence(*range, deadline);
    }
    if (touches(block.prefix, held_by_others(*range, deadline))) return lose(std::move(block), {}, deadline);
    if (block.state == BlockState::open) block.state = BlockState::closed;
    put(block, deadline);
    const WriteOutcome made = api_.create(object_of(block, *range), deadline);
    if (!is_done("creation", block, made)) {
        const auto object = api_.find_block(object_name(block.space, block.prefix), deadline);
        if (!object) return; // it came and went: the next call looks again
        if (is_ours(*object)) return write_anew(std::move(block), *object, begun, deadline);
        return lose(std::move(block), object->node.name, deadline);
    }
    warn(fmt::format("AddressBlock {} of this node was gone, and is created again: find out who deletes it and its "
                     "finalizer",
                     object_name(block.space, block.prefix)));
    switch (may_open(*range, block.prefix, deadline)) {
    case Opening::yes: return (void)open(std::move(block), made, begun, deadline);
    case Opening::held: return lose(std::move(block), {}, deadline);
    case Opening::range_gone: return;
    }
}

/// Nothing more is given from it. What pods have of it stays leased; without them the node forgets it.
void NodeBlocks::lose(Block block, const std::string& holder, const Deadline& deadline) {
    if (block.leases == 0) return forget(block, deadline);
    const bool is_known = block.state == BlockState::lost && block.holder == holder;
    block.state = BlockState::lost;
    block.holder = holder;
    block.confirmed.reset();
    put(block, deadline);
    if (is_known || !options_.report) return;
    options_.report(
        holder.empty()
            ? fmt::format("block {} of this node is no block of the cluster any more, so another node may get it: "
                          "delete this node's pods with addresses of {}, which `rdmanet state` shows",
                          block.prefix, block.prefix)
            : fmt::format("block {} of this node has become node {}'s, which may give the addresses of this node's "
                          "pods again: delete this node's pods with addresses of {}, which `rdmanet state` shows",
                          block.prefix, base::quoted(holder), block.prefix));
}

} // namespace rdmanet::cluster
