#include "block_table.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/hash.hpp>
#include <rdmanet/ipam/block_cut.hpp>

#include <algorithm>
#include <tuple>
#include <utility>

namespace rdmanet::ipam {

using base::IpAddress;
using base::IpPrefix;

namespace {

std::uint64_t hash_of(const Claim& claim) {
    std::string usable;
    for (const Interval& interval : claim.usable) usable += to_text(claim.family, interval) + " ";
    return base::hash64(usable);
}

IpAddress first_of(const Claim& claim) {
    return {claim.family, claim.usable.front().first};
}

auto place_of(const Block& block) {
    return std::tuple(std::string_view(block.space), block.prefix.address(), block.prefix.length());
}
auto place_of(const RangeRow& row) {
    return std::tuple(std::string_view(row.range.space), row.range.subnet.network());
}

template <class Row>
void insert_in_order(std::vector<Row>& rows, Row row) {
    const auto at = std::lower_bound(rows.begin(), rows.end(), row,
                                     [](const Row& a, const Row& b) { return place_of(a) < place_of(b); });
    rows.insert(at, std::move(row));
}

/// What is in both. `blocks` is sorted and disjoint, as `usable` is.
std::vector<Interval> intersection(const std::vector<Interval>& usable, const std::vector<Interval>& blocks) {
    std::vector<Interval> common;
    auto block = blocks.begin();
    for (const Interval& interval : usable) {
        while (block != blocks.end() && block->last < interval.first) ++block;
        for (auto at = block; at != blocks.end() && at->first <= interval.last; ++at)
            common.push_back({std::max(at->first, interval.first), std::min(at->last, interval.last)});
    }
    return common;
}

} // namespace

bool BlockRange::is_on_request(const IpPrefix& block) const {
    if (block.length() != base::address_bits(block.family())) return false;
    return subnet.length() == block.length() || (requestable && requestable->contains(block.address()));
}

std::vector<BlockRange> BlockTable::ranges() const {
    std::vector<BlockRange> ranges;
    for (const RangeRow& row : book_.ranges) ranges.push_back(row.range);
    return ranges;
}

RangeRow* BlockTable::find_row(const std::string& space, const IpAddress& address) const {
    for (RangeRow& row : book_.ranges)
        if (row.range.space == space && row.range.subnet.contains(address)) return &row;
    return nullptr;
}

std::optional<BlockRange> BlockTable::find_range(const std::string& space, const IpAddress& address) const {
    const RangeRow* const row = find_row(space, address);
    return row == nullptr ? std::nullopt : std::optional(row->range);
}

void BlockTable::put_range(const BlockRange& range) {
    if (range.block_size == 0) // of another store: the file would be taken for damaged
        throw StoreError(StoreError::Kind::permanent,
                         fmt::format("lease store: range {} is not cut into blocks", range.subnet));
    book_.note_change();
    for (RangeRow& row : book_.ranges) {
        if (row.range.space != range.space || row.range.subnet.network() != range.subnet.network()) continue;
        row.range = range;
        return;
    }
    insert_in_order(book_.ranges, RangeRow{.range = range});
}

void BlockTable::forget_range(const BlockRange& range) {
    const bool has_blocks = std::any_of(book_.blocks.begin(), book_.blocks.end(), [&](const Block& block) {
        return block.space == range.space && range.subnet.contains(block.prefix.address());
    });
    if (has_blocks) return;
    book_.note_change();
    std::erase_if(book_.ranges, [&](const RangeRow& row) {
        return row.range.space == range.space && row.range.subnet.network() == range.subnet.network();
    });
}

bool BlockTable::has_looked(const std::string& kubeconfig, const std::string& node_name) const {
    return std::any_of(book_.ranges.begin(), book_.ranges.end(), [&](const RangeRow& row) {
        return row.range.kubeconfig == kubeconfig && row.range.node_name == node_name && row.looked_in == boot_id_;
    });
}

void BlockTable::set_looked(const std::string& kubeconfig, const std::string& node_name) {
    book_.note_change();
    for (RangeRow& row : book_.ranges)
        if (row.range.kubeconfig == kubeconfig && row.range.node_name == node_name) row.looked_in = boot_id_;
}

void BlockTable::set_full(const Claim& claim) {
    RangeRow* const row = claim.usable.empty() ? nullptr : find_row(claim.space, first_of(claim));
    if (row == nullptr) return;
    book_.note_change();
    row->full_since = now_;
    row->full_claim = hash_of(claim); // another network may use another part of the range
}

bool BlockTable::is_full(const Claim& claim, std::int64_t within) const {
    if (claim.usable.empty()) return true;
    const RangeRow* const row = find_row(claim.space, first_of(claim));
    if (row == nullptr || row->full_since == 0 || row->full_claim != hash_of(claim)) return false;
    const std::int64_t passed = now_ - row->full_since;
    return passed >= 0 && passed < within;
}

std::vector<Block> BlockTable::blocks() const {
    std::vector<Block> blocks = book_.blocks;
    for (Block& block : blocks) block.leases = count_leases(block);
    return blocks;
}

std::vector<Block> BlockTable::lost() const {
    std::vector<Block> lost;
    for (const Block& block : book_.blocks)
        if (block.state == BlockState::lost) lost.push_back(block);
    return lost;
}

std::uint64_t BlockTable::count_leases(const Block& block) const {
    return book_
        .usage({.space = block.space,
                .family = block.prefix.family(),
                .usable = {{block.prefix.network().value(), block.prefix.last().value()}}})
        .leases;
}

Block* BlockTable::find(const Block& block) const {
    for (Block& known : book_.blocks)
        if (place_of(known) == place_of(block)) return &known;
    return nullptr;
}

void BlockTable::add(const Block& block) {
    if (find(block) != nullptr) return;
    book_.note_change();
    Block added = block;
    added.since = now_;
    added.leases = 0;
    insert_in_order(book_.blocks, std::move(added));
}

void BlockTable::open(const Block& block) {
    Block opened = block;
    opened.boot_id = boot_id_;
    add(opened);
    set_written(opened);
    set_state(*find(opened), BlockState::open);
}

void BlockTable::set_written(const Block& block) {
    Block* const known = find(block);
    if (known == nullptr) return;
    book_.note_change();
    known->version = block.version;
    known->node_uid = block.node_uid;
    known->boot_id = block.boot_id;
    known->holder.clear();
}

void BlockTable::set_state(Block& block, BlockState state) {
    book_.note_change();
    block.state = state;
    block.since = now_;
}

void BlockTable::lose(const Block& block, const std::string& holder) {
    Block* const known = find(block);
    if (known == nullptr) return;
    known->version.clear();
    known->node_uid.clear();
    known->boot_id = boot_id_;
    const bool is_in_use = count_leases(*known) != 0;
    known->holder = is_in_use ? holder : "";
    set_state(*known, is_in_use ? BlockState::lost : BlockState::closed);
}

bool BlockTable::remove(const Block& block) {
    const auto removed = std::erase_if(book_.blocks, [&](const Block& known) {
        const bool stays =
            (known.state == BlockState::open || known.state == BlockState::lost) && known.boot_id == boot_id_;
        return place_of(known) == place_of(block) && !stays;
    });
    if (removed != 0) book_.note_change();
    return removed != 0;
}

bool BlockTable::gives(const Block& block) const {
    return block.state == BlockState::open && block.boot_id == boot_id_;
}

std::vector<Interval> BlockTable::open_part(const Claim& claim) const {
    if (claim.usable.empty()) return {};
    const auto range = find_range(claim.space, first_of(claim));
    if (!range) return {};
    std::vector<Interval> open;
    for (const Block& block : book_.blocks)
        if (block.space == claim.space && block.prefix.family() == claim.family && gives(block))
            open.push_back({block.prefix.network().value(), block.prefix.last().value()});
    const BlockCut cut(range->subnet, range->block_size, range->requestable);
    return intersection(cut.without_requestable(claim.usable), merged(std::move(open)));
}

bool BlockTable::is_open(const std::string& space, const IpAddress& address) const {
    const auto range = find_range(space, address);
    if (!range) return false;
    const IpPrefix its = BlockCut(range->subnet, range->block_size, range->requestable).block_of(address);
    return std::any_of(book_.blocks.begin(), book_.blocks.end(),
                       [&](const Block& block) { return block.space == space && block.prefix == its && gives(block); });
}

void BlockTable::note_release(const std::string& space, const IpAddress& address) {
    const auto range = find_range(space, address);
    for (RangeRow& row : book_.ranges)
        if (row.range.space == space && row.range.subnet.contains(address)) row.full_since = 0;
    for (Block& block : book_.blocks) {
        if (block.space != space || !block.prefix.contains(address)) continue;
        const bool is_lost = block.state == BlockState::lost;
        if ((block.state != BlockState::open && !is_lost) || count_leases(block) != 0) continue;
        const bool goes = is_lost || (range && range->is_on_request(block.prefix));
        set_state(block, goes ? BlockState::closed : BlockState::open);
    }
}

void BlockTable::close_empty(const BlockRange& range) {
    for (Block& block : book_.blocks) {
        const bool is_of_range = block.space == range.space && block.range == range.subnet;
        const bool may_close = block.state == BlockState::open || block.state == BlockState::earlier;
        if (is_of_range && may_close && count_leases(block) == 0) set_state(block, BlockState::closed);
    }
}

void BlockTable::close_abandoned() {
    for (Block& block : book_.blocks) {
        if (block.state != BlockState::open || count_leases(block) != 0) continue;
        const auto range = find_range(block.space, block.prefix.address());
        if (range && range->is_on_request(block.prefix)) set_state(block, BlockState::closed);
    }
}

bool BlockTable::close_idle(std::int64_t idle) {
    const std::vector<Block> all = blocks();
    bool has_closed = false;
    for (const Block& block : all) {
        if (block.state == BlockState::closed) has_closed = true;
        const bool is_of_this_boot = block.boot_id == boot_id_;
        const bool is_kept = is_of_this_boot && block.state == BlockState::lost; // until its last lease is released
        if (is_kept || block.state == BlockState::claiming || block.state == BlockState::closed || block.leases != 0)
            continue;
        if (block.since <= now_ && now_ - block.since < idle) continue;
        const auto range = find_range(block.space, block.prefix.address());
        const bool is_on_request = range && range->is_on_request(block.prefix);
        const bool is_last_used = std::none_of(all.begin(), all.end(), [&](const Block& other) {
            return other.state == BlockState::open && other.leases == 0 && other.space == block.space &&
                   other.range == block.range && other.prefix != block.prefix &&
                   std::pair(other.since, other.prefix.address()) > std::pair(block.since, block.prefix.address()) &&
                   !(range && range->is_on_request(other.prefix));
        });
        if (is_last_used && !is_on_request && is_of_this_boot && block.state == BlockState::open) continue;
        set_state(*find(block), BlockState::closed);
        has_closed = true;
    }
    return has_closed;
}

} // namespace rdmanet::ipam
