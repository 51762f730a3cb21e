#include <rdmanet/cluster/etcd_store.hpp>

#include "etcd_free.hpp"
#include "etcd_keys.hpp"
#include "etcd_values.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/hash.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/ipam/errors.hpp>

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <utility>
#include <variant>

namespace rdmanet::cluster {
namespace {

using base::IpAddress;
using base::quoted;
using etcd::Answer;
using etcd::KeyValue;
using etcd::Range;
using etcd::Transaction;
using ipam::Claim;
using ipam::Exhausted;
using ipam::Granted;
using ipam::Lease;
using ipam::Owner;
using ipam::OwnerKey;
using ipam::StoreError;
using ipam::Taken;

// Of one call. Each means that another writer was faster, or that an answer was lost.
constexpr int kMostAttempts = 30;
constexpr std::int64_t kNear = 64;           // keys behind a candidate that are read if it is taken
constexpr std::int64_t kLeasesAtOnce = 1000; // leases read at once
constexpr std::size_t kReadsAtOnce = 100;    // below etcd's limit of operations

std::int64_t now() {
    return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch())
        .count();
}

bool has_address(const Claim& claim, const IpAddress& address) {
    return address.family() == claim.family &&
           std::any_of(claim.usable.begin(), claim.usable.end(),
                       [&](const ipam::Interval& interval) { return interval.contains(address.value()); });
}

/// Where the search of this attachment begins. Other attachments begin elsewhere, so that they rarely meet.
std::uint64_t seed_of(const Owner& owner, std::size_t slot) {
    return base::hash64(
        fmt::format("{}\n{}\n{}\n{}", owner.key.network, owner.key.container_id, owner.key.ifname, slot));
}

} // namespace

class EtcdStore::Impl {
public:
    Impl(etcd::Client client, Options options)
        : client_(std::move(client)), options_(std::move(options)), keys_(options_.prefix) {
        std::string node = fmt::format("{} {} {}", options_.machine_id, options_.node_name, options_.boot_id);
        if (client_.memory().node == node) return;
        client_.memory().node = std::move(node);
        client_.memory().node_revision = 0;
    }

    std::optional<Granted> reserve_at_once(const Owner& owner, const std::vector<Claim>& claims,
                                           const base::Deadline& deadline) {
        Taking taking(owner, claims, Taking::Pod::must_be_new);
        auto outcome = take(taking, deadline);
        if (auto* granted = std::get_if<Granted>(&outcome)) return std::move(*granted);
        return std::nullopt;
    }

    ipam::ReserveOutcome reserve(const Owner& owner, const std::vector<Claim>& claims, const base::Deadline& deadline) {
        Taking taking(owner, claims, Taking::Pod::may_have_predecessors);
        auto outcome = take(taking, deadline);
        if (auto* granted = std::get_if<Granted>(&outcome)) return std::move(*granted);
        if (auto* taken = std::get_if<Taken>(&outcome)) return std::move(*taken);
        return std::get<Exhausted>(outcome);
    }

    std::vector<Lease> release(const OwnerKey& key, const base::Deadline& deadline) {
        std::vector<Lease> released;
        bool is_fenced = false;
        for (int attempt = 0; attempt < kMostAttempts; ++attempt) {
            const std::vector<StoredLease> own = read_own(key, deadline);
            const std::vector<StoredLease> gone = remove(own, deadline);
            for (const StoredLease& stored : gone) released.push_back(to_lease(stored));
            if (gone.size() < own.size()) continue;
            if (!released.empty() || is_fenced || !fence(deadline)) return released;
            is_fenced = true; // a claim whose answer was lost has had effect by now, or never will
        }
        throw StoreError(StoreError::Kind::temporary,
                         fmt::format("lease store: the keys below {} changed {} times while they were removed",
                                     keys_.owner(options_.spaces.empty() ? "" : options_.spaces.front(), key),
                                     kMostAttempts));
    }

    std::vector<Lease> reclaim(const std::vector<Lease>& leases, const base::Deadline& deadline) {
        std::vector<Lease> reclaimed;
        for (const StoredLease& gone : remove(read_again(leases, deadline), deadline))
            reclaimed.push_back(to_lease(gone));
        return reclaimed;
    }

