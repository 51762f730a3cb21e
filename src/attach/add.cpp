// ADD. It checks everything before it changes anything. It takes the lease, then writes the record, then changes the
// kernel. If it fails after it took the lease, the rollback undoes all of it.
#include "detach.hpp"
#include "prepare.hpp"
#include "recall.hpp"
#include "reclaim.hpp"
#include "session.hpp"

#include "lookup/chained_addresses.hpp"
#include "lookup/duplicates.hpp"
#include "lookup/request.hpp"
#include "owners/liveness.hpp"
#include "steps/child_link.hpp"
#include "steps/delegate.hpp"
#include "steps/device_info.hpp"
#include "steps/rdma_names.hpp"
#include "steps/registry.hpp"

#include <rdmanet/attach/operations.hpp>
#include <rdmanet/base/format.hpp>
#include <rdmanet/base/rollback.hpp>
#include <rdmanet/cni/error.hpp>
#include <rdmanet/ipam/allocator.hpp>
#include <rdmanet/state/state_directory.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

namespace rdmanet::attach {
namespace {

using state::AttachmentRecord;

/// Whether an earlier ADD attached it to this namespace. The interface is not looked at: the pod may have changed it,
/// and a device with a driver for user space has none.
bool is_attached(const AttachmentRecord& record, const cni::Request& request, const Node& node, const PodSide& pod) {
    if (record.phase != state::Phase::attached || record.boot_id != node.boot_id) return false;
    const auto netns = find_recorded_netns(record, request.netns_path);
    return netns && *netns == pod.netns;
}

/// The steps of an earlier ADD that could not be undone, if they concern only other programs. Throws CniError if a
/// device, link or lease is left.
std::vector<state::Step> remaining_steps_of(const Session& session, const StillHeld& held) {
    const auto outcome = session.records.load(session.key);
    const auto* left = std::get_if<AttachmentRecord>(&outcome);
    const bool holds_something = left == nullptr || left->steps.empty() || !left->leases.empty() ||
                                 !std::all_of(left->steps.begin(), left->steps.end(), state::is_for_others);
    if (holds_something)
        throw cni::CniError(
            cni::ErrorCode::state,
            fmt::format("an earlier ADD of this attachment cannot be undone: {}; correct that, then try "
                        "again",
                        held.front()));
    for (const std::string& what : held)
        session.node.log.warn(fmt::format("an earlier ADD is not completely undone: {}", what));
    return left->steps;
}

/// `remaining` without the steps that this ADD's own record also undoes: the same call of the same IPAM plugin.
std::vector<state::Step> without_own_steps(std::vector<state::Step> remaining, const AttachmentRecord& record) {
    std::erase_if(remaining, [&](const state::Step& step) {
        return std::any_of(record.steps.begin(), record.steps.end(),
                           [&](const state::Step& own) { return undoes_too(own, step); });
    });
    return remaining;
}

/// What is left of an earlier ADD and holds nothing that this ADD needs. Both move into its record.
struct Earlier {
    std::vector<state::Step> steps{};
    std::optional<state::LeaseStore> lease_store{}; // in which a request of it may still be carried out
};

/// Throws CniError if leases of an earlier ADD in a store of the cluster could not be given back.
std::optional<state::LeaseStore> unsettled_store_of(const Session& session) {
    const auto outcome = session.records.load(session.key);
    const auto* record = std::get_if<AttachmentRecord>(&outcome);
    if (record == nullptr || !record->lease_store) return std::nullopt;
    if (!record->lease_store->is_released)
        throw cni::CniError(cni::ErrorCode::try_again_later,
                            fmt::format("the lease store did not take back the addresses of an earlier ADD of {}: see "
                                        "the log for the reason",
                                        session.key));
    return record->lease_store;
}

/// Undoes what an existing record describes: an ADD that was killed, or an attachment whose namespace is gone and
/// whose DEL never came. If the attachment lives, a second ADD is an error (CNI specification, section 2, ADD) and
/// changes nothing.
Earlier undo_earlier_add(const cni::Request& request, PodSide& pod, Session& session, const base::Deadline& deadline) {
    const auto outcome = session.records.load(session.key);
    if (const auto* unreadable = std::get_if<state::Unreadable>(&outcome))
        session.node.log.error(fmt::format("record {} of an earlier ADD cannot be read and is ignored: {}",
                                           unreadable->path, unreadable->reason));
    if (const auto* record = std::get_if<AttachmentRecord>(&outcome)) {
        if (is_attached(*record, request, session.node, pod))
            throw cni::CniError(
                cni::ErrorCode::name_taken,
                fmt::format("the attachment ({}) already exists in {}: delete the pod, and its DEL removes it",
                            session.key, request.netns_path));
        const StillHeld held =
            detach(*record, caller_of(request), session.node, session.records, session.leases, deadline);
        Earlier left;
        if (!held.empty()) left.steps = remaining_steps_of(session, held);
        left.lease_store = unsettled_store_of(session);
        return left;
    }
    return {};
}

/// prevResult, followed by our interface and its addresses.
cni::Result complete(const cni::Request& request, const config::Config& config, const Conclusion& end,
                     const cni::Result& own) {
    cni::Result result = prev_result_without_chained_addresses(request, config);
    const auto index = static_cast<unsigned>(result.interfaces.size());
    result.interfaces.push_back(end.interface);
    if (end.on_host) result.interfaces.push_back(*end.on_host);
    for (cni::IpConfig ip : own.ips) {
        ip.interface = index;
        result.ips.push_back(ip);
    }
    result.routes.insert(result.routes.end(), own.routes.begin(), own.routes.end());
    const cni::Dns ours = chosen_dns(request.conf.dns, own.dns);
    if (!ours.empty()) result.dns = ours;
    return result;
}

/// What `rdmanet check` needs to know of the configuration, which it does not have.
state::Wanted wanted_of(const config::RdmaPolicy& rdma) {
    return {.gids = rdma.wait_for_gids && rdma.on_missing_gid == config::OnMissingGid::refuse,
            .active_port = rdma.on_inactive_port == config::OnInactivePort::refuse,
            .most_gids = static_cast<std::uint32_t>(rdma.most_gids.value_or(0))};
}

/// Applies the steps. The record has each step before it is applied, and is updated with what the steps learn.
class Attaching {
public:
    /// `lock` is the attachment's lock. `claim` is that of the device or parent, held until the record is written.
    Attaching(const AddContext& context, Session& session, Prepared prepared, Earlier earlier, base::FileLock& lock,
              std::optional<base::FileLock> claim)
        : context_(context), session_(session), lock_(lock), claim_(std::move(claim)),
          steps_(std::move(prepared.steps)), earlier_steps_(std::move(earlier.steps)),
          record_(std::move(prepared.record)) {
        record_.lease_store = std::move(earlier.lease_store);
        kept_steps_ = without_own_steps(earlier_steps_, record_);
        update_record();
    }

