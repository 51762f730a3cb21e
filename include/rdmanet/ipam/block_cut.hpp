// How the addresses of a range are cut into blocks, each of which one node holds. The cut depends on the subnet and on
// what the cluster has recorded for it, and on nothing that a network's configuration may change.
#pragma once

#include <rdmanet/base/ip_address.hpp>
#include <rdmanet/ipam/range.hpp>

#include <optional>
#include <vector>

namespace rdmanet::ipam {

inline constexpr unsigned kDefaultBlockSize = 16;
inline constexpr unsigned kMostBlockSize = 65536;
/// Larger ranges have more blocks than a 128-bit number can count.
inline constexpr unsigned kMostHostBits = 120;

/// Indexes from `first` to `last`, both included, of adjacent blocks.
using BlockIndexes = Interval;

class BlockCut {
public:
    /// `block_size` is a power of two. A small subnet has smaller blocks, so that at least four nodes can share it.
    /// Addresses of `requestable` are in blocks of one each. The subnet has at most kMostHostBits of host part.
    BlockCut(const base::IpPrefix& subnet, unsigned block_size, std::optional<base::IpPrefix> requestable);

    /// The block of an address of the subnet.
    [[nodiscard]] base::IpPrefix block_of(const base::IpAddress& address) const;

    /// Blocks outside of `requestable` that have an address in `usable`, by address.
    [[nodiscard]] std::vector<BlockIndexes> blocks_with(const std::vector<Interval>& usable) const;
    [[nodiscard]] base::IpPrefix at(base::Uint128 index) const;
    [[nodiscard]] base::Uint128 index_of(const base::IpAddress& address) const {
        return (address.value() - subnet_.network().value()) >> bits_;
    }

    /// What nodes may give from their blocks: `usable` without the addresses that only a request gets.
    [[nodiscard]] std::vector<Interval> without_requestable(const std::vector<Interval>& usable) const;

private:
    [[nodiscard]] bool is_requestable(const base::IpAddress& address) const;

    base::IpPrefix subnet_;
    std::optional<base::IpPrefix> requestable_;
    unsigned bits_; // a block has 2^bits_ addresses
};

} // namespace rdmanet::ipam