    std::vector<Lease> adopt(const std::vector<Lease>& leases, const Owner& heir, const base::Deadline& deadline) {
        std::vector<Lease> adopted;
        for (const StoredLease& before : read_again(leases, deadline)) {
            StoredLease after = own(before.lease.space, before.lease.slot, before.lease.address, heir);
            after.lease.since = before.lease.since;
            after.lease.cooldown = before.lease.cooldown;
            note_claim(after.lease);
            Transaction change;
            change.if_unchanged(keys_.node(options_.machine_id), node_revision(deadline));
            change.if_unchanged(keys_.address(before.lease.space, before.lease.address.address()), before.revision);
            change.if_absent(keys_.owner(after.lease));
            change.remove(keys_.owner(before.lease)).remove(keys_.held(before.machine_id, before.lease));
            put(change, after);
            const auto answer = claim(change, deadline);
            if (answer && answer->succeeded) adopted.push_back(std::move(after.lease));
            if (answer && !answer->succeeded) client_.memory().node_revision = 0; // perhaps that was the reason
        }
        return adopted; // reserve() finds what came of the others
    }

    std::vector<Lease> find(const OwnerKey& key, const base::Deadline& deadline) {
        std::vector<Lease> leases;
        for (const StoredLease& stored : read_own(key, deadline)) leases.push_back(to_lease(stored));
        return leases;
    }

    std::vector<Lease> find_predecessors(const Owner& owner, const base::Deadline& deadline) {
        const std::string pod = owner.pod_identity();
        if (pod.empty()) return {};
        const Answer answer = run(Transaction().read(Range::below(keys_.pod(options_.machine_id, owner))), deadline);
        std::vector<std::string> wanted;
        for (const KeyValue& entry : answer.found[0].entries)
            if (const auto place = parse_stored_place(entry.value)) wanted.push_back(place->address_key);
        std::vector<Lease> leases;
        for (const StoredLease& stored : read(wanted, deadline))
            if (stored.lease.owner.pod_identity() == pod && stored.lease.owner.key.network == owner.key.network &&
                stored.lease.owner.key.ifname == owner.key.ifname &&
                stored.lease.owner.key.container_id != owner.key.container_id)
                leases.push_back(to_lease(stored));
        return leases;
    }

    std::vector<Lease> list(const Claim& claim, const std::optional<IpAddress>& after, std::size_t most,
                            const base::Deadline& deadline) {
        std::vector<Lease> leases;
        for (const ipam::Interval& interval : claim.usable) {
            if (leases.size() == most) break;
            Range range = range_of(keys_, claim, interval);
            if (after && after->value() >= interval.first) range.key = keys_.address(claim.space, *after) + '\0';
            if (range.key >= range.end) continue;
            range.limit = static_cast<std::int64_t>(most - leases.size());
            const Answer answer = run(Transaction().read(range), deadline);
            for (const KeyValue& entry : answer.found[0].entries) add_lease(entry, claim.space, leases);
        }
        return leases;
    }

    std::vector<Lease> list_local(const Claim& claim, const std::optional<IpAddress>& after, std::size_t most,
                                  const base::Deadline& deadline) {
        std::map<IpAddress, std::string> wanted; // keys
        const std::string space = keys_.addresses(claim.space);
        for_each_below(keys_.pods(options_.machine_id), deadline, [&](const KeyValue& entry) {
            const auto place = parse_stored_place(entry.value);
            if (!place || !place->address_key.starts_with(space)) return;
            const auto address = EtcdKeys::address_in(place->address_key);
            if (address && has_address(claim, *address) && (!after || *after < *address))
                wanted.emplace(*address, place->address_key);
        });
        std::vector<std::string> keys;
        for (const auto& [address, key] : wanted)
            if (keys.size() < most) keys.push_back(key);
        std::vector<Lease> leases;
        for (const StoredLease& stored : read(keys, deadline)) leases.push_back(to_lease(stored));
        return leases;
    }

    std::vector<Lease> list_all(const base::Deadline& deadline) {
        std::vector<Lease> leases;
        for (const std::string& space : options_.spaces)
            for_each_below(keys_.addresses(space), deadline,
                           [&](const KeyValue& entry) { add_lease(entry, space, leases); });
        return leases;
    }

    bool has_free(const Claim& claim, const base::Deadline& deadline) {
        if (claim.usable.empty()) return false;
        // As a rule one address tells: STATUS asks often.
        const IpAddress any(claim.family, scattered(claim, static_cast<std::uint64_t>(now())));
        if (run(Transaction().read({.key = keys_.address(claim.space, any), .want = Range::Want::count}), deadline)
                .found[0]
                .count == 0)
            return true;
        return find_free(keys_, claim, {}, 0, runner(deadline)).has_value();
    }

