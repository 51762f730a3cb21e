#include "address_pool.hpp"

#include <rdmanet/base/format.hpp>

#include <algorithm>
#include <utility>

namespace rdmanet::ipam {
namespace {

// One call frees at most so many rested addresses beyond those that it needs, so that no call takes long.
constexpr std::int64_t kMostFreedAtOnce = 64;

/// The slots that name their address come first, so that no other slot gets that address.
std::vector<std::size_t> in_order_of_taking(const std::vector<Claim>& claims,
                                            const std::vector<std::optional<Lease>>& held) {
    std::vector<std::size_t> slots;
    for (const bool wanted : {true, false})
        for (std::size_t slot = 0; slot < claims.size(); ++slot)
            if (!held[slot] && claims[slot].wanted.has_value() == wanted) slots.push_back(slot);
    return slots;
}

} // namespace

ReserveOutcome AddressPool::reserve(const Owner& owner, const std::vector<Claim>& claims) {
    Slots slots(claims.size());
    for (const Lease& held : leases_.find_by_owner(owner.key))
        if (held.slot < slots.size()) slots[held.slot] = keep(held, owner);
    return fill(std::move(slots), owner, claims);
}

std::optional<Granted> AddressPool::reserve_at_once(const Owner& owner, const std::vector<Claim>& claims) {
    if (leases_.has_any_of_pod(owner)) return std::nullopt;
    auto outcome = fill(Slots(claims.size()), owner, claims);
    if (auto* granted = std::get_if<Granted>(&outcome)) return std::move(*granted);
    return std::nullopt;
}

ReserveOutcome AddressPool::fill(Slots leases, const Owner& owner, const std::vector<Claim>& claims) {
    Granted granted;
    std::vector<std::string> freed_in;
    for (const std::size_t slot : in_order_of_taking(claims, leases)) {
        const Claim& claim = claims[slot];
        if (std::find(freed_in.begin(), freed_in.end(), claim.space) == freed_in.end()) {
            free_rested(claim.space);
            freed_in.push_back(claim.space);
        }
        auto taken = take(claim, slot);
        if (auto* by_other = std::get_if<Taken>(&taken)) return std::move(*by_other);
        if (const auto* none = std::get_if<Exhausted>(&taken)) return *none;
        leases[slot] = new_lease(owner, claim, slot, std::get<base::IpAddress>(taken));
        leases_.insert(*leases[slot]);
        granted.fresh.push_back(*leases[slot]);
    }
    for (auto& lease : leases) granted.leases.push_back(*std::move(lease));
    return granted;
}

Lease AddressPool::keep(Lease held, const Owner& owner) {
    if (!(held.owner == owner) && leases_.set_owner(held, owner)) held.owner = owner;
    return held;
}

std::variant<base::IpAddress, Taken, Exhausted> AddressPool::take(const Claim& claim, std::size_t slot) {
    if (claim.wanted) {
        if (auto holder = leases_.find(claim.space, *claim.wanted)) return Taken{slot, *std::move(holder)};
        take_wanted(claim.space, *claim.wanted);
        return *claim.wanted;
    }
    const auto address = take_any(claim);
    if (!address) return Exhausted{slot};
    return *address;
}

/// A claim that names its address gets it even while the address rests.
void AddressPool::take_wanted(const std::string& space, const base::IpAddress& wanted) {
    if (!cooling_.erase(space, wanted)) runs_.insert(space, wanted);
}

std::optional<base::IpAddress> AddressPool::take_any(const Claim& claim) {
    if (const auto free = runs_.lowest_free(claim)) {
        runs_.insert(claim.space, *free);
        return free;
    }
    if (claim.resting == Resting::left_alone) return std::nullopt;
    const auto resting = cooling_.longest_resting(claim);
    if (resting) cooling_.erase(claim.space, *resting);
    return resting;
}

void AddressPool::free_rested(const std::string& space) {
    for (const auto& address : cooling_.rested(space, kMostFreedAtOnce)) {
        cooling_.erase(space, address);
        runs_.erase(space, address);
    }
}

Lease AddressPool::new_lease(const Owner& owner, const Claim& claim, std::size_t slot,
                             const base::IpAddress& address) const {
    return {.space = claim.space,
            .slot = static_cast<unsigned>(slot),
            .address = base::IpPrefix::make(address, claim.prefix_length).value(),
            .owner = owner,
            .since = now_.epoch,
            .cooldown = claim.cooldown};
}

/// The caller has judged the lease that it read. If the address was released and leased again since then, even to the
/// same attachment, the lease has another slot or another network namespace.
bool AddressPool::is_unchanged(const Lease& lease) {
    return leases_.find(lease.space, lease.address.address()) == lease;
}

std::vector<Lease> AddressPool::release(const std::vector<Lease>& leases, const std::vector<Lease>& unused) {
    std::vector<Lease> released;
    for (const Lease& lease : leases) {
        if (!is_unchanged(lease) || !leases_.erase(lease)) continue;
        const bool was_used = std::find(unused.begin(), unused.end(), lease) == unused.end();
        if (was_used && lease.cooldown.count() > 0)
            cooling_.insert(lease.space, lease.address.address(), lease.cooldown);
        else
            runs_.erase(lease.space, lease.address.address());
        released.push_back(lease);
    }
    return released;
}

std::vector<Lease> AddressPool::adopt(const std::vector<Lease>& leases, const Owner& heir) {
    std::vector<Lease> owned = leases_.find_by_owner(heir.key);
    std::vector<Lease> adopted;
    for (Lease lease : leases) {
        const bool slot_is_free =
            std::none_of(owned.begin(), owned.end(), [&](const Lease& other) { return other.slot == lease.slot; });
        if (!slot_is_free || !is_unchanged(lease) || !leases_.set_owner(lease, heir)) continue;
        lease.owner = heir;
        owned.push_back(lease);
        adopted.push_back(std::move(lease));
    }
    return adopted;
}

std::size_t AddressPool::restore(const std::vector<Lease>& leases) {
    std::size_t count = 0;
    for (const Lease& lease : leases) {
        if (!leases_.insert_if_free(lease)) continue;
        cooling_.erase(lease.space, lease.address.address());
        ++count;
    }
    if (count != 0) runs_.rebuild();
    return count;
}

Regained AddressPool::regain(const Lease& lease) {
    if (const auto present = leases_.find(lease.space, lease.address.address())) {
        if (present->owner.key == lease.owner.key) return {.lease = lease};
        return {.lease = lease, .refused = fmt::format("{} has it by now", present->owner.to_string())};
    }
    if (restore({lease}) != 0) return {.lease = lease, .made = {"its lease"}};
    return {.lease = lease, .refused = "the attachment has another address in its place"};
}

void AddressPool::forget_resting(const std::string& space, const base::IpPrefix& prefix) {
    const Claim inside{
        .space = space, .family = prefix.family(), .usable = {{prefix.network().value(), prefix.last().value()}}};
    while (const auto resting = cooling_.longest_resting(inside)) {
        cooling_.erase(space, *resting);
        runs_.erase(space, *resting);
    }
}

bool AddressPool::has_free(const Claim& claim) {
    return runs_.lowest_free(claim) || cooling_.longest_resting(claim);
}

Usage AddressPool::usage(const Claim& claim) {
    return {.leases = leases_.count(claim), .cooling = cooling_.count(claim)};
}

} // namespace rdmanet::ipam
