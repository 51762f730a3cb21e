#include <rdmanet/attach/move_leases.hpp>

#include "block_leases.hpp"
#include "detach.hpp"
#include "leases.hpp"
#include "moved_ranges.hpp"
#include "network_store.hpp"
#include "node_store.hpp"
#include "regain_shared.hpp"
#include "shared_leases.hpp"

#include "owners/attachment.hpp"
#include "owners/liveness.hpp"

#include <rdmanet/base/file_lock.hpp>
#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/ipam/errors.hpp>
#include <rdmanet/state/state_directory.hpp>

#include <algorithm>
#include <chrono>
#include <optional>
#include <set>
#include <utility>
#include <variant>

namespace rdmanet::attach {
namespace {

using ipam::Lease;
using state::AttachmentRecord;
using Fate = LeaseMove::Fate;

constexpr std::chrono::seconds kLockTimeout{10}; // of one attachment, whose ADD or DEL may be running

/// Why an attachment's leases stay where they are.
class Stays : public base::Error {
public:
    using Error::Error;
};

state::AttachmentKey key_of_record(const ipam::OwnerKey& owner) {
    return {.network = owner.network, .container_id = owner.container_id, .ifname = owner.ifname};
}

std::vector<std::string> addresses_of(const std::vector<Lease>& leases) {
    std::vector<std::string> addresses;
    addresses.reserve(leases.size());
    for (const Lease& lease : leases) addresses.push_back(lease.address.to_string());
    return addresses;
}

const ipam::ConfiguredRange* range_of(const ipam::Config& network, const Lease& lease) {
    for (const ipam::ConfiguredRange& range : network.ranges)
        if (range.space == lease.space && range.range.family() == lease.address.family() &&
            range.range.bounds().contains(lease.address.address().value()))
            return &range;
    return nullptr;
}

bool has_lease_of(const ipam::Config& network, const AttachmentRecord& record) {
    const std::vector<Lease> leases = recorded_leases_of(record);
    return std::any_of(leases.begin(), leases.end(),
                       [&](const Lease& lease) { return range_of(network, lease) != nullptr; });
}

/// What both directions have in common.
class Moving {
public:
    Moving(const ipam::Config& network, const Node& node, DryRun dry_run)
        : network_(network), node_(node), is_dry_(dry_run == DryRun::yes), records_(node.records()),
          on_node_(node, records_), pods_(node) {}
    Moving(const Moving&) = delete;
    Moving& operator=(const Moving&) = delete;

protected:
    ~Moving() = default;

    /// The commands of a node run one after another.
    [[nodiscard]] base::FileLock lock_command() const {
        if (is_dry_) return {};
        state::require_directory(node_.state_directory);
        return {fmt::format("{}/migrate.lock", node_.state_directory), 0, "the lock of `rdmanet ipam migrate`",
                base::Deadline::in(kLockTimeout)};
    }

    [[nodiscard]] const ipam::ConfiguredRange* range_of(const Lease& lease) const {
        return attach::range_of(network_, lease);
    }
    [[nodiscard]] bool is_static(const Lease& lease) const {
        return std::any_of(network_.addresses.begin(), network_.addresses.end(), [&](const ipam::StaticAddress& given) {
            return given.space == lease.space && given.address == lease.address;
        });
    }
    void require_all_in_ranges(const std::vector<Lease>& leases) const {
        for (const Lease& lease : leases)
            if (range_of(lease) == nullptr && !is_static(lease))
                throw Stays(fmt::format("its address {} is in no range of this network: run the command with the "
                                        "network that has all of its ranges, {}",
                                        lease.address.address(), base::quoted(lease.owner.key.network)));
    }

    /// The record that has leases, whichever role it has. nullopt: there is none.
    [[nodiscard]] std::optional<AttachmentRecord> find_record(const ipam::OwnerKey& owner) const {
        std::optional<AttachmentRecord> found;
        for (const char* role : {"", state::kIpamRole}) {
            auto outcome = records_.load(key_of_record(owner).with_role(role));
            if (const auto* file = std::get_if<state::Unreadable>(&outcome))
                throw Stays(fmt::format("its record {} cannot be read: `rdmanet gc` says what to do", file->path));
            auto* record = std::get_if<AttachmentRecord>(&outcome);
            if (record == nullptr || (record->leases.empty() && !record->lease_store)) continue;
            // Each would say where the leases are. Its network was edited between two ADDs.
            if (found) throw Stays("it has two records in the journal: delete the pod");
            found = std::move(*record);
        }
        return found;
    }