    ipam::Usage usage(const Claim& claim, const base::Deadline& deadline) {
        ipam::Usage usage;
        for (const std::uint64_t count : count_leases(keys_, claim, claim.usable, runner(deadline)))
            usage.leases += count;
        return usage;
    }

private:
    /// The addresses of one attachment being taken.
    struct Taking {
        enum class Pod : std::uint8_t { must_be_new, may_have_predecessors };

        Taking(const Owner& its_owner, const std::vector<Claim>& its_claims, Pod its_pod)
            : owner(its_owner), claims(its_claims), pod(its_pod), candidates(claims.size()) {}

        const Owner& owner;
        const std::vector<Claim>& claims;
        Pod pod;
        std::map<std::size_t, StoredLease> held;          // by slot
        bool knows_held = false;                          // else it is assumed to be empty
        std::vector<std::optional<IpAddress>> candidates; // of the slots that hold nothing
        std::set<std::size_t> sent;                       // slots for which a claim without answer may have had effect

        [[nodiscard]] bool wants(std::size_t slot) const { return !held.contains(slot); }
    };
    /// Only of a pod that must be new: it is not.
    struct NotNew {};
    using Outcome = std::variant<Granted, Taken, Exhausted, NotNew>;

    Outcome take(Taking& taking, const base::Deadline& deadline) {
        if (taking.claims.size() > kMostAddresses)
            throw StoreError(StoreError::Kind::permanent,
                             fmt::format("lease store: an attachment has at most {} addresses in etcd, and this one "
                                         "wants {}",
                                         kMostAddresses, taking.claims.size()));
        for (int attempt = 0; attempt < kMostAttempts; ++attempt) {
            if (deadline.passed())
                throw base::TimeoutError(fmt::format("waited for addresses below {}, for which other nodes compete",
                                                     keys_.addresses(taking.claims.front().space)));
            if (auto outcome = try_to_take(taking, deadline)) return *std::move(outcome);
        }
        throw StoreError(StoreError::Kind::temporary,
                         fmt::format("lease store: other nodes were faster {} times to take an address below {}",
                                     kMostAttempts, keys_.addresses(taking.claims.front().space)));
    }

    /// nullopt: try again, with what was learned.
    std::optional<Outcome> try_to_take(Taking& taking, const base::Deadline& deadline) {
        if (auto exhausted = choose_candidates(taking, deadline)) return *exhausted;
        const std::int64_t revision = node_revision(deadline);
        Granted granted;
        Transaction change;
        change.if_unchanged(keys_.node(options_.machine_id), revision);
        if (must_look_for_predecessors(taking)) change.if_none_below(keys_.pod(options_.machine_id, taking.owner));
        if (taking.held.empty())
            for (const std::string& space : spaces_of(taking.claims))
                change.if_none_below(keys_.owner(space, taking.owner.key));
        for (std::size_t slot = 0; slot < taking.claims.size(); ++slot) add_slot(taking, slot, change, granted);
        else_read(taking, change);
        for (const Lease& lease : granted.fresh) note_claim(lease);
        const auto answer = claim(change, deadline);
        if (!answer) { // it has had effect, or never will: what is there says so
            for (const Lease& lease : granted.fresh) taking.sent.insert(lease.slot);
            taking.held.clear();
            taking.knows_held = false;
            return std::nullopt;
        }
        if (!answer->succeeded) return learn(taking, *answer, revision, deadline);
        return granted;
    }

    /// What the slot adds to the transaction, and to what it grants.
    void add_slot(const Taking& taking, std::size_t slot, Transaction& change, Granted& granted) const {
        const Claim& claim = taking.claims[slot];
        const auto held = taking.held.find(slot);
        if (held == taking.held.end()) {
            StoredLease fresh =
                own(claim.space, static_cast<unsigned>(slot),
                    base::IpPrefix::make(*taking.candidates[slot], claim.prefix_length).value(), taking.owner);
            fresh.lease.since = now();
            fresh.lease.cooldown = claim.cooldown;
            change.if_absent(keys_.address(claim.space, *taking.candidates[slot]));
            if (!taking.held.empty()) change.if_absent(keys_.owner(fresh.lease));
            put(change, fresh);
            granted.leases.push_back(fresh.lease);
            granted.fresh.push_back(std::move(fresh.lease));
            return;
        }
        StoredLease kept = held->second;
        change.if_unchanged(keys_.owner(kept.lease), kept.revision);
        change.if_unchanged(keys_.address(kept.lease.space, kept.lease.address.address()), kept.revision);
        if (kept.lease.owner != taking.owner || kept.node_name != options_.node_name ||
            kept.machine_id != options_.machine_id) {
            const std::string before = keys_.held(kept.machine_id, kept.lease);
            kept = own(kept.lease.space, kept.lease.slot, kept.lease.address, taking.owner);
            kept.lease.since = held->second.lease.since;
            kept.lease.cooldown = held->second.lease.cooldown;
            if (before != keys_.held(kept.machine_id, kept.lease)) change.remove(before);
            put(change, kept);
        }
        granted.leases.push_back(kept.lease);
        if (taking.sent.contains(slot)) granted.fresh.push_back(std::move(kept.lease));
    }

