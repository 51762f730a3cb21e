#include "node_blocks.hpp"

#include "../tried.hpp"

#include <rdmanet/base/format.hpp>

#include <algorithm>
#include <ctime>

namespace rdmanet::cluster {
namespace {

using base::IpPrefix;
using ipam::Block;
using ipam::BlockState;
using ipam::Interval;
using ipam::StoreError;

Interval interval_of(const IpPrefix& block) {
    return {block.network().value(), block.last().value()};
}

std::string time_text() {
    const std::time_t now = std::time(nullptr);
    std::tm utc{};
    char text[32] = "";
    (void)::gmtime_r(&now, &utc);
    (void)std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
    return text;
}

} // namespace

bool is_useful(const IpPrefix& block, const std::vector<Interval>& usable) {
    const Interval its = interval_of(block);
    return std::any_of(usable.begin(), usable.end(), [&](const Interval& interval) {
        return interval.first <= its.last && its.first <= interval.last;
    });
}

void not_known(std::string_view what, const std::string& name, std::string_view trouble) {
    throw StoreError(StoreError::Kind::temporary,
                     fmt::format("lease store: no answer says whether the {} of AddressBlock {} was done{}", what, name,
                                 what_is_known(trouble)));
}

const std::string& NodeBlocks::file_id(const Deadline& deadline) {
    if (file_id_.empty()) file_id_ = file_.id(deadline);
    return file_id_;
}

bool NodeBlocks::is_ours(const BlockObject& object, const Deadline& deadline) {
    return object.lease_file == file_id(deadline);
}

/// What this node writes into the cluster for a block of its own.
BlockObject NodeBlocks::object_of(const Block& block) const {
    return {.space = block.space,
            .range = block.range,
            .block = block.prefix,
            .node = {.name = options_.node_name,
                     .uid = node_uid_.empty() ? block.node_uid : node_uid_,
                     .machine_id = options_.machine_id,
                     .boot_id = options_.boot_id},
            .lease_file = file_id_,
            .in_use = block.leases,
            .in_use_at = time_text()};
}

Block NodeBlocks::block_of(const BlockObject& object, BlockState state) const {
    return {.space = object.space,
            .prefix = object.block,
            .range = object.range,
            .state = state,
            .version = object.version,
            .node_uid = object.node.uid,
            .boot_id = object.node.boot_id};
}

bool NodeBlocks::is_in_use(const Block& block) const {
    return block.state == BlockState::open && block.boot_id == options_.boot_id;
}

std::optional<Block> NodeBlocks::find_known(const std::string& space, const IpPrefix& prefix,
                                            const Deadline& deadline) {
    for (Block& block : file_.blocks(deadline))
        if (block.space == space && block.prefix == prefix) return std::move(block);
    return std::nullopt;
}

bool NodeBlocks::is_due(const Block& block, const ipam::Time& now) {
    const std::int64_t waited = now.boot - block.since;
    return block.state == BlockState::lost && (waited < 0 || waited >= kSettled.count());
}

NodeBlocks::Search NodeBlocks::acquire(const ipam::Claim& claim, const Deadline& deadline) {
    (void)file_id(deadline);
    const BlockRange range = range_of(claim, deadline);
    try {
        return acquire_of(range, claim, deadline);
    } catch (const RangeChanged&) { // the block went back
        file_.forget_range(range, deadline);
    }
    return acquire_of(record_range(claim, deadline), claim, deadline);
}

NodeBlocks::Search NodeBlocks::acquire_of(const BlockRange& range, const ipam::Claim& claim, const Deadline& deadline) {
    const ipam::BlockCut cut(range.subnet, range.block_size, range.requestable);
    const auto is_of_range = [&](const Block& block) {
        return block.space == range.space && block.range == range.subnet;
    };
    bool has_found = false;
    for (const Block& block : file_.blocks(deadline)) {
        if (!is_of_range(block)) continue;
        if (block.state == BlockState::claiming && find_out(block, deadline)) has_found = true;
        if (block.state == BlockState::lost && regain_lost(block, deadline)) has_found = true;
    }
    if (has_found) return {.found = true};
    if (claim.wanted) return acquire_block(range, cut.block_of(*claim.wanted), *claim.wanted, deadline);
    const std::vector<Interval> usable = cut.without_requestable(claim.usable);
    for (const Block& block : file_.blocks(deadline)) {
        const bool is_settled = block.state == BlockState::claiming || block.state == BlockState::lost;
        if (!is_of_range(block) || is_in_use(block) || is_settled) continue;
        if (is_useful(block.prefix, usable) && reopen(block, deadline)) return {.found = true};
    }
    if (claim_new(range, cut, claim, deadline)) return {.found = true};
    return search_among_others(range, cut, claim, deadline);
}

/// A block of one is another pod's, or was and has not gone back yet.
void NodeBlocks::refuse_requested(const BlockRange& range, const BlockObject& holder, const base::IpAddress& wanted) {
    const std::string has =
        fmt::format("requested address {} is in block {} of node {}", wanted, holder.block, holder.node.name);
    if (range.is_on_request(holder.block))
        throw ipam::RequestedAddressTaken(
            fmt::format("{}: if no pod there has it, run `rdmanet gc` on that node, which gives it back", has));
    throw ipam::RequestedAddressTaken(
        fmt::format("{}: request an address of {}", has,
                    range.requestable
                        ? fmt::format("the requestable part, {}", *range.requestable)
                        : std::string("another block, or set \"requestable\" for the range before it is first used")));
}

NodeBlocks::Search NodeBlocks::acquire_block(const BlockRange& range, const IpPrefix& block,
                                             const base::IpAddress& wanted, const Deadline& deadline) {
    for (const Block& known : file_.blocks(deadline)) {
        if (known.space != range.space || known.prefix != block) continue;
        if (known.state == BlockState::claiming) not_known("creation", object_name(range.space, block));
        if (known.state != BlockState::lost && reopen(known, deadline)) return {.found = true};
    }
    (void)learn_node_uid(deadline);
    if (try_to_create(range, block, deadline)) return {.found = true};
    auto object = api_.find_block(object_name(range.space, block), deadline);
    if (!object)
        throw StoreError(
            StoreError::Kind::temporary,
            fmt::format("lease store: AddressBlock {} came and went: try again", object_name(range.space, block)));
    if (object->is_released || is_ours(*object, deadline) || may_go_on_with(*object, deadline))
        if (take(block_of(*object, BlockState::earlier), *object, deadline)) return {.found = true};
    refuse_requested(range, *object, wanted);
}

} // namespace rdmanet::cluster