    /// Whether the attachment lives. One that is dead is undone. Throws Stays if neither can be said.
    [[nodiscard]] bool lives(const AttachmentRecord& record, const base::Deadline& deadline) {
        const ipam::Verdict pod = pods_.probe(pod_of(record));
        if (pod == ipam::Liveness::dead) {
            undo(record, deadline);
            return false;
        }
        if (record.removal_unfinished) throw Stays("its DEL is unfinished: run `rdmanet gc` once the pod is gone");
        if (record.phase != state::Phase::attached) throw Stays("its ADD failed or was killed: delete the pod");
        if (pod != ipam::Liveness::alive)
            throw Stays(fmt::format("it is unknown whether its pod lives: {}", pod.reason));
        return true;
    }

    /// Takes back what the store of the cluster has beside the node's own, which has the leases.
    void give_back_beside(AttachmentRecord& record, const base::Deadline& deadline) {
        state::LeaseStore& store = *record.lease_store;
        const std::vector<Lease> released =
            SharedLeases(store, node_, records_).release(owner_key(record.key), recorded_leases_of(record), deadline);
        if (is_unsettled(record, node_.boot_id)) {
            for (const Lease& lease : released) note_inheritance(lease, store); // whose reservation may still come
            records_.save(record);
            throw Stays(fmt::format("store {} may still carry out a request that got no answer: run the command again "
                                    "in a minute",
                                    base::quoted(store.kind)));
        }
        record.lease_store.reset();
        records_.save(record);
    }

    const ipam::Config& network_;
    const Node& node_;
    bool is_dry_;
    state::AttachmentStore records_;
    NodeStore on_node_;
    PodProbe pods_;

private:
    void undo(const AttachmentRecord& record, const base::Deadline& deadline) {
        if (is_dry_) return;
        const StillHeld held = detach(record, {}, node_, records_, on_node_, deadline);
        if (!held.empty()) throw Stays(held.front());
        if (record.lease_store) require_given_back(record.key, records_);
    }
};

/// From the node's own store.
class MovingToCluster : Moving {
public:
    MovingToCluster(const ipam::Config& network, const Node& node, DryRun dry_run)
        : Moving(network, node, dry_run), where_(lease_store_of(network)) {}

    std::vector<LeaseMove> run() && {
        const base::FileLock lock = lock_command();
        // From here on, an ADD of the node's own store gives nothing back that moves now.
        if (!is_dry_) MovedRanges(node_).add(network_, where_->kind);
        const base::Deadline deadline = base::Deadline::in(kRegainTimeout);
        std::vector<Lease> all = is_dry_ ? on_node_.list_unrepaired(deadline) : on_node_.list(deadline);
        std::erase_if(all, [&](const Lease& lease) { return range_of(lease) == nullptr; });
        if (all.empty()) return {};
        if (!is_dry_) SharedLeases(*where_, node_, records_, adding()).record_ranges(network_, deadline);
        std::vector<ipam::OwnerKey> owners;
        for (const Lease& lease : all)
            if (std::find(owners.begin(), owners.end(), lease.owner.key) == owners.end())
                owners.push_back(lease.owner.key);
        if (!is_dry_) forget_store(network_, node_); // the next ADD asks
        std::vector<LeaseMove> moves;
        for (const ipam::OwnerKey& owner : owners)
            if (auto moved = move(owner)) moves.push_back(*std::move(moved));
        return moves;
    }

private:
    [[nodiscard]] Adding adding() const {
        return {.block_size = network_.store.block_size, .requestable = network_.store.requestable};
    }

    /// nullopt: its DEL has just released them.
    std::optional<LeaseMove> move(const ipam::OwnerKey& owner) {
        const auto deadline = base::Deadline::in(kRegainTimeout);
        std::optional<LeaseMove> result;
        try {
            base::FileLock lock;
            if (!is_dry_) lock = records_.lock(key_of_record(owner), deadline.at_most(kLockTimeout));
            const std::vector<Lease> leases =
                is_dry_ ? on_node_.store().find(owner, deadline) : on_node_.find(key_of_record(owner), deadline);
            if (leases.empty()) return std::nullopt;
            result = LeaseMove{
                .what = fmt::format("{} of {}", base::join(addresses_of(leases)), leases.front().owner.to_string()),
                .addresses = addresses_of(leases),
                .from = "node"};
            const auto record = find_record(owner);
            const bool is_alive = record ? lives(*record, deadline) : lives_unrecorded(leases, deadline);
            if (is_alive) move(*record, leases, deadline);
            result->fate = is_alive ? Fate::moved : Fate::released;
        } catch (const base::Error& error) {
            if (!result) result = LeaseMove{.what = attach::describe(AttachmentRecord{.key = key_of_record(owner)})};
            result->why = error.what();
        }
        return result;
    }