    /// If a condition does not hold, the same answer says which one.
    void else_read(const Taking& taking, Transaction& change) const {
        change.else_read({.key = keys_.node(options_.machine_id), .want = Range::Want::keys});
        Range pod = Range::below(keys_.pod(options_.machine_id, taking.owner), Range::Want::count);
        change.else_read(pod);
        for (const std::string& space : spaces_of(taking.claims))
            change.else_read(Range::below(keys_.owner(space, taking.owner.key)));
        for (std::size_t slot = 0; slot < taking.claims.size(); ++slot) {
            const Claim& claim = taking.claims[slot];
            if (!taking.wants(slot)) continue;
            if (claim.wanted) {
                change.else_read({.key = keys_.address(claim.space, *claim.wanted)});
                continue;
            }
            Range near = range_of(keys_, claim, rest_of(claim, taking.candidates[slot]->value()).value());
            near.want = Range::Want::keys;
            near.limit = kNear;
            change.else_read(near);
        }
    }

    /// From the reads of else_read(). nullopt: try again.
    std::optional<Outcome> learn(Taking& taking, const Answer& answer, std::int64_t revision,
                                 const base::Deadline& deadline) {
        auto read = answer.found.begin();
        const etcd::Found& node = *read++;
        if (node.entries.empty() || node.entries.front().revision != revision) client_.memory().node_revision = 0;
        const bool has_predecessors = (read++)->count > 0;
        const std::map<std::size_t, StoredLease> before = taking.held;
        std::vector<StoredLease> own;
        for (std::size_t space = 0; space < spaces_of(taking.claims).size(); ++space)
            for (StoredLease& stored : parse_own((read++)->entries)) own.push_back(std::move(stored));
        hold(taking, own);
        if (taking.pod == Taking::Pod::must_be_new &&
            ((must_look_for_predecessors(taking) && has_predecessors) || has_other_than_sent(taking)))
            return NotNew{};
        if (!before.empty() && is_same(before, taking.held)) remove_broken(taking, deadline);
        for (std::size_t slot = 0; slot < taking.claims.size(); ++slot) {
            if (before.contains(slot)) continue;
            const etcd::Found& found = *read++;
            if (!taking.wants(slot) || found.entries.empty()) continue;
            const Claim& claim = taking.claims[slot];
            if (claim.wanted) return Taken{slot, holder_in(found.entries.front(), claim)};
            const auto rest = rest_of(claim, taking.candidates[slot]->value()).value();
            auto next = gap_in(found, claim, rest, others(taking, slot));
            if (!next)
                next = find_free(keys_, claim, others(taking, slot), seed_of(taking.owner, slot), runner(deadline));
            if (!next) return Exhausted{slot};
            taking.candidates[slot] = next;
        }
        return std::nullopt;
    }

    /// An address for each slot that holds nothing: the wanted ones first, and none twice.
    std::optional<Outcome> choose_candidates(Taking& taking, const base::Deadline& deadline) {
        for (std::size_t slot = 0; slot < taking.claims.size(); ++slot)
            if (taking.wants(slot) && taking.claims[slot].wanted) taking.candidates[slot] = taking.claims[slot].wanted;
        for (std::size_t slot = 0; slot < taking.claims.size(); ++slot) {
            if (!taking.wants(slot) || taking.candidates[slot]) continue;
            const Claim& claim = taking.claims[slot];
            const std::uint64_t seed = seed_of(taking.owner, slot);
            const IpAddress first(claim.family, scattered(claim, seed));
            if (!others(taking, slot).contains(first)) {
                taking.candidates[slot] = first;
                continue;
            }
            taking.candidates[slot] = find_free(keys_, claim, others(taking, slot), seed, runner(deadline));
            if (taking.candidates[slot]) continue;
            if (taking.knows_held) return Exhausted{slot};
            hold(taking, read_own(taking.owner.key, deadline)); // perhaps the slot has an address
            return choose_candidates(taking, deadline);
        }
        return std::nullopt;
    }

