#include "node_blocks.hpp"

#include "../tries.hpp"

#include <rdmanet/base/format.hpp>

#include <algorithm>
#include <ctime>

namespace rdmanet::cluster {
namespace {

using ipam::BlockState;
using ipam::StoreError;

} // namespace

std::string NodeBlocks::time_text() {
    const std::time_t now = std::time(nullptr);
    std::tm utc{};
    char text[32] = "";
    (void)::gmtime_r(&now, &utc);
    (void)std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
    return text;
}

bool NodeBlocks::is_done(std::string_view what, const Block& block, const WriteOutcome& written) {
    if (written.done != WriteOutcome::Done::unknown) return written.done == WriteOutcome::Done::yes;
    throw StoreError(StoreError::Kind::temporary,
                     fmt::format("lease store: no answer says whether the {} of AddressBlock {} was done{}: try again",
                                 what, object_name(block.space, block.prefix), what_is_known(written.trouble)));
}

void NodeBlocks::warn(const std::string& text) const {
    if (options_.warn) options_.warn(text);
}

bool NodeBlocks::is_of_this_cluster(const BlockRange& range) const {
    return range.kubeconfig == options_.kubeconfig;
}

bool NodeBlocks::touches(const base::IpPrefix& block, const std::vector<ipam::Interval>& intervals) {
    const ipam::Interval its{block.network().value(), block.last().value()};
    return std::ranges::any_of(intervals, [&](const ipam::Interval& interval) {
        return interval.first <= its.last && its.first <= interval.last;
    });
}

std::optional<ipam::Block> NodeBlocks::find_row(const std::string& space, const base::IpPrefix& prefix) {
    for (Block& block : file_.blocks())
        if (block.space == space && block.prefix == prefix) return std::move(block);
    return std::nullopt;
}

NodeMark NodeBlocks::self() const {
    return {
        .name = options_.node_name, .uid = node_uid_, .machine_id = options_.machine_id, .boot_id = options_.boot_id};
}

ipam::BlockRange NodeBlocks::range_of(const AddressRange& declared) const {
    return {.uid = declared.uid,
            .name = declared.name,
            .space = declared.space,
            .subnet = declared.subnet,
            .block_size = declared.block_size,
            .requestable = declared.requestable,
            .gone_after = declared.gone_after,
            .kubeconfig = options_.kubeconfig,
            .node_name = options_.node_name};
}

std::optional<ipam::BlockRange> NodeBlocks::range_of(const Block& block) {
    for (BlockRange& range : file_.ranges())
        if (range.uid == block.range_uid) return std::move(range);
    return std::nullopt;
}

/// What this node writes into the cluster for a block of its own.
BlockObject NodeBlocks::object_of(const Block& block, const BlockRange& range) const {
    return {.space = block.space,
            .range = range.subnet,
            .range_uid = range.uid,
            .block = block.prefix,
            .node = self(),
            .gone_after = range.gone_after,
            .in_use = std::max<std::uint64_t>(block.leases, 1), // it is for an address that is wanted now
            .in_use_at = time_text()};
}

bool NodeBlocks::is_ours(const BlockObject& object) const {
    return is_same_machine(object.node, self());
}

/// What a DEL has closed in the meantime stays closed, and a file that was made new in the meantime does not get the
/// row: it may lack the leases in the block. False then.
bool NodeBlocks::put(const Block& block, const Deadline& deadline) {
    bool has_put = false;
    file_.change(deadline, [&](Rows& rows) {
        const auto now = rows.find(block.space, block.prefix);
        has_put = now && (now->state != BlockState::going || block.state != BlockState::open);
        if (has_put) rows.put(block);
    });
    return has_put;
}

void NodeBlocks::forget(const Block& block, const Deadline& deadline) {
    file_.change(deadline, [&](Rows& rows) {
        rows.remove(block);
        if (const auto* range = rows.find_range(block.range_uid); range != nullptr && range->is_gone)
            rows.forget_range(block.range_uid);
    });
}

/// The block is this node's by `written`. It stays closed while a network namespace has an address of it that no lease
/// of this file explains.
bool NodeBlocks::open(Block block, const WriteOutcome& written, std::int64_t confirmed, const Deadline& deadline) {
    block.version = written.version;
    block.node_uid = node_uid_;
    block.boot_id = options_.boot_id;
    if (!written.uid.empty()) block.uid = written.uid;
    const bool was_open = block.state == BlockState::open;
    const std::string why = was_open ? std::string() : why_not_open(block);
    block.state = why.empty() ? BlockState::open : BlockState::closed;
    block.confirmed = why.empty() ? std::optional(confirmed) : std::nullopt;
    if (!was_open) block.since = file_.now().boot;
    if (!why.empty()) warn(fmt::format("block {} is this node's, and nothing is given from it: {}", block.prefix, why));
    return put(block, deadline) && why.empty();
}

std::string NodeBlocks::why_not_open(const Block& block) const {
    if (!options_.find_use) return {};
    std::vector<base::IpAddress> known;
    for (const ipam::Lease& lease : file_.list_all())
        if (lease.space == block.space) known.push_back(lease.address.address());
    return options_.find_use(block.prefix, known);
}

} // namespace rdmanet::cluster
