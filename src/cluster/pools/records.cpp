#include "records.hpp"

#include "api.hpp"

#include <algorithm>
#include <chrono>

namespace rdmanet::cluster {

using base::IpAddress;
using ipam::Claim;
using ipam::Owner;

namespace {

/// The lowest address that no record has and that is not among `avoided`. As many steps as there are records below it.
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

} // namespace

bool is_own(const PoolRecord& record, const ipam::OwnerKey& key) {
    return record.is_of(key.container_id, key.ifname);
}

bool is_unchanged(const PoolRecord& record, const ipam::Lease& lease) {
    return is_own(record, lease.owner.key) && record.podref == podref_of(lease.owner);
}

ipam::Lease WhereaboutsRecords::lease_of(const Place& place, const PoolRecord& record, std::size_t slot) const {
    return {.space = place.space,
            .slot = static_cast<unsigned>(slot),
            .address = base::IpPrefix::make(record.address, place.subnet.length()).value(),
            .owner = owner_of(record),
            .since = 0,
            .cooldown = std::chrono::seconds(0)};
}

bool WhereaboutsRecords::is_local(const PoolRecord& record) const {
    return !known_owner_ || find_owner(record);
}

std::optional<Owner> WhereaboutsRecords::find_owner(const PoolRecord& record) const {
    if (!known_owner_) return std::nullopt;
    auto known = known_owner_(record.id, record.ifname);
    return known && podref_of(*known) == record.podref ? std::move(known) : std::nullopt;
}

Owner WhereaboutsRecords::owner_of(const PoolRecord& record) const {
    if (auto known = find_owner(record)) return *std::move(known);
    Owner owner;
    owner.key = {.container_id = record.id, .ifname = record.ifname};
    const auto slash = record.podref.find('/');
    if (slash != std::string::npos) owner.pod_namespace = record.podref.substr(0, slash);
    owner.pod_name = slash == std::string::npos ? record.podref : record.podref.substr(slash + 1);
    return owner;
}

Place place_of(const Claim& claim) {
    const base::Uint128 inside = claim.wanted ? claim.wanted->value() : claim.usable.front().first;
    const auto address = base::IpPrefix::make(IpAddress(claim.family, inside), claim.prefix_length).value();
    return {.space = claim.space, .subnet = base::IpPrefix::make(address.network(), address.length()).value()};
}

bool is_in(const Claim& claim, const IpAddress& address) {
    return std::ranges::any_of(claim.usable,
                               [&](const ipam::Interval& interval) { return interval.contains(address.value()); });
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