    /// Addresses of the same space that the other slots are about to get.
    static std::set<IpAddress> others(const Taking& taking, std::size_t slot) {
        std::set<IpAddress> addresses;
        for (std::size_t other = 0; other < taking.claims.size(); ++other)
            if (other != slot && taking.wants(other) && taking.candidates[other] &&
                taking.claims[other].space == taking.claims[slot].space)
                addresses.insert(*taking.candidates[other]);
        return addresses;
    }

    static void hold(Taking& taking, const std::vector<StoredLease>& own) {
        taking.held.clear();
        for (const StoredLease& stored : own) taking.held.emplace(stored.lease.slot, stored);
        taking.knows_held = true;
    }

    bool must_look_for_predecessors(const Taking& taking) const {
        return taking.pod == Taking::Pod::must_be_new && taking.held.empty() && !taking.owner.pod_name.empty();
    }

    static bool has_other_than_sent(const Taking& taking) {
        return std::any_of(taking.held.begin(), taking.held.end(),
                           [&](const auto& one) { return !taking.sent.contains(one.first); });
    }

    static bool is_same(const std::map<std::size_t, StoredLease>& one,
                        const std::map<std::size_t, StoredLease>& other) {
        return std::equal(one.begin(), one.end(), other.begin(), other.end(), [](const auto& a, const auto& b) {
            return a.first == b.first && a.second.revision == b.second.revision;
        });
    }

    /// What the attachment holds by its own keys, but not by those of the addresses: somebody removed those by hand.
    void remove_broken(Taking& taking, const base::Deadline& deadline) {
        for (auto held = taking.held.begin(); held != taking.held.end();) {
            const StoredLease& stored = held->second;
            const Answer answer =
                run(Transaction().read({.key = keys_.address(stored.lease.space, stored.lease.address.address())}),
                    deadline);
            const auto& entries = answer.found[0].entries;
            if (!entries.empty() && entries.front().revision == stored.revision) {
                ++held;
                continue;
            }
            (void)remove_keys(stored, WithAddress::no, deadline);
            held = taking.held.erase(held);
        }
    }

    // Nodes.

    /// The revision of this node's key, which every claim tests. As a rule an earlier call has found it out.
    std::int64_t node_revision(const base::Deadline& deadline) {
        std::int64_t& known = client_.memory().node_revision;
        while (known == 0) known = register_node(deadline).value_or(0);
        return known;
    }

    /// nullopt: the key has just changed.
    std::optional<std::int64_t> register_node(const base::Deadline& deadline) {
        const std::string key = keys_.node(options_.machine_id);
        const StoredNode present{.name = options_.node_name, .boot_id = options_.boot_id};
        const Answer answer = run(Transaction().read({.key = key}), deadline);
        Transaction change;
        if (answer.found[0].entries.empty()) {
            change.if_absent(key);
        } else {
            const KeyValue& entry = answer.found[0].entries.front();
            const auto recorded = parse_stored_node(entry.value);
            if (!recorded || recorded->name != present.name)
                throw StoreError(
                    StoreError::Kind::permanent,
                    fmt::format("lease store: machine id {} is that of node {} in etcd, and this is node {}: give "
                                "each machine a machine id of its own (/etc/machine-id); if this one has a new name, "
                                "run `etcdctl del {}`",
                                options_.machine_id, recorded ? quoted(recorded->name) : "?", quoted(present.name),
                                key));
            if (recorded->boot_id == present.boot_id) return entry.revision;
            give_back_earlier_boots(deadline);
            change.if_unchanged(key, entry.revision);
        }
        change.put(key, to_text(present));
        const auto done = try_to_change(change, deadline);
        return done && done->succeeded ? std::optional(done->revision) : std::nullopt;
    }

    /// What pods had before the node was started anew: they are gone, and nobody else knows.
    void give_back_earlier_boots(const base::Deadline& deadline) {
        std::size_t count = 0;
        for_each_below(keys_.pods(options_.machine_id), deadline, [&](const KeyValue& entry) {
            const auto place = parse_stored_place(entry.value);
            if (!place || place->boot_id == options_.boot_id) return;
            Transaction change;
            change.if_unchanged(place->address_key, entry.revision).if_unchanged(entry.key, entry.revision);
            change.remove(place->address_key).remove(place->owner_key).remove(entry.key);
            const auto done = try_to_change(change, deadline);
            if (done && done->succeeded) ++count;
            if (done && !done->succeeded) // its lease is another one by now
                (void)try_to_change(Transaction().if_unchanged(entry.key, entry.revision).remove(entry.key), deadline);
        });
        if (count > 0 && options_.warn)
            options_.warn(fmt::format("the node was started anew: {} of pods before that went back to etcd",
                                      base::counted(count, "address", "addresses")));
    }

