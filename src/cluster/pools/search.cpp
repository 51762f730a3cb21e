#include "search.hpp"

#include <algorithm>

namespace rdmanet::cluster {

using base::IpAddress;
using ipam::Claim;

Place place_of(const Claim& claim) {
    const base::Uint128 inside = claim.wanted ? claim.wanted->value() : claim.usable.front().first;
    const auto address = base::IpPrefix::make(IpAddress(claim.family, inside), claim.prefix_length).value();
    return {.space = claim.space, .subnet = base::IpPrefix::make(address.network(), address.length()).value()};
}

bool is_in(const Claim& claim, const IpAddress& address) {
    return std::any_of(claim.usable.begin(), claim.usable.end(),
                       [&](const ipam::Interval& interval) { return interval.contains(address.value()); });
}

std::optional<IpAddress> lowest_free(const Claim& claim, const Pool& pool, const std::set<IpAddress>& avoided) {
    for (const ipam::Interval& interval : claim.usable) {
        IpAddress candidate(claim.family, interval.first);
        auto record = std::lower_bound(pool.records.begin(), pool.records.end(), candidate,
                                       [](const auto& one, const auto& address) { return one.address < address; });
        for (;;) {
            const bool is_recorded = record != pool.records.end() && record->address == candidate;
            if (!is_recorded && !avoided.contains(candidate)) return candidate;
            while (record != pool.records.end() && record->address <= candidate) ++record; // keys "5" and "05" are one
            if (candidate.value() == interval.last) break;
            candidate = IpAddress(claim.family, candidate.value() + 1);
        }
    }
    return std::nullopt;
}

std::optional<IpAddress> choose_free(const Claim& claim, const Pool& pool, const std::set<IpAddress>& reserved,
                                     const std::map<IpAddress, std::int64_t>& resting) {
    std::set<IpAddress> avoided = reserved;
    for (const auto& [address, since] : resting) avoided.insert(address);
    auto address = lowest_free(claim, pool, avoided);
    if (address || claim.resting == ipam::Resting::left_alone) return address;
    std::int64_t earliest = 0;
    for (const auto& [candidate, since] : resting) {
        if (address && since >= earliest) continue;
        if (!is_in(claim, candidate) || pool.find(candidate) != nullptr || reserved.contains(candidate)) continue;
        address = candidate;
        earliest = since;
    }
    return address;
}

} // namespace rdmanet::cluster