    /// What the rollback must undo. Before the record is written, that is the lease and the steps of an earlier ADD.
    [[nodiscard]] AttachmentRecord record_to_undo() const {
        AttachmentRecord record = record_;
        if (!is_recorded_) record.steps = earlier_steps_;
        return record;
    }
    [[nodiscard]] const AttachmentRecord& record() const { return record_; }
    [[nodiscard]] const std::vector<ipam::Lease>& fresh_leases() const { return fresh_leases_; }
    [[nodiscard]] const std::vector<ipam::OwnerKey>& reclaimed_from() const { return reclaimed_from_; }

    cni::Result run() {
        Progress progress{.record = record_, .own = lease()};
        session_.records.save(record_);
        is_recorded_ = true;
        PodProbe pods(session_.node);
        session_.leases.note_addresses(record_, pods, context_.deadline);
        claim_.reset();
        for (std::size_t at = 0; at < steps_.size(); ++at) apply(at, progress);
        for (const cni::IpConfig& ip : progress.own.ips) record_.ips.push_back(ip.address.to_string());
        for (const cni::Route& route : progress.own.routes) record_.routes.push_back(route.destination.to_string());
        record_.wanted = wanted_of(context_.config.rdma);
        const Conclusion end = conclude(progress);
        commit(record_, lock_, session_.node, session_.records, context_.deadline);
        if (context_.config.is_rdma_only()) return context_.request.conf.prev_result.value_or(cni::Result{});
        return complete(context_.request, context_.config, end, progress.own);
    }

private:
    cni::Result lease() {
        const auto* own = std::get_if<ipam::Config>(&context_.config.ipam);
        if (own == nullptr) return chained_addresses(context_.request, context_.config);
        PodProbe pods(session_.node);
        const ipam::Allocation allocation = session_.leases.take(
            *own, requested_addresses(context_.request), record_, pods,
            [this] { session_.records.save(record_to_undo()); }, context_.deadline);
        fresh_leases_ = allocation.fresh;
        reclaimed_from_ = allocation.reclaimed_from;
        return to_result(allocation);
    }