    /// After it, no claim of this node can take effect that was sent before. False if there can be none: without the
    /// node's key every claim fails.
    bool fence(const base::Deadline& deadline) {
        const std::string key = keys_.node(options_.machine_id);
        for (;;) {
            const Answer answer = run(Transaction().read({.key = key}), deadline);
            if (answer.found[0].entries.empty()) return false;
            const KeyValue& entry = answer.found[0].entries.front();
            const auto done =
                try_to_change(Transaction().if_unchanged(key, entry.revision).put(key, entry.value), deadline);
            if (!done) continue;
            // If it did not succeed, somebody else has written the key since it was read, which is as good.
            client_.memory().node_revision = done->succeeded ? done->revision : 0;
            client_.memory().save();
            return true;
        }
    }

    // Leases.

    StoredLease own(const std::string& space, unsigned slot, const base::IpPrefix& address, const Owner& owner) const {
        return {.lease = {.space = space, .slot = slot, .address = address, .owner = owner},
                .machine_id = options_.machine_id,
                .node_name = options_.node_name};
    }

    void put(Transaction& change, const StoredLease& stored) const {
        const Lease& lease = stored.lease;
        const std::string address_key = keys_.address(lease.space, lease.address.address());
        const std::string owner_key = keys_.owner(lease);
        const std::string text = to_text(stored);
        change.put(address_key, text).put(owner_key, text);
        change.put(
            keys_.held(stored.machine_id, lease),
            to_text(StoredPlace{.address_key = address_key, .owner_key = owner_key, .boot_id = lease.owner.boot_id}));
    }

    [[nodiscard]] bool is_here(const StoredLease& stored) const {
        return stored.machine_id == options_.machine_id && stored.node_name == options_.node_name;
    }

    [[nodiscard]] Lease to_lease(const StoredLease& stored) const {
        Lease lease = stored.lease;
        if (!is_here(stored)) lease.owner.other_node = stored.node_name.empty() ? "unknown" : stored.node_name;
        return lease;
    }

    /// A key that has no lease of ours still takes its address.
    void add_lease(const KeyValue& entry, const std::string& space, std::vector<Lease>& leases) const {
        const auto address = EtcdKeys::address_in(entry.key);
        if (!address) return;
        if (const auto stored = parse_stored_lease(entry.value))
            leases.push_back(to_lease(*stored));
        else
            leases.push_back(unreadable(*address, space));
    }

    static Lease unreadable(const IpAddress& address, const std::string& space) {
        Lease lease{.space = space,
                    .address = base::IpPrefix::make(address, base::address_bits(address.family())).value()};
        lease.owner.other_node = "unknown";
        return lease;
    }

    [[nodiscard]] Lease holder_in(const KeyValue& entry, const Claim& claim) const {
        std::vector<Lease> leases;
        add_lease(entry, claim.space, leases);
        return leases.empty() ? unreadable(*claim.wanted, claim.space) : leases.front();
    }

    /// Spaces in which the owner may hold something: those of the claims, and those that the attachment had before.
    [[nodiscard]] std::set<std::string> spaces_of(const std::vector<Claim>& claims) const {
        std::set<std::string> spaces(options_.spaces.begin(), options_.spaces.end());
        for (const Claim& claim : claims) spaces.insert(claim.space);
        return spaces;
    }

    static std::vector<StoredLease> parse_own(const std::vector<KeyValue>& entries) {
        std::vector<StoredLease> leases;
        for (const KeyValue& entry : entries) {
            auto stored = parse_stored_lease(entry.value);
            if (!stored)
                throw StoreError(StoreError::Kind::permanent,
                                 fmt::format("lease store: key {} does not have a lease: find out who wrote it, then "
                                             "run `etcdctl del` with it",
                                             quoted(entry.key)));
            stored->revision = entry.revision;
            leases.push_back(*std::move(stored));
        }
        return leases;
    }