    /// Leases that no record leads to.
    [[nodiscard]] bool lives_unrecorded(const std::vector<Lease>& leases, const base::Deadline& deadline) {
        const ipam::Verdict pod = pods_.probe(leases.front().owner);
        if (pod == ipam::Liveness::alive)
            throw Stays("the journal has no record of it, and its pod is alive: delete the pod");
        if (pod != ipam::Liveness::dead)
            throw Stays(fmt::format("the journal has no record of it, and it is unknown whether its pod lives: {}",
                                    pod.reason));
        if (!is_dry_) (void)on_node_.store().reclaim(leases, deadline);
        return false;
    }

    /// In this order, so that at any moment DEL and GC give everything back, and CHECK looks where the leases are.
    void move(AttachmentRecord record, const std::vector<Lease>& leases, const base::Deadline& deadline) {
        require_all_in_ranges(leases);
        if (is_dry_) return;
        if (!record.lease_store || record.lease_store->is_beside) take_over(record, leases, deadline);
        on_node_.withdraw(record.key, leases, deadline);
        node_.log.info(fmt::format("leases of {} are in store {} now", attach::describe(record),
                                   base::quoted(record.lease_store->kind)));
    }

    void take_over(AttachmentRecord& record, const std::vector<Lease>& leases, const base::Deadline& deadline) {
        std::vector<Lease> wanted = leases;
        if (leaves_out_static_addresses(*where_))
            std::erase_if(wanted, [&](const Lease& lease) { return is_static(lease); });
        for (Lease& lease : wanted) lease.owner = owner_of(record);
        state::LeaseStore where = place_of(leases);
        if (record.lease_store) { // a call that was killed, perhaps for another store
            if (record.lease_store->kind != where.kind || record.lease_store->kubeconfig != where.kubeconfig)
                give_back_beside(record, deadline);
            else
                carry_over(*record.lease_store, where);
        }
        where.is_beside = true;
        record.lease_store = where;
        records_.save(record);
        std::string refused;
        for (const ipam::Regained& each : regain_shared(record, wanted, node_, records_, deadline))
            if (!each.refused.empty()) refused = fmt::format("{}: {}", each.lease.address.address(), each.refused);
        if (!refused.empty()) {
            try {
                give_back_beside(record, deadline);
            } catch (const base::Error& error) { // the next call does
                refused += fmt::format("; {}", error.what());
            }
            throw Stays(refused);
        }
        record.lease_store->is_beside = false;
        record.leases = to_recorded(wanted);
        records_.save(record);
    }

    /// As an ADD would say it: one pool for each address, in the order of the slots.
    [[nodiscard]] state::LeaseStore place_of(const std::vector<Lease>& leases) const {
        state::LeaseStore where = *where_;
        where.pools.clear();
        for (const Lease& lease : leases) {
            if (!is_static(lease))
                where.pools.push_back({.space = lease.space, .subnet = range_of(lease)->range.subnet().to_string()});
            else if (!leaves_out_static_addresses(where))
                where.pools.push_back({.space = lease.space, .subnet = lease.address.to_string()});
        }
        return where;
    }

    std::optional<state::LeaseStore> where_; // the kind decides: the network does not use the node's own store
};

/// Into the node's own store.
class MovingToNode : Moving {
public:
    using Moving::Moving;

    std::vector<LeaseMove> run() && {
        const base::FileLock lock = lock_command();
        std::vector<LeaseMove> moves;
        for (const AttachmentRecord& record : records_.list().records) {
            if (!is_meant(record)) continue;
            // An ADD in the node's own store would give what is still to come.
            if (!is_dry_ && moves.empty()) MovedRanges(node_).add(network_, record.lease_store->kind);
            if (auto moved = move(record.key)) moves.push_back(*std::move(moved));
        }
        const bool is_done =
            std::none_of(moves.begin(), moves.end(), [](const LeaseMove& one) { return one.fate == Fate::stays; });
        if (!is_dry_ && is_done) MovedRanges(node_).remove(network_);
        return moves;
    }

private:
    /// What the node's own store is to have: also the addresses that the configuration sets, where they are in no store.
    [[nodiscard]] std::vector<Lease> leases_of(const AttachmentRecord& record) const {
        std::vector<Lease> leases = recorded_leases_of(record);
        for (std::size_t at = 0; at < network_.addresses.size(); ++at) {
            const ipam::StaticAddress& given = network_.addresses[at];
            const std::vector<base::IpPrefix> its = record.prefixes();
            const bool is_leased = std::any_of(leases.begin(), leases.end(),
                                               [&](const Lease& lease) { return lease.address == given.address; });
            if (is_leased || std::find(its.begin(), its.end(), given.address) == its.end()) continue;
            leases.push_back({.space = given.space,
                              .slot = static_cast<unsigned>(network_.ranges.size() + at),
                              .address = given.address,
                              .owner = owner_of(record),
                              .since = record.created,
                              .cooldown = network_.cooldown});
        }
        return leases;
    }

