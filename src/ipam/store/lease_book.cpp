#include "lease_book.hpp"

#include <rdmanet/base/format.hpp>

#include <algorithm>
#include <set>
#include <tuple>

namespace rdmanet::ipam {
namespace {

using base::IpAddress;

constexpr std::int64_t kLongestRest = 86400; // what a configuration may ask for

IpAddress address_in(const Lease& lease) {
    return lease.address.address();
}

/// The first row at or after the address. `space` is as the rows have it.
template <class Rows>
auto seek(Rows& rows, std::string_view space, const IpAddress& address) {
    return std::lower_bound(rows.begin(), rows.end(), std::tie(space, address), [](const auto& row, const auto& at) {
        const int order = std::string_view(row.space).compare(std::get<0>(at));
        return order != 0 ? order < 0 : row.address < std::get<1>(at);
    });
}

template <class Rows>
auto find_in(Rows& rows, std::string_view space, const IpAddress& address) -> decltype(rows.data()) {
    const auto at = seek(rows, space, address);
    return at != rows.end() && at->space == space && at->address == address ? &*at : nullptr;
}

/// Calls `act` for each row in the claim's intervals, by address, until it returns false.
template <class Rows, class Act>
void for_each_in(const Rows& rows, std::string_view space, const Claim& claim, Act act) {
    for (const Interval& interval : claim.usable) {
        const IpAddress last(claim.family, interval.last);
        for (auto at = seek(rows, space, {claim.family, interval.first});
             at != rows.end() && at->space == space && at->address <= last; ++at)
            if (!act(*at)) return;
    }
}

/// The slots that name their address come first, so that no other slot gets that address.
std::vector<std::size_t> in_order_of_taking(const std::vector<Claim>& claims,
                                            const std::vector<std::optional<Lease>>& held) {
    std::vector<std::size_t> slots;
    for (const bool wanted : {true, false})
        for (std::size_t slot = 0; slot < claims.size(); ++slot)
            if (!held[slot] && claims[slot].wanted.has_value() == wanted) slots.push_back(slot);
    return slots;
}

bool is_of(const Lease& lease, const OwnerKey& key) {
    return lease.owner.key == key;
}

} // namespace

LeaseBook::LeaseBook(Time now, const std::vector<Lease>& known) : now_(now) {
    std::set<std::tuple<std::string, std::string, std::string, unsigned>> slots;
    for (const Lease& lease : known) {
        const OwnerKey& key = lease.owner.key;
        const std::tuple slot(key.container_id, key.ifname, key.network, lease.slot);
        if (!slots.contains(slot) && insert(lease)) slots.insert(slot);
    }
    is_changed_ = false;
}

template <class Act>
void LeaseBook::for_each_with(std::string_view word, Act act) const {
    const std::string field = escaped(word);
    for (const Row& row : rows_)
        if (row.line.find(field) != std::string_view::npos) act(parse_lease(row.line));
}

ReserveOutcome LeaseBook::reserve(const Owner& owner, const std::vector<Claim>& claims) {
    Slots slots(claims.size());
    for (Lease& held : find_by_owner(owner.key)) {
        if (held.slot >= slots.size()) continue;
        if (!(held.owner == owner)) { // the attachment has another network namespace by now
            held.owner = owner;
            *find_in(rows_, escaped(held.space), address_in(held)) = row_of(held);
            is_changed_ = true;
        }
        slots[held.slot] = held;
    }
    return fill(std::move(slots), owner, claims);
}

std::optional<Granted> LeaseBook::reserve_at_once(const Owner& owner, const std::vector<Claim>& claims) {
    if (!find_by_owner(owner.key).empty() || !find_by_pod(owner).empty()) return std::nullopt;
    auto outcome = fill(Slots(claims.size()), owner, claims);
    if (auto* granted = std::get_if<Granted>(&outcome)) return std::move(*granted);
    return std::nullopt;
}

ReserveOutcome LeaseBook::fill(Slots slots, const Owner& owner, const std::vector<Claim>& claims) {
    Granted granted;
    for (const std::size_t slot : in_order_of_taking(claims, slots)) {
        const Claim& claim = claims[slot];
        auto taken = take(claim, slot, owner.name_hash());
        if (auto* by_other = std::get_if<Taken>(&taken)) return std::move(*by_other);
        if (const auto* none = std::get_if<Exhausted>(&taken)) return *none;
        const Lease lease{.space = claim.space,
                          .slot = static_cast<unsigned>(slot),
                          .address = base::IpPrefix::make(std::get<IpAddress>(taken), claim.prefix_length).value(),
                          .owner = owner,
                          .since = now_.epoch,
                          .cooldown = claim.cooldown};
        stop_resting(lease, owner.name_hash());
        (void)insert(lease);
        slots[slot] = lease;
        granted.fresh.push_back(lease);
    }
    for (auto& lease : slots) granted.leases.push_back(*std::move(lease));
    return granted;
}

/// A claim that names its address gets it even while the address rests.
std::variant<IpAddress, Taken, Exhausted> LeaseBook::take(const Claim& claim, std::size_t slot, std::uint64_t whose) {
    if (claim.wanted) {
        if (auto holder = find(claim.space, *claim.wanted)) return Taken{slot, *std::move(holder)};
        return *claim.wanted;
    }
    if (const RestingAddress* own = find_own(claim, whose)) return own->address;
    if (const auto free = lowest_free(claim)) return *free;
    const RestingAddress* resting = claim.resting == Resting::given ? longest_resting(claim) : nullptr;
    if (resting == nullptr) return Exhausted{slot};
    return resting->address;
}

/// Walks over leases and resting addresses at once, both of which are sorted.
std::optional<IpAddress> LeaseBook::lowest_free(const Claim& claim) const {
    const std::string space = escaped(claim.space);
    for (const Interval& interval : claim.usable) {
        const IpAddress first(claim.family, interval.first);
        auto lease = seek(rows_, space, first);
        auto rest = seek(resting_, claim.space, first);
        for (base::Uint128 number = interval.first;; ++number) {
            const IpAddress address(claim.family, number);
            const bool is_leased = lease != rows_.end() && lease->space == space && lease->address == address;
            const bool has_rest = rest != resting_.end() && rest->space == claim.space && rest->address == address;
            if (!is_leased && !(has_rest && rests(*rest))) return address;
            if (is_leased) ++lease;
            if (has_rest) ++rest;
            if (number == interval.last) break;
        }
    }
    return std::nullopt;
}

/// A rest that would last longer than a day stems from another boot, and is over.
bool LeaseBook::rests(const RestingAddress& resting) const {
    return resting.until > now_.boot && resting.until <= now_.boot + kLongestRest;
}

/// In this boot.
bool LeaseBook::is_remembered(const RestingAddress& resting) const {
    return resting.until > now_.boot - kRemembered.count() && resting.until <= now_.boot + kLongestRest;
}

bool LeaseBook::is_leased(const RestingAddress& resting) const {
    return find_in(rows_, escaped(resting.space), resting.address) != nullptr;
}

const RestingAddress* LeaseBook::find_own(const Claim& claim, std::uint64_t whose) const {
    const RestingAddress* found = nullptr;
    if (whose == 0) return found;
    for_each_in(resting_, claim.space, claim, [&](const RestingAddress& one) {
        if (one.whose == whose && is_remembered(one) && !is_leased(one)) found = &one;
        return found == nullptr;
    });
    return found;
}

/// The one whose rest ends first.
const RestingAddress* LeaseBook::longest_resting(const Claim& claim) const {
    const RestingAddress* found = nullptr;
    for_each_in(resting_, claim.space, claim, [&](const RestingAddress& one) {
        if (rests(one) && !is_leased(one) && (found == nullptr || one.until < found->until)) found = &one;
        return true;
    });
    return found;
}

void LeaseBook::let_rest(const Lease& lease, std::chrono::seconds cooldown, std::uint64_t whose) {
    stop_resting(lease, 0);
    if (cooldown.count() == 0) return;
    resting_.insert(
        seek(resting_, lease.space, address_in(lease)),
        {.space = lease.space, .address = address_in(lease), .until = now_.boot + cooldown.count(), .whose = whose});
}

void LeaseBook::stop_resting(const Lease& lease, std::uint64_t whose) {
    const auto at = seek(resting_, lease.space, address_in(lease));
    if (at == resting_.end() || at->space != lease.space || at->address != address_in(lease)) return;
    if (whose == 0 || at->whose != whose) resting_.erase(at);
}

LeaseBook::Row LeaseBook::row_of(const Lease& lease) {
    const std::string& line = written_.emplace_back(line_of(lease));
    const auto space = line.find('\t') + 1;
    return {.space = std::string_view(line).substr(space, line.find('\t', space) - space),
            .address = address_in(lease),
            .line = line};
}

/// False if its address is there already.
bool LeaseBook::insert(const Lease& lease) {
    const std::string space = escaped(lease.space);
    if (find_in(rows_, space, address_in(lease)) != nullptr) return false;
    rows_.insert(seek(rows_, space, address_in(lease)), row_of(lease));
    is_changed_ = true;
    return true;
}

/// The caller has judged the lease that it read. If the address was released and leased again since then, even to the
/// same attachment, the lease has another slot or another network namespace.
LeaseBook::Row* LeaseBook::find_unchanged(const Lease& lease) {
    Row* const present = find_in(rows_, escaped(lease.space), address_in(lease));
    return present != nullptr && parse_lease(present->line) == lease ? present : nullptr;
}

std::vector<Lease> LeaseBook::release(const std::vector<Lease>& leases, const std::vector<Lease>& unused) {
    std::vector<Lease> released;
    std::erase_if(resting_, [&](const RestingAddress& one) { return !is_remembered(one); });
    for (const Lease& lease : leases) {
        const Row* const present = find_unchanged(lease);
        if (present == nullptr) continue;
        rows_.erase(rows_.begin() + (present - rows_.data()));
        is_changed_ = true;
        const auto known = std::ranges::find_if(
            unused, [&](const Lease& one) { return one.space == lease.space && one.address == lease.address; });
        if (known == unused.end())
            let_rest(lease, lease.cooldown, lease.owner.name_hash());
        else if (known->owner == Owner{})
            let_rest(lease, std::max(lease.cooldown, kForeignRest), 0);
        released.push_back(lease);
    }
    return released;
}

std::vector<Lease> LeaseBook::adopt(const std::vector<Lease>& leases, const Owner& heir) {
    std::vector<Lease> adopted;
    std::vector<Lease> own = find_by_owner(heir.key);
    for (Lease lease : leases) {
        const bool is_slot_taken =
            std::ranges::any_of(own, [&](const Lease& other) { return other.slot == lease.slot; });
        Row* const present = is_slot_taken ? nullptr : find_unchanged(lease);
        if (present == nullptr) continue;
        lease.owner = heir;
        *present = row_of(lease);
        is_changed_ = true;
        own.push_back(lease);
        adopted.push_back(std::move(lease));
    }
    return adopted;
}

bool LeaseBook::restore(const Lease& lease) {
    const std::vector<Lease> own = find_by_owner(lease.owner.key);
    if (std::ranges::any_of(own, [&](const Lease& other) { return other.slot == lease.slot; })) return false;
    if (!insert(lease)) return false;
    stop_resting(lease, lease.owner.name_hash());
    return true;
}

Regained LeaseBook::regain(const Lease& lease) {
    if (const auto present = find(lease.space, address_in(lease))) {
        if (is_of(*present, lease.owner.key)) return {.lease = lease};
        return {.lease = lease, .refused = fmt::format("{} has it by now", present->owner.to_string())};
    }
    if (restore(lease)) return {.lease = lease, .made = {"its lease"}};
    return {.lease = lease, .refused = "the attachment has another address in its place"};
}

void LeaseBook::forget_resting(const std::string& space, const base::IpPrefix& prefix) {
    const auto forgotten = std::erase_if(
        resting_, [&](const RestingAddress& one) { return one.space == space && prefix.contains(one.address); });
    if (forgotten != 0) is_changed_ = true;
}

std::vector<Lease> LeaseBook::leases() const {
    std::vector<Lease> all;
    all.reserve(rows_.size());
    for (const Row& row : rows_) all.push_back(parse_lease(row.line));
    return all;
}

std::optional<Lease> LeaseBook::find(const std::string& space, const IpAddress& address) const {
    const Row* const row = find_in(rows_, escaped(space), address);
    return row == nullptr ? std::nullopt : std::optional(parse_lease(row->line));
}

std::vector<Lease> LeaseBook::find_by_owner(const OwnerKey& key) const {
    std::vector<Lease> found;
    for_each_with(key.container_id, [&](Lease lease) {
        if (is_of(lease, key)) found.push_back(std::move(lease));
    });
    std::ranges::sort(found, [](const Lease& a, const Lease& b) { return a.slot < b.slot; });
    return found;
}

std::vector<Lease> LeaseBook::find_by_pod(const Owner& owner) const {
    const std::string pod = owner.pod_identity();
    std::vector<Lease> found;
    if (pod.empty()) return found;
    for_each_with(owner.pod_uid.empty() ? owner.pod_name : owner.pod_uid, [&](Lease lease) {
        const OwnerKey& key = lease.owner.key;
        if (key.ifname == owner.key.ifname && key.network == owner.key.network &&
            key.container_id != owner.key.container_id && lease.owner.pod_identity() == pod)
            found.push_back(std::move(lease));
    });
    return found;
}

std::vector<Lease> LeaseBook::list(const Claim& claim, const std::optional<IpAddress>& after, std::size_t most) const {
    std::vector<Lease> found;
    for_each_in(rows_, escaped(claim.space), claim, [&](const Row& row) {
        if (found.size() == most) return false;
        if (!after || *after < row.address) found.push_back(parse_lease(row.line));
        return true;
    });
    return found;
}

bool LeaseBook::has_free(const Claim& claim) const {
    return lowest_free(claim) || longest_resting(claim) != nullptr;
}

Usage LeaseBook::usage(const Claim& claim) const {
    Usage usage;
    for_each_in(rows_, escaped(claim.space), claim, [&](const Row&) { return ++usage.leases, true; });
    for_each_in(resting_, claim.space, claim, [&](const RestingAddress& one) {
        if (rests(one) && !is_leased(one)) ++usage.cooling;
        return true;
    });
    return usage;
}

} // namespace rdmanet::ipam