    /// By slot.
    std::vector<StoredLease> read_own(const OwnerKey& key, const base::Deadline& deadline) {
        Transaction reading;
        for (const std::string& space : options_.spaces) reading.read(Range::below(keys_.owner(space, key)));
        std::vector<StoredLease> leases;
        if (options_.spaces.empty()) return leases;
        for (const etcd::Found& found : run(reading, deadline).found)
            for (StoredLease& stored : parse_own(found.entries)) leases.push_back(std::move(stored));
        std::stable_sort(leases.begin(), leases.end(),
                         [](const auto& a, const auto& b) { return a.lease.slot < b.lease.slot; });
        return leases;
    }

    /// The leases at those keys. One that is gone is left out.
    std::vector<StoredLease> read(const std::vector<std::string>& address_keys, const base::Deadline& deadline) {
        std::vector<StoredLease> leases;
        for (std::size_t begin = 0; begin < address_keys.size(); begin += kReadsAtOnce) {
            Transaction reading;
            for (std::size_t at = begin; at < std::min(address_keys.size(), begin + kReadsAtOnce); ++at)
                reading.read({.key = address_keys[at]});
            for (const etcd::Found& found : run(reading, deadline).found) {
                if (found.entries.empty()) continue;
                auto stored = parse_stored_lease(found.entries.front().value);
                if (!stored) continue;
                stored->revision = found.entries.front().revision;
                leases.push_back(*std::move(stored));
            }
        }
        return leases;
    }

    /// Those of `leases` that have not changed since they were read.
    std::vector<StoredLease> read_again(const std::vector<Lease>& leases, const base::Deadline& deadline) {
        std::vector<std::string> keys;
        keys.reserve(leases.size());
        for (const Lease& lease : leases) keys.push_back(keys_.address(lease.space, lease.address.address()));
        std::vector<StoredLease> stored = read(keys, deadline);
        std::erase_if(stored, [&](const StoredLease& now) {
            return std::find(leases.begin(), leases.end(), to_lease(now)) == leases.end();
        });
        return stored;
    }

    template <class Act>
    void for_each_below(const std::string& prefix, const base::Deadline& deadline, Act act) {
        Range range = Range::below(prefix);
        range.limit = kLeasesAtOnce;
        for (;;) {
            const Answer answer = run(Transaction().read(range), deadline);
            const std::vector<KeyValue>& entries = answer.found[0].entries;
            for (const KeyValue& entry : entries) act(entry);
            if (entries.empty() || answer.found[0].count <= entries.size()) return;
            range.key = entries.back().key + '\0';
        }
    }

    enum class WithAddress : std::uint8_t { no, yes };

    void add_removal(Transaction& change, const StoredLease& stored, WithAddress with_address) const {
        const std::string owner_key = keys_.owner(stored.lease);
        change.if_unchanged(owner_key, stored.revision);
        change.remove(owner_key).remove(keys_.held(stored.machine_id, stored.lease));
        if (with_address == WithAddress::no) return;
        const std::string address_key = keys_.address(stored.lease.space, stored.lease.address.address());
        change.if_unchanged(address_key, stored.revision).remove(address_key);
    }

    bool remove_keys(const StoredLease& stored, WithAddress with_address, const base::Deadline& deadline) {
        Transaction change;
        add_removal(change, stored, with_address);
        const auto answer = try_to_change(change, deadline);
        return answer && answer->succeeded;
    }

    /// Removes those that are unchanged, and returns them.
    std::vector<StoredLease> remove(const std::vector<StoredLease>& leases, const base::Deadline& deadline) {
        std::vector<StoredLease> removed;
        for (std::size_t begin = 0; begin < leases.size(); begin += kMostAddresses) {
            const std::size_t end = std::min(leases.size(), begin + kMostAddresses);
            Transaction change;
            for (std::size_t at = begin; at < end; ++at) add_removal(change, leases[at], WithAddress::yes);
            const auto answer = try_to_change(change, deadline);
            const bool is_done = answer && answer->succeeded;
            for (std::size_t at = begin; at < end; ++at)
                if (is_done || remove_one(leases[at], deadline)) removed.push_back(leases[at]);
        }
        return removed;
    }

    bool remove_one(const StoredLease& stored, const base::Deadline& deadline) {
        if (remove_keys(stored, WithAddress::yes, deadline)) return true;
        const std::string address_key = keys_.address(stored.lease.space, stored.lease.address.address());
        const Answer answer = run(Transaction().read({.key = address_key}), deadline);
        const auto& entries = answer.found[0].entries;
        // Without the address's own key, which somebody removed by hand, the others mean nothing.
        if (entries.empty() || entries.front().revision != stored.revision)
            return remove_keys(stored, WithAddress::no, deadline);
        return false;
    }

