#include "lease_model.hpp"

#include "demand.hpp"
#include "lease_store.hpp"

#include <algorithm>

namespace rdmanet::fuzz {
namespace {

using ipam::Claim;
using ipam::Lease;

LeaseModel::Place place_of(const Lease& lease) {
    return {lease.space, lease.address.address()};
}

/// Calls `visit` for each address of the claim. Claims here have few.
template <class Visit>
void visit_usable(const Claim& claim, Visit visit) {
    for (const ipam::Interval& interval : claim.usable)
        for (base::Uint128 distance = 0; distance <= interval.last - interval.first; ++distance)
            visit(base::IpAddress(claim.family, interval.first + distance));
}

} // namespace

bool LeaseModel::is_resting(const Place& place, std::int64_t now) const {
    const auto at = resting_until_.find(place);
    return at != resting_until_.end() && at->second > now;
}

bool LeaseModel::holds_slot(const ipam::OwnerKey& key, unsigned slot) const {
    return std::any_of(held_.begin(), held_.end(),
                       [&](const auto& entry) { return entry.second.owner.key == key && entry.second.slot == slot; });
}

bool LeaseModel::was_of(const Place& place, const ipam::Owner& owner) const {
    const auto at = last_pod_.find(place);
    return at != last_pod_.end() && at->second == owner.pod_name && !owner.pod_name.empty();
}

void LeaseModel::check_new(const Claim& claim, const Lease& lease, const std::set<Place>& given,
                           std::int64_t now) const {
    const base::IpAddress& address = lease.address.address();
    const std::string name = address.to_string();
    demand(held_.count(place_of(lease)) == 0, "given twice: " + name);
    demand(lease.space == claim.space && lease.address.length() == claim.prefix_length &&
               lease.cooldown == claim.cooldown,
           "given otherwise than claimed: " + name);
    if (claim.wanted) {
        demand(address == *claim.wanted, "given another than the wanted one: " + name);
        return;
    }
    demand(is_usable(claim, address), "given outside of the range: " + name);
    if (was_of(place_of(lease), lease.owner)) return;
    const bool rests = is_resting(place_of(lease), now);
    visit_usable(claim, [&](const base::IpAddress& other) {
        const Place place{claim.space, other};
        const bool was_free = held_.count(place) == 0 && given.count(place) == 0 && !is_resting(place, now);
        demand(!was_of(place, lease.owner) || held_.count(place) != 0 || given.count(place) != 0,
               "given although the pod had another one: " + name);
        demand(!was_free || !rests, "given although it rests: " + name);
        demand(!was_free || address < other, "given although a lower one is free: " + name);
        demand(!rests || !is_resting(place, now) || given.count(place) != 0 ||
                   resting_until_.at(place_of(lease)) <= resting_until_.at(place),
               "given although another rests shorter: " + name);
    });
}

/// Another owner holds the wanted address, or the owner itself does for another of its slots.
void LeaseModel::check_taken(const ipam::Owner& owner, const Claim& claim, const Lease& holder) const {
    demand(claim.wanted == holder.address.address(), "taken is what nobody wanted");
    const auto held = held_.find({claim.space, *claim.wanted});
    demand(holder.owner == owner || (held != held_.end() && held->second == holder), "taken by nobody");
}

/// Every address is held, or was taken by an earlier claim of the same request.
void LeaseModel::check_exhausted(const std::vector<Claim>& claims, const Claim& claim) const {
    std::size_t others = claims.size() - 1;
    visit_usable(claim, [&](const base::IpAddress& address) {
        if (held_.count({claim.space, address}) != 0) return;
        demand(others > 0, "exhausted with a free address");
        --others;
    });
}

void LeaseModel::take_over(const ipam::Owner& owner, const std::vector<Claim>& claims, const std::vector<Lease>& leases,
                           std::int64_t now) {
    demand(leases.size() == claims.size(), "not one lease for each claim");
    const std::vector<Lease> before = find(owner.key);
    std::vector<Lease> fresh;
    std::set<Place> given;
    for (unsigned slot = 0; slot < claims.size(); ++slot) {
        const Lease& lease = leases[slot];
        demand(lease.owner.key == owner.key && lease.slot == slot, "given to someone else");
        if (holds_slot(owner.key, slot)) {
            demand(std::count(before.begin(), before.end(), lease) == 1, "asked again, it gives something else");
            continue;
        }
        fresh.push_back(lease);
        demand(given.insert(place_of(lease)).second, "given twice at once");
    }
    for (const Lease& lease : fresh) check_new(claims[lease.slot], lease, given, now);
    for (const Lease& lease : fresh) {
        resting_until_.erase(place_of(lease));
        if (!was_of(place_of(lease), owner)) last_pod_.erase(place_of(lease));
        held_.emplace(place_of(lease), lease);
    }
}

void LeaseModel::reserve(const ipam::Owner& owner, const std::vector<Claim>& claims,
                         const ipam::ReserveOutcome& outcome, std::int64_t now) {
    if (const auto* taken = std::get_if<ipam::Taken>(&outcome))
        check_taken(owner, claims.at(taken->claim), taken->holder);
    else if (const auto* exhausted = std::get_if<ipam::Exhausted>(&outcome))
        check_exhausted(claims, claims.at(exhausted->claim));
    else
        take_over(owner, claims, std::get<ipam::Granted>(outcome).leases, now);
}

void LeaseModel::give_back(const Lease& lease, std::int64_t now) {
    demand(held_.erase(place_of(lease)) == 1, "gives back what nobody held");
    last_pod_.erase(place_of(lease));
    if (lease.cooldown.count() == 0) return;
    resting_until_[place_of(lease)] = now + lease.cooldown.count();
    last_pod_[place_of(lease)] = lease.owner.pod_name;
}

void LeaseModel::release(const ipam::OwnerKey& key, std::vector<Lease> released, std::int64_t now) {
    std::sort(released.begin(), released.end(), [](const Lease& a, const Lease& b) { return a.slot < b.slot; });
    demand(released == find(key), "releases something else than the owner holds");
    for (const Lease& lease : released) give_back(lease, now);
}

void LeaseModel::reclaim(const std::vector<Lease>& asked, const std::vector<Lease>& reclaimed, std::int64_t now) {
    std::vector<Lease> expected;
    for (const Lease& lease : asked) {
        const auto at = held_.find(place_of(lease));
        if (at == held_.end() || at->second != lease) continue;
        expected.push_back(lease);
        give_back(lease, now);
    }
    demand(reclaimed == expected, "reclaims something else than was asked and held");
}

void LeaseModel::adopt(const std::vector<Lease>& asked, const ipam::Owner& successor,
                       const std::vector<Lease>& adopted) {
    std::vector<Lease> expected;
    for (Lease lease : asked) {
        const auto at = held_.find(place_of(lease));
        if (at == held_.end() || at->second != lease || holds_slot(successor.key, lease.slot)) continue;
        at->second.owner = successor;
        lease.owner = successor;
        expected.push_back(std::move(lease));
    }
    demand(adopted == expected, "hands over something else than was asked and held");
}

void LeaseModel::restore(const std::vector<Lease>& leases, std::size_t count) {
    std::size_t added = 0;
    for (const Lease& lease : leases) {
        if (held_.count(place_of(lease)) != 0 || holds_slot(lease.owner.key, lease.slot)) continue;
        held_.emplace(place_of(lease), lease);
        resting_until_.erase(place_of(lease));
        if (!was_of(place_of(lease), lease.owner)) last_pod_.erase(place_of(lease));
        ++added;
    }
    demand(added == count, "restores more or fewer leases than are missing");
}

std::vector<Lease> LeaseModel::list_all() const {
    std::vector<Lease> leases;
    for (const auto& [place, lease] : held_) leases.push_back(lease);
    return leases;
}

std::vector<Lease> LeaseModel::find(const ipam::OwnerKey& key) const {
    std::vector<Lease> leases;
    for (const auto& [place, lease] : held_)
        if (lease.owner.key == key) leases.push_back(lease);
    std::sort(leases.begin(), leases.end(), [](const Lease& a, const Lease& b) { return a.slot < b.slot; });
    return leases;
}

ipam::Usage LeaseModel::usage(const Claim& claim, std::int64_t now) const {
    ipam::Usage usage;
    visit_usable(claim, [&](const base::IpAddress& address) {
        const Place place{claim.space, address};
        if (held_.count(place) != 0) ++usage.leases;
        if (is_resting(place, now)) ++usage.cooling;
    });
    return usage;
}

} // namespace rdmanet::fuzz
