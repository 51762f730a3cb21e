#include "cluster_leases.hpp"
#include "clusters.hpp"
#include "place.hpp"
#include "recorded.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/cluster/ranges.hpp>
#include <rdmanet/ipam/errors.hpp>
#include <rdmanet/leases/leases.hpp>

#include <algorithm>
#include <chrono>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

namespace rdmanet::leases {
namespace {

/// An ADD's claims in the cluster's store at `where`. The record says so before the first claim is sent, in case this
/// process is killed, and afterwards what may still become of claims without an answer.
class SharedClaims {
public:
    /// `save` writes the record.
    SharedClaims(state::LeaseStore where, const ipam::StoreChoice& choice, state::AttachmentRecord& record,
                 const Node& node, const state::AttachmentStore& records, const std::function<void()>& save)
        : where_(std::move(where)), limit_(choice.limits.add), record_(record), save_(save),
          store_(open(node, records)) {}

    template <class Allocate>
    ipam::Allocation take(Allocate allocate) {
        if (!where_.pools.empty()) store_.give_back_earlier_boot(); // else nothing has to be asked
        try {
            ipam::Allocation allocation = store_.ask(allocate);
            settle();
            return allocation;
        } catch (...) {
            if (has_claimed_) settle_failed();
            throw;
        }
    }

private:
    ClusterLeases open(const Node& node, const state::AttachmentStore& records) {
        if (record_.lease_store) carry_over(*record_.lease_store, where_);
        // In blocks, undoing this ADD looks however far it has come.
        if (!is_in_pools(where_)) record_.lease_store = where_;
        return {where_,
                node,
                records,
                {.before_claim =
                     [this](const ipam::Lease&) {
                         if (note()) save_();
                     },
                 .before_inheritance =
                     [this](const ipam::Lease& lease) {
                         (void)note();
                         note_inheritance(lease, *record_.lease_store);
                         save_();
                     }}};
    }

    /// False: an earlier claim has noted it.
    bool note() {
        if (has_claimed_) return false;
        has_claimed_ = true;
        record_.lease_store = store_.where();
        if (!is_in_pools(where_)) return true;
        record_.lease_store->has_open_claim = true;
        record_.lease_store->unsettled_until =
            ipam::system_time().boot + std::chrono::ceil<std::chrono::seconds>(limit_ + kLateAnswer).count();
        return true;
    }
    void settle() {
        record_.lease_store = store_.where();
        note_unsettled(store_.unsettled(), *record_.lease_store);
    }
    void settle_failed() {
        // What was about to be inherited may be half done, and the pool does not lead to it.
        const std::vector<state::ClaimedAddress> noted = std::exchange(record_.lease_store->unsettled, {});
        settle();
        for (const state::ClaimedAddress& claimed : noted) note_claimed(claimed, *record_.lease_store);
        record_.lease_store->has_open_claim = is_in_pools(where_); // perhaps one had no answer
    }

