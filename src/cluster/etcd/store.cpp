#include "parts.hpp"
#include "ranges.hpp"
#include "regain.hpp"
#include "taking.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/ipam/errors.hpp>

#include <algorithm>
#include <map>
#include <utility>
#include <variant>

namespace rdmanet::cluster {
namespace {

using base::Deadline;
using base::IpAddress;
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
using ipam::Taken;

constexpr int kMostRemovals = 30; // of one call

bool has_address(const Claim& claim, const IpAddress& address) {
    return address.family() == claim.family &&
           std::any_of(claim.usable.begin(), claim.usable.end(),
                       [&](const ipam::Interval& interval) { return interval.contains(address.value()); });
}

class EtcdStore final : public ipam::Store {
public:
    EtcdStore(etcd::Client client, EtcdOptions options) : parts_(std::move(client), std::move(options)) {}

    std::optional<Granted> reserve_at_once(const Owner& owner, const std::vector<Claim>& claims,
                                           const Deadline& deadline) override {
        auto outcome = EtcdTaking(parts_, owner, claims, EtcdTaking::Pod::must_be_new).take(deadline);
        if (auto* granted = std::get_if<Granted>(&outcome)) return std::move(*granted);
        return std::nullopt;
    }

    ipam::ReserveOutcome reserve(const Owner& owner, const std::vector<Claim>& claims,
                                 const Deadline& deadline) override {
        auto outcome = EtcdTaking(parts_, owner, claims, EtcdTaking::Pod::may_have_predecessors).take(deadline);
        if (auto* granted = std::get_if<Granted>(&outcome)) return std::move(*granted);
        if (auto* taken = std::get_if<Taken>(&outcome)) return std::move(*taken);
        return std::get<Exhausted>(outcome);
    }

    std::vector<Lease> release(const OwnerKey& key, const Deadline& deadline) override {
        std::vector<Lease> released;
        std::vector<std::string> spaces;
        bool is_fenced = false;
        for (int attempt = 0; attempt < kMostRemovals; ++attempt) {
            spaces = spaces_of(key, deadline);
            const std::vector<StoredLease> own = parts_.leases.read_own(spaces, key, deadline);
            const EtcdLeases::Removed removed = parts_.leases.remove(own, deadline);
            for (const StoredLease& stored : removed.leases) released.push_back(parts_.to_lease(stored));
            if (!removed.is_all) continue;
            const bool knows_all = !released.empty() && !parts_.options.has_open_claim;
            if (knows_all || is_fenced || !parts_.node.fence(deadline)) return released;
            is_fenced = true; // a claim whose answer was lost has had effect by now, or never will
        }
        throw ipam::StoreError(ipam::StoreError::Kind::temporary,
                               fmt::format("lease store: the keys below {} changed {} times while they were removed",
                                           parts_.keys().owner(spaces.empty() ? "" : spaces.front(), key),
                                           kMostRemovals));
    }

    std::vector<Lease> withdraw(const OwnerKey& key, const std::vector<Lease>& /*unused*/,
                                const Deadline& deadline) override {
        return release(key, deadline);
    }

    std::vector<Lease> reclaim(const std::vector<Lease>& leases, const Deadline& deadline) override {
        return to_leases(parts_.leases.remove(read_again(leases, deadline), deadline).leases);
    }

    std::vector<Lease> adopt(const std::vector<Lease>& leases, const Owner& heir, const Deadline& deadline) override {
        const EtcdKeys& keys = parts_.keys();
        std::vector<Lease> adopted;
        for (const StoredLease& before : read_again(leases, deadline)) {
            StoredLease after = parts_.own(before.lease.space, before.lease.slot, before.lease.address, heir);
            after.lease.since = before.lease.since;
            after.lease.cooldown = before.lease.cooldown;
            parts_.note_claim(after.lease);
            Transaction change;
            change.if_unchanged(parts_.node.key(), parts_.node.revision(deadline));
            change.if_unchanged(keys.address(before.lease.space, before.lease.address.address()), before.revision);
            change.if_absent(keys.owner(after.lease));
            change.remove(keys.owner(before.lease)).remove(keys.held(before.machine_id, before.lease));
            parts_.leases.put(change, after);
            const auto answer = parts_.node.claim(change, deadline);
            if (answer && answer->succeeded) adopted.push_back(std::move(after.lease));
            if (answer && !answer->succeeded) parts_.node.forget_revision(); // perhaps that was the reason
        }
        return adopted; // reserve() finds what came of the others
    }

