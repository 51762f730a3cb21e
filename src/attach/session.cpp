#include "session.hpp"

#include "block_leases.hpp"
#include "clusters.hpp"
#include "network_store.hpp"
#include "one_store.hpp"
#include "shared_leases.hpp"
#include "shared_ranges.hpp"

#include "lookup/request.hpp"
#include "owners/liveness.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/ipam/errors.hpp>

#include <chrono>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

namespace rdmanet::attach {
namespace {

/// While this ADD ran, another store may have given leases of the range.
void require_still_on_node(const ipam::Config& config, const ipam::Allocation& allocation, Session& session,
                           const base::Deadline& deadline) {
    if (allocation.fresh.empty()) return;
    try {
        require_in_one_store(config, session.leases, session.node, session.records, deadline);
    } catch (const ipam::StoreError&) {
        session.leases.withdraw(session.key, allocation.fresh, deadline);
        throw;
    }
}

/// An ADD's claims in the cluster's store at `where`. The record says so before the first claim is sent, in case this
/// process is killed, and afterwards what may still become of claims without an answer.
class SharedClaims {
public:
    struct Hooks {
        std::function<void()> save; // the record
        std::function<void()> look; // throws if the first claim must not be sent
    };

    SharedClaims(state::LeaseStore where, const ipam::StoreChoice& choice, state::AttachmentRecord& record,
                 Session& session, Hooks hooks)
        : where_(std::move(where)), limit_(choice.limits.add), record_(record), earlier_(record.lease_store),
          session_(session), hooks_(std::move(hooks)), store_(open(choice)) {}

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
    SharedLeases open(const ipam::StoreChoice& choice) {
        if (earlier_) carry_over(*earlier_, where_);
        // In blocks, undoing this ADD looks however far it has come.
        if (!takes_late_claims(where_)) record_.lease_store = where_;
        return {where_,
                session_.node,
                session_.records,
                {.before_claim = [this](const ipam::Lease&) { before_claim(); },
                 .before_inheritance = [this](const ipam::Lease& lease) { before_inheritance(lease); },
                 .block_size = choice.block_size,
                 .requestable = choice.requestable}};
    }

    /// False: an earlier claim has noted it.
    bool note() {
        if (has_claimed_) return false;
        if (takes_late_claims(where_)) SharedRanges(session_.node).add(where_);
        has_claimed_ = true;
        record_.lease_store = store_.where();
        if (!takes_late_claims(where_)) return true;
        record_.lease_store->has_open_claim = true;
        record_.lease_store->unsettled_until =
            ipam::system_time().boot + std::chrono::ceil<std::chrono::seconds>(limit_ + kLateAnswer).count();
        return true;
    }
    void before_claim() {
        const bool is_first = note();
        if (is_first) hooks_.save();
        if (std::exchange(has_looked_, true)) return;
        try {
            hooks_.look();
        } catch (...) {
            if (is_first) { // nothing was sent
                has_claimed_ = false;
                record_.lease_store = earlier_;
            }
            throw;
        }
    }
    void before_inheritance(const ipam::Lease& lease) {
        (void)note();
        note_inheritance(lease, *record_.lease_store);
        hooks_.save();
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
    std::optional<state::LeaseStore> earlier_;
    Session& session_;
    Hooks hooks_;
    bool has_claimed_ = false;
    bool has_looked_ = false;
    SharedLeases store_; // calls this object
};

/// From the store that `config` has by now.
ipam::Allocation take_from_store(const ipam::Config& config, const cni::Request& request,
                                 state::AttachmentRecord& record, Session& session, const std::function<void()>& save,
                                 const base::Deadline& deadline) {
    PodProbe pods(session.node);
    const auto allocate_by = [&](const base::Deadline& until) {
        return [&, until](ipam::Store& store) {
            return ipam::Allocator(store, pods).allocate(config, owner_of(record), requested_addresses(request), until);
        };
    };
    ipam::Allocation allocation;
    auto where = lease_store_of(config);
    if (record.lease_store) require_same_store(*record.lease_store, where);
    if (!config.store.why.empty()) session.node.log.info(describe_store(config.store));
    if (where) {
        const auto require_one_store = [&] {
            require_in_one_store(config, session.leases, session.node, session.records, deadline);
        };
        require_one_store();
        const bool is_in_blocks = config.store.kind == ipam::StoreKind::blocks;
        // A quarter of the time is for the rollback.
        const base::Deadline until = session.node.clusters->until(deadline);
        allocation =
            SharedClaims(*std::move(where), config.store, record, session,
                         {.save = save, .look = is_in_blocks ? std::function<void()>([] {}) : require_one_store})
                .take(allocate_by(until.at_most(until.remaining() / 4 * 3)));
        // The rollback gives it back.
        if (is_in_blocks && !allocation.fresh.empty()) require_one_store();
        require_given_once(allocation.fresh, config, session.node, session.records);
    } else {
        allocation = allocate_by(deadline)(session.leases.store());
        require_still_on_node(config, allocation, session, deadline);
    }
    for (const std::string& warning : allocation.warnings) session.node.log.warn(warning);
    record.leases = to_recorded(allocation.leases);
    return allocation;
}

} // namespace

ipam::Allocation take_leases(const ipam::Config& config, const cni::Request& request, state::AttachmentRecord& record,
                             Session& session, const std::function<void()>& save, const base::Deadline& deadline) {
    const auto earlier = record.lease_store;
    const ipam::Config settled = settle_store(config, earlier, session.leases, session.node, deadline);
    bool has_claimed = false;
    const auto save_claim = [&] {
        has_claimed = true;
        save();
    };
    try {
        return take_from_store(settled, request, record, session, save_claim, deadline);
    } catch (const ipam::StoreError& error) {
        if (config.store.open_to.empty() || error.temporary()) throw;
        // Perhaps the cluster has recorded another store since this node has asked.
        forget_store(config, session.node);
        const ipam::Config anew =
            settle_store(config, session.leases, session.node, AskCluster::if_unrecorded, deadline);
        // A record has room for one store. The next ADD asks the other one.
        if (anew.store.kind == settled.store.kind || has_claimed) throw;
        record.lease_store = earlier;
        return take_from_store(anew, request, record, session, save, deadline);
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