    void apply(std::size_t at, Progress& progress) {
        try {
            steps_[at]->apply(context_, progress);
        } catch (const cni::PluginError&) { // an IPAM plugin that refused holds nothing: the record must say so
            update_record();
            save_if_possible();
            throw;
        } catch (const AddressInUse& error) {
            for (ipam::Lease& lease : fresh_leases_)
                if (lease.address.address() == error.address()) lease.owner = {}; // so it rests: Store::withdraw()
            update_record();
            throw;
        } catch (...) { // the rollback needs what the step learned before it failed
            update_record();
            throw;
        }
        bool must_be_saved = false;
        for (std::size_t later = at + 1; later < steps_.size(); ++later)
            if (steps_[later]->learn(context_, progress)) must_be_saved = true;
        if (must_be_saved || std::exchange(progress.has_learned, false)) update_record();
        if (must_be_saved) session_.records.save(record_);
    }

    /// Writes what the steps have learned into the record.
    void update_record() {
        record_.steps = kept_steps_;
        for (state::Step& step : recorded(steps_)) record_.steps.push_back(std::move(step));
        record_.rdma_device = rdma_device_of(steps_);
    }

    /// If this fails, the record still lists the step as if ADD had been killed, and DEL undoes it.
    void save_if_possible() try { session_.records.save(record_); } catch (const base::Error& error) {
        session_.node.log.error(error.what());
    }

    Conclusion conclude(const Progress& progress) {
        Conclusion end{
            .interface = {.name = context_.request.ifname().to_string(), .sandbox = context_.request.netns_path},
            .record = record_};
        for (const auto& step : steps_) step->conclude(context_, progress, end);
        return end;
    }

    const AddContext& context_;
    Session& session_;
    base::FileLock& lock_;
    std::optional<base::FileLock> claim_;
    Steps steps_;
    std::vector<state::Step> earlier_steps_; // left by an earlier ADD
    std::vector<state::Step> kept_steps_;    // those of them that stay in the record beside our own
    AttachmentRecord record_;
    bool is_recorded_ = false;
    std::vector<ipam::Lease> fresh_leases_;
    std::vector<ipam::OwnerKey> reclaimed_from_;
};

/// One line in the log for each attachment: the pod, its device, and how long ADD took.
void log_success(const AttachmentRecord& record, const base::Logger& log, const base::Deadline& deadline) {
    std::string made = record.attach;
    if (const std::string device = record.device(); !device.empty()) made += fmt::format(" {}", device);
    if (!record.rdma_device.empty()) made += fmt::format(", RDMA device {}", record.rdma_device);
    log.info(fmt::format("ADD of {}: {}, after {} ms", describe(record), made,
                         (kAddTimeout - deadline.remaining()).count()));
}

} // namespace

cni::Result add(const cni::Request& request, const config::Config& config, const Node& node) {
    const auto deadline = base::Deadline::in(kAddTimeout);
    state::require_directory(node.state_directory); // before a dead pod's device is taken back
    Session session(request, node);
    if (const auto* own = std::get_if<ipam::Config>(&config.ipam)) session.leases.allow(own->store.limits.add);
    if (config.device_info_file) require_own_device_info(*config.device_info_file, session.key, session.records);
    restore_waiting_names(name_keeper(session));
    Target target = find_target(request, config, session, deadline);
    if (target.moving) reclaim_device(to_string(*target.moving), session, deadline);
    std::optional<base::FileLock> lock = session.records.lock_for_add(session.key, deadline);
    Earlier earlier = undo_earlier_add(request, target.pod, session, deadline);
    kernel::Socket host = kernel::Socket::open(kernel::Protocol::route, deadline);
    const AddContext context{request, config, session, target.pod, host, deadline};
    std::optional<base::FileLock> claim;
    std::optional<LockedParent> parent;
    if (target.moving)
        claim = session.records.lock_device(to_string(*target.moving), deadline);
    else
        parent = lock_parent(context);
    Prepared prepared = prepare(context, target.moving, parent ? &parent->link : nullptr);
    if (parent) claim = std::move(parent->lock);
    Attaching attaching(context, session, std::move(prepared), std::move(earlier), *lock, std::move(claim));
    base::Rollback rollback(
        [&](const std::string& what, const char* why) { node.log.error(fmt::format("{}: {}", what, why)); });
    rollback.on_failure("undo the failed ADD", [&] {
        undo_failed_add(attaching.record_to_undo(), attaching.fresh_leases(), caller_of(request), node, session.records,
                        session.leases);
    });
    cni::Result result = attaching.run();
    rollback.commit();
    log_success(attaching.record(), node.log, deadline);
    lock.reset();
    undo_reclaimed(attaching.reclaimed_from(), node, session.records, session.leases);
    if (attaching.record().lease_store) pay_owed_addresses_soon(node, session.records, session.leases);
    return result;
}

} // namespace rdmanet::attach
