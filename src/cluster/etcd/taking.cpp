#include "taking.hpp"

#include "../tried.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/hash.hpp>
#include <rdmanet/ipam/errors.hpp>

#include <algorithm>
#include <utility>

namespace rdmanet::cluster {
namespace {

using base::IpAddress;
using etcd::Answer;
using etcd::Range;
using etcd::Transaction;
using ipam::Claim;
using ipam::Exhausted;
using ipam::Granted;
using ipam::Lease;
using ipam::Owner;
using ipam::StoreError;
using ipam::Taken;

// Of one call. Each means that another writer was faster, or that an answer was lost.
constexpr int kMostClaims = 30;
constexpr std::int64_t kNear = 64; // keys behind a candidate that are read if it is taken

/// Where the search of this attachment begins. Other attachments begin elsewhere, so that they rarely meet.
std::uint64_t seed_of(const Owner& owner, std::size_t slot) {
    return base::hash64(
        fmt::format("{}\n{}\n{}\n{}", owner.key.network, owner.key.container_id, owner.key.ifname, slot));
}

/// No pod has it that rdmanet could name.
void refuse_held(const IpAddress& wanted, const etcd::KeyValue& entry) {
    if (const auto hold = parse_stored_hold(entry.value))
        throw ipam::RequestedAddressTaken(
            fmt::format("requested address {} is held by {}: request another address, or delete the pod that has it",
                        wanted, hold->holder));
}

bool is_same(const std::map<std::size_t, StoredLease>& one, const std::map<std::size_t, StoredLease>& other) {
    return std::equal(one.begin(), one.end(), other.begin(), other.end(), [](const auto& a, const auto& b) {
        return a.first == b.first && a.second.revision == b.second.revision;
    });
}

} // namespace

EtcdTaking::Outcome EtcdTaking::take(const base::Deadline& deadline) {
    if (claims_.size() > kMostAddressesInEtcd)
        throw StoreError(StoreError::Kind::permanent,
                         fmt::format("lease store: an attachment has at most {} addresses in etcd, and this one "
                                     "wants {}",
                                     kMostAddressesInEtcd, claims_.size()));
    const http::Stopwatch watch;
    const auto tried = [&] { return tried_at(parts_.session.memory().endpoint, watch, parts_.session.last_unknown()); };
    for (int attempt = 0; attempt < kMostClaims; ++attempt) {
        if (deadline.passed())
            throw base::TimeoutError(fmt::format("waited for addresses below {}, for which other nodes compete{}",
                                                 parts_.keys().addresses(claims_.front().space), tried()));
        auto outcome = try_to_take(deadline);
        if (!outcome) continue;
        if (auto* none = std::get_if<Exhausted>(&*outcome))
            none->detail = describe_held_in(claims_[none->claim].space, deadline);
        return *std::move(outcome);
    }
    throw StoreError(StoreError::Kind::temporary,
                     fmt::format("lease store: other nodes were faster {} times to take an address below {}{}",
                                 kMostClaims, parts_.keys().addresses(claims_.front().space), tried()));
}

/// Leases have two keys in the space, and addresses of other stores have one. So both are counted, and none is read.
std::string EtcdTaking::describe_held_in(const std::string& space, const base::Deadline& deadline) {
    Transaction counting;
    counting.read(Range::below(parts_.keys().addresses(space), Range::Want::count))
        .read(Range::below(parts_.keys().owners(space), Range::Want::count));
    const Answer answer = parts_.session.run(counting, deadline);
    const std::uint64_t addresses = answer.found.at(0).count;
    const std::uint64_t leases = answer.found.at(1).count;
    return addresses <= leases ? "" : fmt::format("; other stores still have {} of them", addresses - leases);
}

/// nullopt: try again, with what was learned.
std::optional<EtcdTaking::Outcome> EtcdTaking::try_to_take(const base::Deadline& deadline) {
    if (auto exhausted = choose_candidates(deadline)) return *exhausted;
    const std::int64_t revision = parts_.node.revision(deadline);
    Granted granted;
    Transaction change;
    change.if_unchanged(parts_.node.key(), revision);
    if (must_look_for_predecessors()) change.if_none_below(parts_.keys().pod(parts_.options.machine_id, owner_));
    if (held_.empty())
        for (const std::string& space : spaces()) change.if_none_below(parts_.keys().owner(space, owner_.key));
    for (std::size_t slot = 0; slot < claims_.size(); ++slot) add_slot(slot, change, granted);
    ranges_.require(wanted(), change);
    else_read(change);
    for (const Lease& lease : granted.fresh) parts_.note_claim(lease);
    const auto answer = parts_.node.claim(change, deadline);
    if (!answer) { // it has had effect, or never will: what is there says so
        for (const Lease& lease : granted.fresh) sent_.insert(lease.slot);
        held_.clear();
        knows_held_ = false;
        return std::nullopt;
    }
    if (!answer->succeeded) return learn(*answer, revision, deadline);
    return granted;
}

/// What the slot adds to the transaction, and to what it grants.
void EtcdTaking::add_slot(std::size_t slot, Transaction& change, Granted& granted) const {
    const Claim& claim = claims_[slot];
    const auto held = held_.find(slot);
    if (held == held_.end()) {
        StoredLease fresh = parts_.own(claim.space, static_cast<unsigned>(slot),
                                       base::IpPrefix::make(*candidates_[slot], claim.prefix_length).value(), owner_);
        fresh.lease.since = seconds_now();
        fresh.lease.cooldown = claim.cooldown;
        change.if_absent(parts_.keys().address(claim.space, *candidates_[slot]));
        if (!held_.empty()) change.if_absent(parts_.keys().owner(fresh.lease));
        parts_.leases.put(change, fresh);
        granted.leases.push_back(fresh.lease);
        granted.fresh.push_back(std::move(fresh.lease));
        return;
    }
    StoredLease kept = held->second;
    change.if_unchanged(parts_.keys().owner(kept.lease), kept.revision);
    change.if_unchanged(parts_.keys().address(kept.lease.space, kept.lease.address.address()), kept.revision);
    if (kept.lease.owner != owner_ || !parts_.node.has(kept)) {
        const std::string before = parts_.keys().held(kept.machine_id, kept.lease);
        kept = parts_.own(kept.lease.space, kept.lease.slot, kept.lease.address, owner_);
        kept.lease.since = held->second.lease.since;
        kept.lease.cooldown = held->second.lease.cooldown;
        if (before != parts_.keys().held(kept.machine_id, kept.lease)) change.remove(before);
        parts_.leases.put(change, kept);
    }
    granted.leases.push_back(kept.lease);
    if (sent_.contains(slot)) granted.fresh.push_back(std::move(kept.lease));
}

/// If a condition does not hold, the same answer says which one.
void EtcdTaking::else_read(Transaction& change) const {
    change.else_read({.key = parts_.node.key(), .want = Range::Want::keys});
    Range pod = Range::below(parts_.keys().pod(parts_.options.machine_id, owner_), Range::Want::count);
    change.else_read(pod);
    for (const std::string& space : spaces()) change.else_read(Range::below(parts_.keys().owner(space, owner_.key)));
    for (const std::string& space : spaces_of_claims()) change.else_read(RecordedRanges::all(parts_.keys(), space));
    for (std::size_t slot = 0; slot < claims_.size(); ++slot) {
        const Claim& claim = claims_[slot];
        if (!wants(slot)) continue;
        if (claim.wanted) {
            change.else_read({.key = parts_.keys().address(claim.space, *claim.wanted)});
            continue;
        }
        Range near = range_of(parts_.keys(), claim, rest_of(claim, candidates_[slot]->value()).value());
        near.want = Range::Want::keys;
        near.limit = kNear;
        change.else_read(near);
    }
}

/// From the reads of else_read(). nullopt: try again.
std::optional<EtcdTaking::Outcome> EtcdTaking::learn(const Answer& answer, std::int64_t revision,
                                                     const base::Deadline& deadline) {
    auto read = answer.found.begin();
    const etcd::Found& node = *read++;
    if (node.entries.empty() || node.entries.front().revision != revision) parts_.node.forget_revision();
    const bool has_predecessors = (read++)->count > 0;
    const std::map<std::size_t, StoredLease> before = held_;
    std::vector<StoredLease> own;
    for (std::size_t space = 0; space < spaces().size(); ++space)
        for (StoredLease& stored : EtcdLeases::parse_own((read++)->entries)) own.push_back(std::move(stored));
    hold(own);
    for (const std::string& space : spaces_of_claims())
        ranges_.note(space, RecordedRanges::parse(*read++, answer.revision));
    if (pod_ == Pod::must_be_new && ((must_look_for_predecessors() && has_predecessors) || has_other_than_sent()))
        return NotNew{};
    if (!before.empty() && is_same(before, held_)) remove_broken(deadline);
    ranges_.require_known(wanted());
    for (std::size_t slot = 0; slot < claims_.size(); ++slot) {
        if (before.contains(slot)) continue;
        const etcd::Found& found = *read++;
        if (!wants(slot) || found.entries.empty()) continue;
        const Claim& claim = claims_[slot];
        if (claim.wanted) refuse_held(*claim.wanted, found.entries.front());
        if (claim.wanted) return Taken{slot, lease_at(parts_, *claim.wanted, claim.space, found.entries.front())};
        const auto rest = rest_of(claim, candidates_[slot]->value()).value();
        auto next = gap_in(found, claim, rest, others(slot));
        if (!next) next = find_free_for(slot, deadline);
        if (!next) return Exhausted{slot};
        candidates_[slot] = next;
    }
    return std::nullopt;
}

/// An address for each slot that holds nothing: the wanted ones first, and none twice.
std::optional<EtcdTaking::Outcome> EtcdTaking::choose_candidates(const base::Deadline& deadline) {
    for (std::size_t slot = 0; slot < claims_.size(); ++slot)
        if (wants(slot) && claims_[slot].wanted) candidates_[slot] = claims_[slot].wanted;
    for (std::size_t slot = 0; slot < claims_.size(); ++slot) {
        if (!wants(slot) || candidates_[slot]) continue;
        const Claim& claim = claims_[slot];
        const std::uint64_t seed = seed_of(owner_, slot);
        const IpAddress first(claim.family, scattered(claim, seed));
        if (!others(slot).contains(first)) {
            candidates_[slot] = first;
            continue;
        }
        candidates_[slot] = find_free_for(slot, deadline);
        if (candidates_[slot]) continue;
        if (knows_held_) return Exhausted{slot};
        hold(parts_.leases.read_own(parts_.options.spaces, owner_.key, deadline)); // perhaps the slot has an address
        return choose_candidates(deadline);
    }
    return std::nullopt;
}

/// Addresses of the same space that the other slots are about to get.
std::set<IpAddress> EtcdTaking::others(std::size_t slot) const {
    std::set<IpAddress> addresses;
    for (std::size_t other = 0; other < claims_.size(); ++other)
        if (other != slot && wants(other) && candidates_[other] && claims_[other].space == claims_[slot].space)
            addresses.insert(*candidates_[other]);
    return addresses;
}

void EtcdTaking::hold(const std::vector<StoredLease>& own) {
    held_.clear();
    for (const StoredLease& stored : own) held_.emplace(stored.lease.slot, stored);
    knows_held_ = true;
}

bool EtcdTaking::must_look_for_predecessors() const {
    return pod_ == Pod::must_be_new && held_.empty() && !owner_.pod_name.empty();
}

bool EtcdTaking::has_other_than_sent() const {
    return std::any_of(held_.begin(), held_.end(), [&](const auto& one) { return !sent_.contains(one.first); });
}

/// What the attachment holds by its own keys, but not by those of the addresses: somebody removed those by hand.
void EtcdTaking::remove_broken(const base::Deadline& deadline) {
    for (auto held = held_.begin(); held != held_.end();) {
        const StoredLease& stored = held->second;
        const Answer answer = parts_.session.run(
            Transaction().read({.key = parts_.keys().address(stored.lease.space, stored.lease.address.address())}),
            deadline);
        const auto& entries = answer.found[0].entries;
        if (!entries.empty() && entries.front().revision == stored.revision) {
            ++held;
            continue;
        }
        (void)parts_.leases.remove_keys(stored, EtcdLeases::WithAddress::no, deadline);
        held = held_.erase(held);
    }
}

std::optional<IpAddress> EtcdTaking::find_free_for(std::size_t slot, const base::Deadline& deadline) {
    return find_free(parts_.keys(), claims_[slot], others(slot), seed_of(owner_, slot),
                     parts_.session.runner(deadline));
}

std::set<std::string> EtcdTaking::spaces_of_claims() const {
    std::set<std::string> spaces;
    for (const Claim& claim : claims_) spaces.insert(claim.space);
    return spaces;
}

/// Claims that hold nothing. What the attachment holds it keeps, whichever store has the range by now: it is in etcd.
std::vector<const Claim*> EtcdTaking::wanted() const {
    std::vector<const Claim*> wanted;
    for (std::size_t slot = 0; slot < claims_.size(); ++slot)
        if (wants(slot)) wanted.push_back(&claims_[slot]);
    return wanted;
}

/// In which the owner may hold something: spaces of the claims, and those that the attachment had before.
std::set<std::string> EtcdTaking::spaces() const {
    std::set<std::string> spaces(parts_.options.spaces.begin(), parts_.options.spaces.end());
    for (const Claim& claim : claims_) spaces.insert(claim.space);
    return spaces;
}

} // namespace rdmanet::cluster
