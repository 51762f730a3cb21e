#include "free.hpp"

#include <algorithm>

namespace rdmanet::cluster {
namespace {

using base::IpAddress;
using base::Uint128;
using ipam::Claim;
using ipam::Interval;

constexpr std::size_t kParts = 64;          // counted at once
constexpr std::uint64_t kKeysAtOnce = 256;  // keys read at once
constexpr std::size_t kCountedAtOnce = 100; // below etcd's limit of operations

/// Less one: 2^128 does not fit.
Uint128 last_index(const Interval& interval) {
    return interval.last - interval.first;
}

bool has_gap(const Claim& claim, const Interval& interval, std::uint64_t leases, const std::set<IpAddress>& avoided) {
    const auto taken = static_cast<Uint128>(leases) +
                       static_cast<Uint128>(std::count_if(avoided.begin(), avoided.end(), [&](const IpAddress& one) {
                           return one.family() == claim.family && interval.contains(one.value());
                       }));
    return taken <= last_index(interval);
}

std::vector<Interval> parts_of(const Interval& whole) {
    const Uint128 step = last_index(whole) / kParts + 1;
    std::vector<Interval> parts;
    for (Uint128 first = whole.first;; first += step) {
        const bool is_last = whole.last - first < step;
        parts.push_back({.first = first, .last = is_last ? whole.last : first + (step - 1)});
        if (is_last) return parts;
    }
}

std::optional<IpAddress> find_free_in(Interval part, const EtcdKeys& keys, const Claim& claim,
                                      const std::set<IpAddress>& avoided, std::uint64_t seed, const RunEtcd& run) {
    while (last_index(part) >= kKeysAtOnce) {
        std::vector<Interval> parts = parts_of(part);
        const auto begin = static_cast<std::ptrdiff_t>(seed % parts.size()); // nodes that search at once begin apart
        std::rotate(parts.begin(), parts.begin() + begin, parts.end());
        const std::vector<std::uint64_t> counts = count_leases(keys, claim, parts, run);
        std::size_t at = 0;
        while (at < parts.size() && !has_gap(claim, parts[at], counts[at], avoided)) ++at;
        if (at == parts.size()) return std::nullopt; // others were faster
        part = parts[at];
    }
    etcd::Range page = range_of(keys, claim, part);
    page.want = etcd::Range::Want::keys;
    return gap_in(run(etcd::Transaction().read(page)).found.at(0), claim, part, avoided);
}

} // namespace

etcd::Range range_of(const EtcdKeys& keys, const Claim& claim, const Interval& interval) {
    // The key that follows another one at once has a zero byte more.
    return {.key = keys.address(claim.space, IpAddress(claim.family, interval.first)),
            .end = keys.address(claim.space, IpAddress(claim.family, interval.last)) + '\0'};
}

Uint128 scattered(const Claim& claim, std::uint64_t seed) {
    Uint128 most = 0; // how many addresses there are, less one
    for (std::size_t at = 0; at < claim.usable.size(); ++at) most += last_index(claim.usable[at]) + (at == 0 ? 0 : 1);
    Uint128 index = most + 1 == 0 ? seed : seed % (most + 1);
    for (const Interval& interval : claim.usable) {
        if (index <= last_index(interval)) return interval.first + index;
        index -= last_index(interval) + 1;
    }
    return claim.usable.front().first;
}

std::optional<Interval> rest_of(const Claim& claim, Uint128 address) {
    for (const Interval& interval : claim.usable)
        if (interval.contains(address)) return Interval{.first = address, .last = interval.last};
    return std::nullopt;
}

std::optional<IpAddress> gap_in(const etcd::Found& keys, const Claim& claim, const Interval& interval,
                                const std::set<IpAddress>& avoided) {
    Uint128 candidate = interval.first;
    for (const etcd::KeyValue& entry : keys.entries) {
        const auto leased = EtcdKeys::address_in(entry.key);
        if (!leased || leased->value() < candidate) continue; // not ours
        for (; candidate < leased->value(); ++candidate)
            if (const IpAddress free(claim.family, candidate); !avoided.contains(free)) return free;
        if (candidate == interval.last) return std::nullopt;
        ++candidate;
    }
    if (keys.count > keys.entries.size()) return std::nullopt; // there are more keys
    for (;; ++candidate) {
        if (const IpAddress free(claim.family, candidate); !avoided.contains(free)) return free;
        if (candidate == interval.last) return std::nullopt;
    }
}

std::vector<std::uint64_t> count_leases(const EtcdKeys& keys, const Claim& claim,
                                        const std::vector<Interval>& intervals, const RunEtcd& run) {
    std::vector<std::uint64_t> counts;
    for (std::size_t begin = 0; begin < intervals.size(); begin += kCountedAtOnce) {
        etcd::Transaction counting;
        const std::size_t end = std::min(intervals.size(), begin + kCountedAtOnce);
        for (std::size_t at = begin; at < end; ++at) {
            etcd::Range range = range_of(keys, claim, intervals[at]);
            range.want = etcd::Range::Want::count;
            counting.read(range);
        }
        const etcd::Answer answer = run(counting);
        for (std::size_t at = begin; at < end; ++at) counts.push_back(answer.found.at(at - begin).count);
    }
    return counts;
}

std::optional<IpAddress> find_free(const EtcdKeys& keys, const Claim& claim, const std::set<IpAddress>& avoided,
                                   std::uint64_t seed, const RunEtcd& run) {
    const std::vector<std::uint64_t> counts = count_leases(keys, claim, claim.usable, run);
    for (std::size_t at = 0; at < claim.usable.size(); ++at)
        if (has_gap(claim, claim.usable[at], counts[at], avoided))
            if (auto free = find_free_in(claim.usable[at], keys, claim, avoided, seed, run)) return free;
    return std::nullopt;
}

} // namespace rdmanet::cluster
