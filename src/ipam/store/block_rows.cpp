#include "lease_book.hpp"

#include <rdmanet/ipam/block_cut.hpp>
#include <rdmanet/ipam/store/block_file.hpp>

#include <algorithm>
#include <tuple>
#include <utility>

namespace rdmanet::ipam {
namespace {

using base::IpAddress;
using base::IpPrefix;

Interval interval_of(const IpPrefix& prefix) {
    return {prefix.network().value(), prefix.last().value()};
}

auto place_of(const Block& block) {
    return std::tuple(std::string_view(block.space), block.prefix.address(), block.prefix.length());
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

Claim all_of(const Block& block) {
    return {.space = block.space, .family = block.prefix.family(), .usable = {interval_of(block.prefix)}};
}

} // namespace

bool BlockRange::is_on_request(const IpPrefix& block) const {
    if (block.length() != base::address_bits(block.family())) return false;
    return subnet.length() == block.length() || (requestable && requestable->contains(block.address()));
}

const std::vector<BlockRange>& BlockRows::ranges() const {
    return book_.ranges;
}

const BlockRange* BlockRows::find_range(const std::string& uid) const {
    const auto found = std::ranges::find_if(book_.ranges, [&](const BlockRange& range) { return range.uid == uid; });
    return found == book_.ranges.end() ? nullptr : &*found;
}

const BlockRange* BlockRows::find_range(const std::string& space, const IpAddress& address) const {
    const auto found = std::ranges::find_if(book_.ranges, [&](const BlockRange& range) {
        return !range.is_gone && range.space == space && range.subnet.contains(address);
    });
    return found == book_.ranges.end() ? nullptr : &*found;
}

void BlockRows::put_range(const BlockRange& range) {
    for (BlockRange& known : book_.ranges) {
        if (known.uid != range.uid) continue;
        if (!(known == range)) book_.note_change();
        known = range;
        return;
    }
    book_.ranges.push_back(range);
    book_.note_change();
}

void BlockRows::forget_range(const std::string& uid) {
    const bool has_blocks =
        std::ranges::any_of(book_.blocks, [&](const Block& block) { return block.range_uid == uid; });
    if (has_blocks) return;
    std::erase_if(book_.ranges, [&](const BlockRange& range) { return range.uid == uid; });
    book_.note_change();
}

std::vector<Block> BlockRows::blocks() const {
    std::vector<Block> blocks = book_.blocks;
    for (Block& block : blocks) block.leases = book_.usage(all_of(block)).leases;
    return blocks;
}

std::optional<Block> BlockRows::find(const std::string& space, const IpPrefix& prefix) const {
    for (const Block& block : book_.blocks) {
        if (block.space != space || block.prefix != prefix) continue;
        Block found = block;
        found.leases = book_.usage(all_of(block)).leases;
        return found;
    }
    return std::nullopt;
}

void BlockRows::put(const Block& block) {
    auto at = std::lower_bound(book_.blocks.begin(), book_.blocks.end(), block,
                               [](const Block& a, const Block& b) { return place_of(a) < place_of(b); });
    Block row = block;
    row.leases = 0;
    if (at != book_.blocks.end() && place_of(*at) == place_of(block))
        *at = std::move(row);
    else
        book_.blocks.insert(at, std::move(row));
    book_.note_change();
}

void BlockRows::remove(const Block& block) {
    std::erase_if(book_.blocks, [&](const Block& row) { return place_of(row) == place_of(block); });
    book_.forget_resting(block.space, block.prefix);
    book_.note_change();
}

bool BlockRows::has_leases(const Block& block) const {
    return !book_.list(all_of(block), std::nullopt, 1).empty();
}

bool BlockRows::goes_at_once(const Block& block, const BlockRange* range) {
    return range == nullptr || range->is_gone || range->is_scarce || range->is_on_request(block.prefix);
}

bool BlockRows::close_idle(std::chrono::seconds idle) {
    const auto is_empty = [&](const Block& block) { return block.state == BlockState::open && !has_leases(block); };
    bool is_any_going = false;
    for (Block& block : book_.blocks) {
        if (block.state == BlockState::going) is_any_going = true;
        if (!is_empty(block)) continue;
        const BlockRange* const range = find_range(block.range_uid);
        const bool is_wanted_elsewhere = goes_at_once(block, range);
        const bool is_idle = block.since > now_.boot || now_.boot - block.since >= idle.count();
        const auto was_used_later = [&](const Block& other) {
            return is_empty(other) && other.range_uid == block.range_uid && !range->is_on_request(other.prefix) &&
                   std::pair(other.since, other.prefix.address()) > std::pair(block.since, block.prefix.address());
        };
        const bool is_spare = !is_wanted_elsewhere && is_idle && std::ranges::any_of(book_.blocks, was_used_later);
        if (!is_wanted_elsewhere && !is_spare) continue;
        block.state = BlockState::going;
        book_.note_change();
        is_any_going = true;
    }
    return is_any_going;
}

bool BlockRows::gives(const Block& block, const BlockRange& range, Trust trust) const {
    if (block.state != BlockState::open || block.boot_id != boot_id_ || range.is_gone || !block.confirmed) return false;
    const std::int64_t age = now_.boot - *block.confirmed;
    const auto limit = trust == Trust::fresh ? std::min(kFreshFor, range.gone_after) : range.gone_after;
    return age >= 0 && age <= limit.count();
}

std::vector<Interval> BlockRows::open_part(const Claim& claim, Trust trust) const {
    std::vector<Interval> part;
    for (const BlockRange& range : book_.ranges) {
        if (range.space != claim.space || range.subnet.family() != claim.family) continue;
        std::vector<Interval> open;
        for (const Block& block : book_.blocks)
            if (block.range_uid == range.uid && gives(block, range, trust)) open.push_back(interval_of(block.prefix));
        const BlockCut cut(range.subnet, range.block_size, range.requestable);
        const auto given = intersection(cut.without_requestable(claim.usable), merged(std::move(open)));
        part.insert(part.end(), given.begin(), given.end());
    }
    return merged(std::move(part));
}

bool BlockRows::is_open(const std::string& space, const IpAddress& address, Trust trust) const {
    return std::ranges::any_of(book_.blocks, [&](const Block& block) {
        if (block.space != space || !block.prefix.contains(address)) return false;
        const BlockRange* const range = find_range(block.range_uid);
        if (range == nullptr || !gives(block, *range, trust)) return false;
        return BlockCut(range->subnet, range->block_size, range->requestable).block_of(address) == block.prefix;
    });
}

void BlockRows::note_release(const std::string& space, const IpAddress& address) {
    for (Block& block : book_.blocks) {
        if (block.space != space || !block.prefix.contains(address) || has_leases(block)) continue;
        const BlockRange* const range = find_range(block.range_uid);
        block.since = now_.boot;
        if (block.state == BlockState::open && goes_at_once(block, range)) block.state = BlockState::going;
    }
    // What the cluster calls another's does not go back, and is no concern of this node any more.
    std::erase_if(book_.blocks, [&](const Block& block) {
        return block.state == BlockState::lost && block.space == space && block.prefix.contains(address) &&
               !has_leases(block);
    });
    book_.note_change();
}

std::vector<Lease> BlockRows::leases_without_block() const {
    std::vector<Lease> found;
    for (const Lease& lease : book_.leases())
        if (std::ranges::none_of(book_.blocks, [&](const Block& block) {
                return block.space == lease.space && block.prefix.contains(lease.address.address());
            }))
            found.push_back(lease);
    return found;
}

} // namespace rdmanet::ipam