    void note_claim(const Lease& lease) const {
        if (options_.before_claim) options_.before_claim(lease);
    }

    // Requests.

    Answer run(const Transaction& transaction, const base::Deadline& deadline) {
        try {
            return client_.run(transaction, deadline);
        } catch (const etcd::Failure& failure) {
            refuse(failure);
        }
    }

    [[nodiscard]] RunEtcd runner(const base::Deadline& deadline) {
        return [this, deadline](const Transaction& transaction) { return run(transaction, deadline); };
    }

    [[noreturn]] static void refuse(const etcd::Failure& failure) {
        const bool is_permanent = failure.kind() == etcd::Failure::Kind::permanent;
        throw StoreError(is_permanent ? StoreError::Kind::permanent : StoreError::Kind::temporary,
                         fmt::format("lease store: {}", failure.what()));
    }

    /// nullopt if no answer says whether it was done. That is no harm for a change that tests the revision of all that
    /// it changes: a later one finds out.
    std::optional<Answer> try_to_change(const Transaction& change, const base::Deadline& deadline) {
        try {
            return client_.run(change, deadline);
        } catch (const etcd::Failure& failure) {
            if (failure.kind() != etcd::Failure::Kind::unknown || deadline.passed()) refuse(failure);
            return std::nullopt;
        }
    }

    /// nullopt if no answer says whether the claim was done. By then it has had effect, or never will.
    std::optional<Answer> claim(const Transaction& change, const base::Deadline& deadline) {
        auto answer = try_to_change(change, deadline);
        if (!answer) (void)fence(deadline);
        return answer;
    }

    etcd::Client client_;
    Options options_;
    EtcdKeys keys_;
};

EtcdStore::EtcdStore(etcd::Client client, Options options)
    : impl_(std::make_unique<Impl>(std::move(client), std::move(options))) {}
EtcdStore::~EtcdStore() = default;

std::optional<Granted> EtcdStore::reserve_at_once(const Owner& owner, const std::vector<Claim>& claims,
                                                  const base::Deadline& deadline) {
    return impl_->reserve_at_once(owner, claims, deadline);
}

ipam::ReserveOutcome EtcdStore::reserve(const Owner& owner, const std::vector<Claim>& claims,
                                        const base::Deadline& deadline) {
    return impl_->reserve(owner, claims, deadline);
}

std::vector<Lease> EtcdStore::release(const OwnerKey& key, const base::Deadline& deadline) {
    return impl_->release(key, deadline);
}

std::vector<Lease> EtcdStore::withdraw(const OwnerKey& key, const std::vector<Lease>& /*unused*/,
                                       const base::Deadline& deadline) {
    return impl_->release(key, deadline);
}

std::vector<Lease> EtcdStore::reclaim(const std::vector<Lease>& leases, const base::Deadline& deadline) {
    return impl_->reclaim(leases, deadline);
}

std::vector<Lease> EtcdStore::adopt(const std::vector<Lease>& leases, const Owner& heir,
                                    const base::Deadline& deadline) {
    return impl_->adopt(leases, heir, deadline);
}

std::vector<Lease> EtcdStore::find(const OwnerKey& key, const base::Deadline& deadline) {
    return impl_->find(key, deadline);
}

std::vector<Lease> EtcdStore::find_predecessors(const Owner& owner, const base::Deadline& deadline) {
    return impl_->find_predecessors(owner, deadline);
}

std::vector<Lease> EtcdStore::list(const Claim& claim, const std::optional<IpAddress>& after, std::size_t most,
                                   const base::Deadline& deadline) {
    return impl_->list(claim, after, most, deadline);
}

std::vector<Lease> EtcdStore::list_local(const Claim& claim, const std::optional<IpAddress>& after, std::size_t most,
                                         const base::Deadline& deadline) {
    return impl_->list_local(claim, after, most, deadline);
}

std::vector<Lease> EtcdStore::list_all(const base::Deadline& deadline) {
    return impl_->list_all(deadline);
}

bool EtcdStore::has_free(const Claim& claim, const base::Deadline& deadline) {
    return impl_->has_free(claim, deadline);
}

ipam::Usage EtcdStore::usage(const Claim& claim, const base::Deadline& deadline) {
    return impl_->usage(claim, deadline);
}

} // namespace rdmanet::cluster
