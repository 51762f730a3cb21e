#include <rdmanet/ipam/block_cut.hpp>

#include <algorithm>
#include <bit>

namespace rdmanet::ipam {
namespace {

using base::IpAddress;
using base::IpPrefix;
using base::Uint128;

constexpr Uint128 kOne = 1;
constexpr unsigned kSmallerBits = 2; // of the blocks at the end of a range

IpPrefix prefix_of(const IpAddress& address, unsigned bits) {
    const IpPrefix with_host = *IpPrefix::make(address, base::address_bits(address.family()) - bits);
    return *IpPrefix::make(with_host.network(), with_host.length());
}

} // namespace

/// Three quarters of the range are cut into blocks of the full size. So that nodes which need one address more don't
/// strand whole blocks when the range fills up, three quarters of the rest are blocks of four, and the last sixteenth
/// is single addresses.
BlockCut::BlockCut(const IpPrefix& subnet, unsigned block_size, std::optional<IpPrefix> requestable)
    : subnet_(*IpPrefix::make(subnet.network(), subnet.length())), requestable_(requestable) {
    const unsigned host_bits = base::address_bits(subnet.family()) - subnet.length();
    const auto block_bits = static_cast<unsigned>(std::bit_width(block_size) - 1);
    const auto quarter_of = [](unsigned bits) { return bits < 2 ? 0 : bits - 2; };
    unsigned left = host_bits; // the part that is not yet cut has 2^left addresses
    Uint128 first = 0;
    for (std::size_t at = 0; at < 2; ++at) {
        const unsigned quarter = quarter_of(left);
        const unsigned bits = std::min({block_bits, quarter, at == 0 ? block_bits : kSmallerBits});
        if (bits == 0) { // everything from here on is single addresses
            parts_[at] = {.first = first, .blocks = kOne << left, .bits = 0};
            return;
        }
        parts_[at] = {.first = first, .blocks = (kOne << (quarter - bits)) * 3, .bits = bits};
        first += (kOne << quarter) * 3;
        left = quarter;
    }
    parts_[2] = {.first = first, .blocks = kOne << left, .bits = 0};
}

bool BlockCut::is_requestable(const IpAddress& address) const {
    return requestable_ && requestable_->contains(address);
}

const BlockCut::Part& BlockCut::part_of(Uint128 offset) const {
    const Part* found = parts_.data();
    for (const Part& part : parts_)
        if (part.blocks != 0 && part.first <= offset) found = &part;
    return *found;
}

Uint128 BlockCut::index_of(Uint128 offset) const {
    Uint128 before = 0;
    const Part& its = part_of(offset);
    for (const Part& part : parts_) {
        if (&part == &its) break;
        before += part.blocks;
    }
    return before + ((offset - its.first) >> its.bits);
}

IpPrefix BlockCut::at(Uint128 index) const {
    for (const Part& part : parts_) {
        if (index < part.blocks)
            return prefix_of({subnet_.family(), subnet_.network().value() + part.first + (index << part.bits)},
                             part.bits);
        index -= part.blocks;
    }
    return subnet_; // unreachable: nobody counts further than there are blocks
}

IpPrefix BlockCut::block_of(const IpAddress& address) const {
    if (is_requestable(address)) return prefix_of(address, 0);
    return prefix_of(address, part_of(address.value() - subnet_.network().value()).bits);
}

std::vector<BlockIndexes> BlockCut::blocks_with(const std::vector<Interval>& usable) const {
    std::vector<BlockIndexes> found;
    const Uint128 start = subnet_.network().value();
    for (const Interval& interval : without_requestable(usable)) {
        const BlockIndexes indexes{index_of(interval.first - start), index_of(interval.last - start)};
        if (!found.empty() && indexes.first <= found.back().last + 1)
            found.back().last = std::max(found.back().last, indexes.last);
        else
            found.push_back(indexes);
    }
    return found;
}

std::vector<Interval> BlockCut::without_requestable(const std::vector<Interval>& usable) const {
    if (!requestable_) return usable;
    const Uint128 first = requestable_->network().value();
    const Uint128 last = requestable_->last().value();
    std::vector<Interval> left;
    for (const Interval& interval : usable) {
        if (interval.last < first || interval.first > last) {
            left.push_back(interval);
            continue;
        }
        if (interval.first < first) left.push_back({interval.first, first - 1});
        if (interval.last > last) left.push_back({last + 1, interval.last});
    }
    return left;
}

} // namespace rdmanet::ipam