    state::LeaseStore where_;
    std::chrono::milliseconds limit_;
    state::AttachmentRecord& record_;
    const std::function<void()>& save_;
    bool has_claimed_ = false;
    ClusterLeases store_; // calls this object
};

/// An address that a living attachment of this node has, and who it is. A store may have forgotten it: its file was put
/// back, its objects were deleted or restored, or it is another store than the one that gave the address.
struct GivenTwice {
    ipam::Lease lease;
    std::string holder;
};
std::optional<GivenTwice> find_given_twice(const std::vector<ipam::Lease>& fresh, const ipam::OwnerKey& key,
                                           const state::AttachmentStore& records, ipam::LivenessProbe& pods) {
    for (const ipam::Lease& lease : fresh) {
        const auto record = records.find_with_address(lease.space, lease.address.address());
        if (!record || owner_key(record->key) == key || record->owes_addresses()) continue;
        if (pods.probe(owner_of(*record)) != ipam::Liveness::dead)
            return GivenTwice{.lease = lease, .holder = describe(*record)};
    }
    return std::nullopt;
}

/// As Allocator::allocate(), and never an address that a living attachment of this node has.
ipam::Allocation allocate_once(ipam::Store& store, ipam::Config config, const ipam::Owner& owner,
                               const std::vector<ipam::RequestedAddress>& requested, const Node& node,
                               const state::AttachmentStore& records, ipam::LivenessProbe& pods,
                               const base::Deadline& deadline) {
    std::vector<ipam::OwnerKey> reclaimed_from;
    for (;;) {
        ipam::Allocation allocation = ipam::Allocator(store, pods).allocate(config, owner, requested, deadline);
        reclaimed_from.insert(reclaimed_from.end(), allocation.reclaimed_from.begin(), allocation.reclaimed_from.end());
        const auto twice = find_given_twice(allocation.fresh, owner.key, records, pods);
        if (!twice) {
            allocation.reclaimed_from = std::move(reclaimed_from);
            return allocation;
        }
        (void)store.withdraw(owner.key, allocation.fresh, deadline);
        const base::IpAddress address = twice->lease.address.address();
        const std::string has = fmt::format("{} has {}, which the lease store has forgotten", twice->holder, address);
        bool is_in_range = false;
        for (ipam::ConfiguredRange& range : config.ranges) {
            if (range.space != twice->lease.space || !range.range.contains(address)) continue;
            range.range.remove({{address.value(), address.value()}});
            is_in_range = true;
        }
        const bool is_wanted = std::ranges::any_of(requested, [&](const auto& one) { return one.address == address; });
        if (!is_in_range || is_wanted)
            throw ipam::RequestedAddressTaken(fmt::format(
                "{}: delete that pod, or use another address; `rdmanet ipam check --repair` makes the lease "
                "again",
                has));
        node.log.warn(
            fmt::format("{}: it is not given again; `rdmanet ipam check --repair` makes the lease again", has));
    }
}

} // namespace

void Leases::note_addresses(const state::AttachmentRecord& record, ipam::LivenessProbe& pods,
                            const base::Deadline& deadline) const {
    for (const ipam::Lease& lease : recorded_leases_of(record)) {
        const base::IpAddress address = lease.address.address();
        if (records_.note_address(lease.space, address, record.key)) continue;
        const base::FileLock lock = records_.lock_addresses(deadline);
        do {
            if (const auto twice = find_given_twice({lease}, owner_key(record.key), records_, pods))
                throw ipam::StoreError(ipam::StoreError::Kind::temporary,
                                       fmt::format("{} has {}, too, perhaps from another lease store: keep all "
                                                   "addresses of a range in one store",
                                                   twice->holder, address));
            records_.forget_note(lease.space, address);
        } while (!records_.note_address(lease.space, address, record.key));
    }
}

ipam::Allocation Leases::take_settled(const ipam::Config& config, const std::vector<ipam::RequestedAddress>& requested,
                                      state::AttachmentRecord& record, ipam::LivenessProbe& pods,
                                      const std::function<void()>& save, const base::Deadline& deadline) {
    const auto allocate_by = [&](const base::Deadline& until) {
        return [&, until](ipam::Store& store) {
            return allocate_once(store, config, owner_of(record), requested, node_, records_, pods, until);
        };
    };
    ipam::Allocation allocation;
    auto where = place_of(config);
    if (record.lease_store) require_same_store(*record.lease_store, where);
    node_.log.info(describe_place(config.store));
    if (where) {
        // A quarter of the time is for the rollback.
        const base::Deadline until = node_.clusters->until(deadline);
        allocation = SharedClaims(*std::move(where), config.store, record, node_, records_, save)
                         .take(allocate_by(until.at_most(until.remaining() / 4 * 3)));
        note_cluster(config.store, node_);
    } else {
        allocation = allocate_by(deadline)(file_);
    }
    for (const std::string& warning : allocation.warnings) node_.log.warn(warning);
    record.leases = to_recorded(allocation.leases);
    return allocation;
}

ipam::Allocation Leases::take(const ipam::Config& config, const std::vector<ipam::RequestedAddress>& requested,
                              state::AttachmentRecord& record, ipam::LivenessProbe& pods,
                              const std::function<void()>& save, const base::Deadline& deadline) {
    const auto earlier = record.lease_store;
    bool has_claimed = false;
    const auto save_claim = [&] {
        has_claimed = true;
        save();
    };
    const auto settle = [&] { return PlaceFinder(node_, records_, file_, pods).settle(config, earlier, deadline); };
    try {
        return take_settled(settle(), requested, record, pods, save_claim, deadline);
    } catch (const cluster::RangeMoved&) {
        // Somebody has applied or deleted an AddressRange. A record has room for one place.
        if (has_claimed) throw;
        record.lease_store = earlier;
        return take_settled(settle(), requested, record, pods, save, deadline);
    }
}

} // namespace rdmanet::leases