    [[nodiscard]] bool is_meant(const AttachmentRecord& record) const {
        return record.lease_store && has_lease_of(network_, record);
    }

    /// nullopt: its DEL has just removed it.
    std::optional<LeaseMove> move(const state::AttachmentKey& key) {
        const auto deadline = base::Deadline::in(kRegainTimeout);
        LeaseMove result{.what = key.to_string()};
        try {
            base::FileLock lock;
            if (!is_dry_) lock = records_.lock(key, deadline.at_most(kLockTimeout));
            const auto record = find_record(owner_key(key));
            if (!record || !is_meant(*record)) return std::nullopt;
            const std::vector<Lease> leases = leases_of(*record);
            result.what = fmt::format("{} of {}", base::join(addresses_of(leases)), owner_of(*record).to_string());
            result.addresses = addresses_of(leases);
            result.from = record->lease_store->kind;
            const bool is_alive = lives(*record, deadline);
            if (is_alive) move(*record, leases, deadline);
            result.fate = is_alive ? Fate::moved : Fate::released;
        } catch (const base::Error& error) {
            result.why = error.what();
        }
        return result;
    }

    /// In this order, for the reason above.
    void move(AttachmentRecord record, const std::vector<Lease>& leases, const base::Deadline& deadline) {
        require_all_in_ranges(leases);
        if (is_dry_) return;
        if (!record.lease_store->is_beside) take_over(record, leases, deadline);
        give_back_beside(record, deadline);
        node_.log.info(fmt::format("leases of {} are in the store of this node now", attach::describe(record)));
    }

    void take_over(AttachmentRecord& record, const std::vector<Lease>& leases, const base::Deadline& deadline) {
        for (const ipam::Regained& each : on_node_.regain(leases, deadline)) {
            if (each.refused.empty()) continue;
            on_node_.withdraw(record.key, leases, deadline);
            throw Stays(fmt::format("{}: {}: delete the pod, so that it gets another address",
                                    each.lease.address.address(), each.refused));
        }
        record.lease_store->is_beside = true;
        record.leases = to_recorded(leases);
        records_.save(record);
    }
};

} // namespace

std::string_view to_string(LeaseMove::Fate fate) {
    switch (fate) {
    case Fate::moved: return "moved";
    case Fate::released: return "released";
    case Fate::stays: break;
    }
    return "stays";
}

std::optional<ipam::Config> network_to_move(const ipam::Config& network, std::string_view to, const Node& node) {
    const state::AttachmentStore records = node.records();
    const std::vector<Lease> leases = NodeStore(node, records).list_unrepaired(base::Deadline::in(kLockTimeout));
    if (std::none_of(leases.begin(), leases.end(), [&](const Lease& lease) { return range_of(network, lease); }))
        return std::nullopt;
    if (to == to_string(network.store.kind)) {
        ipam::Config config = network;
        config.store.open_to.clear();
        return config;
    }
    for (const auto& [kind, fit] : network.store.open_to)
        if (to == to_string(kind)) return ipam::settle_store(network, kind, "chosen by `rdmanet ipam migrate`");
    throw base::Error(fmt::format("this node has leases of the network's ranges in its own store, and the network uses "
                                  "store \"{}\": first set \"store\": \"{}\" in the network",
                                  network.store.kind, to));
}

std::vector<LeaseMove> move_leases_to_cluster(const ipam::Config& network, const Node& node, DryRun dry_run) {
    return MovingToCluster(network, node, dry_run).run();
}

std::vector<LeaseMove> move_leases_to_node(const ipam::Config& network, const Node& node, DryRun dry_run) {
    return MovingToNode(network, node, dry_run).run();
}

void give_back_blocks(const Node& node) {
    const state::AttachmentStore records = node.records();
    for (const std::string& failed : settle_blocks(node, records, base::Deadline::in(kRegainTimeout)))
        node.log.warn(failed);
}

} // namespace rdmanet::attach