    std::vector<ipam::Regained> regain(const std::vector<Lease>& leases, const Deadline& deadline) override {
        std::vector<ipam::Regained> all;
        all.reserve(leases.size());
        for (const Lease& lease : leases) all.push_back(cluster::regain(parts_, lease, deadline));
        return all;
    }

    std::vector<Lease> find(const OwnerKey& key, const Deadline& deadline) override {
        return to_leases(parts_.leases.read_own(spaces_of(key, deadline), key, deadline));
    }

    std::vector<Lease> find_predecessors(const Owner& owner, const Deadline& deadline) override {
        const std::string pod = owner.pod_identity();
        if (pod.empty()) return {};
        const Range places = Range::below(parts_.keys().pod(parts_.options.machine_id, owner));
        const Answer answer = parts_.session.run(Transaction().read(places), deadline);
        std::vector<std::string> wanted;
        for (const KeyValue& entry : answer.found[0].entries)
            if (const auto place = parse_stored_place(entry.value)) wanted.push_back(place->address_key);
        std::vector<StoredLease> stored = parts_.leases.read(wanted, deadline);
        std::erase_if(stored, [&](const StoredLease& one) {
            const Owner& before = one.lease.owner;
            return before.pod_identity() != pod || before.key.network != owner.key.network ||
                   before.key.ifname != owner.key.ifname || before.key.container_id == owner.key.container_id;
        });
        return to_leases(stored);
    }

    std::vector<Lease> list(const Claim& claim, const std::optional<IpAddress>& after, std::size_t most,
                            const Deadline& deadline) override {
        std::vector<Lease> leases;
        for (const ipam::Interval& interval : claim.usable) {
            if (leases.size() == most) break;
            Range range = range_of(parts_.keys(), claim, interval);
            if (after && after->value() >= interval.first)
                range.key = parts_.keys().address(claim.space, *after) + '\0';
            if (range.key >= range.end) continue;
            range.limit = static_cast<std::int64_t>(most - leases.size());
            const Answer answer = parts_.session.run(Transaction().read(range), deadline);
            for (const KeyValue& entry : answer.found[0].entries) add_lease(entry, claim.space, leases);
        }
        return leases;
    }

    std::vector<Lease> list_local(const Claim& claim, const std::optional<IpAddress>& after, std::size_t most,
                                  const Deadline& deadline) override {
        std::map<IpAddress, std::string> wanted; // keys
        const std::string space = parts_.keys().addresses(claim.space);
        const std::string places = parts_.keys().pods(parts_.options.machine_id);
        parts_.session.for_each_below(places, deadline, [&](const KeyValue& entry) {
            const auto place = parse_stored_place(entry.value);
            if (!place || !place->address_key.starts_with(space)) return;
            const auto address = EtcdKeys::address_in(place->address_key);
            if (address && has_address(claim, *address) && (!after || *after < *address))
                wanted.emplace(*address, place->address_key);
        });
        std::vector<std::string> keys;
        for (const auto& [address, key] : wanted)
            if (keys.size() < most) keys.push_back(key);
        return to_leases(parts_.leases.read(keys, deadline));
    }

    std::vector<Lease> list_all(const Deadline& deadline) override {
        std::vector<Lease> leases;
        for (const std::string& space : parts_.options.spaces)
            parts_.session.for_each_below(parts_.keys().addresses(space), deadline,
                                          [&](const KeyValue& entry) { add_lease(entry, space, leases); });
        return leases;
    }

