#include "session.hpp"

#include "clusters.hpp"
#include "network_store.hpp"
#include "shared_leases.hpp"

#include "lookup/request.hpp"
#include "owners/liveness.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/cluster/ranges.hpp>
#include <rdmanet/ipam/errors.hpp>

#include <algorithm>
#include <chrono>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

namespace rdmanet::attach {
namespace {

/// An ADD's claims in the cluster's store at `where`. The record says so before the first claim is sent, in case this
/// process is killed, and afterwards what may still become of claims without an answer.
class SharedClaims {
public:
    /// `save` writes the record.
    SharedClaims(state::LeaseStore where, const ipam::StoreChoice& choice, state::AttachmentRecord& record,
                 Session& session, std::function<void()> save)
        : where_(std::move(where)), limit_(choice.limits.add), record_(record), session_(session),
          save_(std::move(save)), store_(open()) {}

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
    SharedLeases open() {
        if (record_.lease_store) carry_over(*record_.lease_store, where_);
        // In blocks, undoing this ADD looks however far it has come.
        if (!takes_late_claims(where_)) record_.lease_store = where_;
        return {where_,
                session_.node,
                session_.records,
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
        if (!takes_late_claims(where_)) return true;
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
        record_.lease_store->has_open_claim = takes_late_claims(where_); // perhaps one had no answer
    }

    state::LeaseStore where_;
    std::chrono::milliseconds limit_;
    state::AttachmentRecord& record_;
    Session& session_;
    std::function<void()> save_;
    bool has_claimed_ = false;
    SharedLeases store_; // calls this object
};

/// An address that a living attachment of this node has, and who it is. A store may have forgotten it: its file was put
/// back, its objects were deleted or restored, or it is another store than the one that gave the address.
struct GivenTwice {
    ipam::Lease lease;
    std::string holder;
};
std::optional<GivenTwice> find_given_twice(const std::vector<ipam::Lease>& fresh, const Session& session,
                                           PodProbe& pods) {
    for (const ipam::Lease& lease : fresh) {
        const auto record = session.records.find_with_address(lease.space, lease.address.address());
        if (!record || owner_key(record->key) == owner_key(session.key) || record->owes_addresses()) continue;
        if (pods.probe(pod_of(*record)) != ipam::Liveness::dead)
            return GivenTwice{.lease = lease, .holder = attach::describe(*record)};
    }
    return std::nullopt;
}

/// As Allocator::allocate(), and never an address that a living attachment of this node has.
ipam::Allocation allocate_once(ipam::Store& store, ipam::Config config, const ipam::Owner& owner,
                               const std::vector<ipam::RequestedAddress>& requested, Session& session,
                               const base::Deadline& deadline) {
    PodProbe pods(session.node);
    std::vector<ipam::OwnerKey> reclaimed_from;
    for (;;) {
        ipam::Allocation allocation = ipam::Allocator(store, pods).allocate(config, owner, requested, deadline);
        reclaimed_from.insert(reclaimed_from.end(), allocation.reclaimed_from.begin(), allocation.reclaimed_from.end());
        const auto twice = find_given_twice(allocation.fresh, session, pods);
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
        const bool is_wanted =
            std::any_of(requested.begin(), requested.end(), [&](const auto& one) { return one.address == address; });
        if (!is_in_range || is_wanted)
            throw ipam::RequestedAddressTaken(fmt::format(
                "{}: delete that pod, or use another address; `rdmanet ipam check --repair` makes the lease "
                "again",
                has));
        session.node.log.warn(
            fmt::format("{}: it is not given again; `rdmanet ipam check --repair` makes the lease again", has));
    }
}

/// From the place that `config` has by now.
ipam::Allocation take_from_store(const ipam::Config& config, const cni::Request& request,
                                 state::AttachmentRecord& record, Session& session, const std::function<void()>& save,
                                 const base::Deadline& deadline) {
    const auto allocate_by = [&](const base::Deadline& until) {
        return [&, until](ipam::Store& store) {
            return allocate_once(store, config, owner_of(record), requested_addresses(request), session, until);
        };
    };
    ipam::Allocation allocation;
    auto where = lease_store_of(config);
    if (record.lease_store) require_same_store(*record.lease_store, where);
    session.node.log.info(describe_store(config.store));
    if (where) {
        // A quarter of the time is for the rollback.
        const base::Deadline until = session.node.clusters->until(deadline);
        allocation = SharedClaims(*std::move(where), config.store, record, session, save)
                         .take(allocate_by(until.at_most(until.remaining() / 4 * 3)));
        note_cluster(config.store, session.node);
    } else {
        allocation = allocate_by(deadline)(session.leases.store());
    }
    for (const std::string& warning : allocation.warnings) session.node.log.warn(warning);
    record.leases = to_recorded(allocation.leases);
    return allocation;
}

} // namespace

ipam::Allocation take_leases(const ipam::Config& config, const cni::Request& request, state::AttachmentRecord& record,
                             Session& session, const std::function<void()>& save, const base::Deadline& deadline) {
    const auto earlier = record.lease_store;
    bool has_claimed = false;
    const auto save_claim = [&] {
        has_claimed = true;
        save();
    };
    const auto settle = [&] {
        return settle_store(config, earlier, session.leases, session.node, session.records, deadline);
    };
    try {
        return take_from_store(settle(), request, record, session, save_claim, deadline);
    } catch (const cluster::RangeMoved&) {
        // Somebody has applied or deleted an AddressRange. A record has room for one place.
        if (has_claimed) throw;
        record.lease_store = earlier;
        return take_from_store(settle(), request, record, session, save, deadline);
    }
}

void with_store(const std::optional<state::LeaseStore>& where, ipam::Store& on_node, const Node& node,
                const state::AttachmentStore& records, const std::function<void(ipam::Store&)>& use) {
    if (!where) return use(on_node);
    SharedLeases(*where, node, records).ask(use);
}

cni::Dns chosen_dns(const cni::Dns& configured, const cni::Dns& from_ipam) {
    return configured.empty() ? from_ipam : configured;
}

cni::Result to_result(const ipam::Allocation& allocation) {
    cni::Result result;
    for (const ipam::AllocatedAddress& ip : allocation.ips)
        result.ips.push_back({.address = ip.address, .gateway = ip.gateway, .interface = {}});
    result.routes = allocation.routes;
    result.dns = allocation.dns;
    return result;
}

} // namespace rdmanet::attach
