#include <rdmanet/ipam/block_cut.hpp>

#include <algorithm>
#include <bit>

namespace rdmanet::ipam {
namespace {

using base::IpAddress;
using base::IpPrefix;
using base::Uint128;

constexpr unsigned kLeastBlocksBits = 2; // a range has at least four blocks, if it has four addresses

IpPrefix prefix_of(const IpAddress& address, unsigned bits) {
    const IpPrefix with_host = *IpPrefix::make(address, base::address_bits(address.family()) - bits);
    return *IpPrefix::make(with_host.network(), with_host.length());
}

} // namespace

BlockCut::BlockCut(const IpPrefix& subnet, unsigned block_size, std::optional<IpPrefix> requestable)
    : subnet_(*IpPrefix::make(subnet.network(), subnet.length())), requestable_(requestable) {
    const unsigned host_bits = base::address_bits(subnet.family()) - subnet.length();
    const auto block_bits = static_cast<unsigned>(std::bit_width(block_size) - 1);
    bits_ = std::min(block_bits, host_bits < kLeastBlocksBits ? 0 : host_bits - kLeastBlocksBits);
}

bool BlockCut::is_requestable(const IpAddress& address) const {
    return requestable_ && requestable_->contains(address);
}

IpPrefix BlockCut::at(Uint128 index) const {
    return prefix_of({subnet_.family(), subnet_.network().value() + (index << bits_)}, bits_);
}

IpPrefix BlockCut::block_of(const IpAddress& address) const {
    return prefix_of(address, is_requestable(address) ? 0 : bits_);
}

std::vector<BlockIndexes> BlockCut::blocks_with(const std::vector<Interval>& usable) const {
    std::vector<BlockIndexes> found;
    for (const Interval& interval : without_requestable(usable)) {
        const BlockIndexes indexes{index_of({subnet_.family(), interval.first}),
                                   index_of({subnet_.family(), interval.last})};
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