    bool has_free(const Claim& claim, const Deadline& deadline) override {
        if (claim.usable.empty()) return false;
        const RunEtcd run = parts_.session.runner(deadline);
        // As a rule one address tells: STATUS asks often.
        const IpAddress any(claim.family, scattered(claim, static_cast<std::uint64_t>(seconds_now())));
        const Answer answer =
            run(Transaction()
                    .read({.key = parts_.keys().address(claim.space, any), .want = Range::Want::count})
                    .read(RecordedRanges::all(parts_.keys(), claim.space)));
        require_in_etcd(claim, RecordedRanges::parse(answer.found[1], answer.revision));
        return answer.found[0].count == 0 || find_free(parts_.keys(), claim, {}, 0, run).has_value();
    }

    ipam::Usage usage(const Claim& claim, const Deadline& deadline) override {
        ipam::Usage usage;
        if (claim.usable.empty()) return usage;
        const Answer ranges =
            parts_.session.run(Transaction().read(RecordedRanges::all(parts_.keys(), claim.space)), deadline);
        require_in_etcd(claim, RecordedRanges::parse(ranges.found[0], ranges.revision));
        for (const std::uint64_t count :
             count_leases(parts_.keys(), claim, claim.usable, parts_.session.runner(deadline)))
            usage.leases += count;
        return usage;
    }

private:
    /// Where the attachment may have leases. If its record is lost, its network may have been edited since its ADD, but its
    /// keys among those of this node's pods name their spaces.
    [[nodiscard]] std::vector<std::string> spaces_of(const OwnerKey& key, const Deadline& deadline) {
        std::vector<std::string> spaces = parts_.options.spaces;
        if (!parts_.options.are_spaces_guessed) return spaces;
        const Range of_node = Range::below(parts_.keys().pods(parts_.options.machine_id), Range::Want::keys);
        parts_.session.for_each_page_of(of_node, deadline, [&](const std::vector<KeyValue>& entries) {
            for (const KeyValue& entry : entries)
                if (auto space = EtcdKeys::space_in(entry.key, key);
                    space && std::find(spaces.begin(), spaces.end(), *space) == spaces.end())
                    spaces.push_back(*std::move(space));
        });
        return spaces;
    }

    void require_in_etcd(const Claim& claim, RecordedRanges recorded) const {
        EtcdRanges ranges(parts_.keys());
        ranges.note(claim.space, std::move(recorded));
        ranges.require_known({&claim});
    }
    void add_lease(const KeyValue& entry, const std::string& space, std::vector<Lease>& leases) const {
        if (const auto address = EtcdKeys::address_in(entry.key))
            leases.push_back(lease_at(parts_, *address, space, entry));
    }
    [[nodiscard]] std::vector<Lease> to_leases(const std::vector<StoredLease>& stored) const {
        std::vector<Lease> leases;
        leases.reserve(stored.size());
        for (const StoredLease& one : stored) leases.push_back(parts_.to_lease(one));
        return leases;
    }

    /// Those of `leases` that have not changed since they were read.
    [[nodiscard]] std::vector<StoredLease> read_again(const std::vector<Lease>& leases, const Deadline& deadline) {
        std::vector<std::string> keys;
        keys.reserve(leases.size());
        for (const Lease& lease : leases) keys.push_back(parts_.keys().address(lease.space, lease.address.address()));
        std::vector<StoredLease> stored = parts_.leases.read(keys, deadline);
        std::erase_if(stored, [&](const StoredLease& now) {
            return std::find(leases.begin(), leases.end(), parts_.to_lease(now)) == leases.end();
        });
        return stored;
    }

    EtcdParts parts_;
};

} // namespace

std::unique_ptr<ipam::Store> make_etcd_store(etcd::Client client, EtcdOptions options) {
    return std::make_unique<EtcdStore>(std::move(client), std::move(options));
}

} // namespace rdmanet::cluster
