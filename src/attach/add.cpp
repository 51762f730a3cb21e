// ADD. It checks everything before it changes anything. It takes the lease, then writes the record, then changes the
// kernel. If it fails after it took the lease, the rollback undoes all of it.
#include "detach.hpp"
#include "plan.hpp"
#include "recall.hpp"
#include "reclaim.hpp"
#include "result.hpp"

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
bool is_attached(const AttachmentRecord& record, const Call& call) {
    if (record.phase != state::Phase::attached || record.boot_id != call.node.boot_id) return false;
    const auto netns = find_recorded_netns(record, call.request->netns_path);
    return netns && *netns == call.pod->netns;
}

/// Throws CniError if what an earlier ADD left is a device, link or lease. What concerns only other programs may stay.
void require_nothing_held(const AttachmentRecord* left, const StillHeld& held, const Call& call) {
    const bool holds_something = left == nullptr || left->steps.empty() || !left->leases.empty() ||
                                 !std::all_of(left->steps.begin(), left->steps.end(), state::is_for_others);
    if (holds_something)
        throw cni::CniError(
            cni::ErrorCode::state,
            fmt::format("an earlier ADD of this attachment cannot be undone: {}; correct that, then try "
                        "again",
                        held.front()));
    for (const std::string& what : held)
        call.log.warn(fmt::format("an earlier ADD is not completely undone: {}", what));
}

/// Undoes what an existing record describes: an ADD that was killed, or an attachment whose namespace is gone and
/// whose DEL never came. If the attachment lives, a second ADD is an error (CNI specification, section 2, ADD) and
/// changes nothing. Returns what is left and holds nothing that this ADD needs: steps for other programs, and the
/// lease store in which a request may still be carried out. Both move into this ADD's record.
std::optional<AttachmentRecord> undo_earlier_add(const Call& call) {
    auto outcome = call.records.load(call.key);
    if (const auto* unreadable = std::get_if<state::Unreadable>(&outcome))
        call.log.error(fmt::format("record {} of an earlier ADD cannot be read and is ignored: {}", unreadable->path,
                                   unreadable->reason));
    const auto* record = std::get_if<AttachmentRecord>(&outcome);
    if (record == nullptr) return std::nullopt;
    if (is_attached(*record, call))
        throw cni::CniError(
            cni::ErrorCode::name_taken,
            fmt::format("the attachment ({}) already exists in {}: delete the pod, and its DEL removes it", call.key,
                        call.request->netns_path));
    const StillHeld held = detach(*record, call.to_undo(call.deadline));
    outcome = call.records.load(call.key);
    auto* left = std::get_if<AttachmentRecord>(&outcome);
    if (!held.empty()) require_nothing_held(left, held, call);
    if (left == nullptr) return std::nullopt;
    if (left->lease_store && !left->lease_store->is_released)
        throw cni::CniError(cni::ErrorCode::try_again_later,
                            fmt::format("the lease store did not take back the addresses of an earlier ADD of {}: see "
                                        "the log for the reason",
                                        call.key));
    if (held.empty()) left->steps.clear();
    return std::move(*left);
}

/// prevResult, followed by our interface and its addresses.
cni::Result complete(const Call& call, const Conclusion& end, const cni::Result& own) {
    cni::Result result = prev_result_without_chained_addresses(*call.request, *call.config);
    const auto index = static_cast<unsigned>(result.interfaces.size());
    result.interfaces.push_back(end.interface);
    if (end.on_host) result.interfaces.push_back(*end.on_host);
    for (cni::IpConfig ip : own.ips) {
        ip.interface = index;
        result.ips.push_back(ip);
    }
    result.routes.insert(result.routes.end(), own.routes.begin(), own.routes.end());
    const cni::Dns ours = chosen_dns(call.request->conf.dns, own.dns);
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
    /// `earlier` is what undo_earlier_add() left.
    Attaching(const Call& call, Plan plan, std::optional<AttachmentRecord> earlier)
        : call_(call), steps_(std::move(plan.steps)), record_(std::move(plan.record)) {
        if (earlier) {
            record_.lease_store = std::move(earlier->lease_store);
            earlier_steps_ = std::move(earlier->steps);
        }
        kept_steps_ = earlier_steps_;
        std::erase_if(kept_steps_, [&](const state::Step& step) { // this ADD's own record also undoes them
            return std::any_of(record_.steps.begin(), record_.steps.end(),
                               [&](const state::Step& own) { return undoes_too(own, step); });
        });
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

    /// `lock` is the attachment's lock. `claim` is that of the device or parent, held until the record is written.
    cni::Result run(base::FileLock& lock, std::optional<base::FileLock> claim) {
        Progress progress{.record = record_, .own = lease()};
        call_.records.save(record_);
        is_recorded_ = true;
        PodProbe pods(call_.node);
        call_.leases.note_addresses(record_, pods, call_.deadline);
        claim.reset();
        for (std::size_t at = 0; at < steps_.size(); ++at) apply(at, progress);
        for (const cni::IpConfig& ip : progress.own.ips) record_.ips.push_back(ip.address.to_string());
        for (const cni::Route& route : progress.own.routes) record_.routes.push_back(route.destination.to_string());
        record_.wanted = wanted_of(call_.config->rdma);
        const Conclusion end = conclude(progress);
        commit(record_, lock, call_);
        if (call_.config->is_rdma_only()) return call_.request->conf.prev_result.value_or(cni::Result{});
        return complete(call_, end, progress.own);
    }

private:
    cni::Result lease() {
        const auto* own = std::get_if<ipam::Config>(&call_.config->ipam);
        if (own == nullptr) return chained_addresses(*call_.request, *call_.config);
        PodProbe pods(call_.node);
        const ipam::Allocation allocation = call_.leases.take(
            *own, requested_addresses(*call_.request), record_, pods, [this] { call_.records.save(record_to_undo()); },
            call_.deadline);
        fresh_leases_ = allocation.fresh;
        reclaimed_from_ = allocation.reclaimed_from;
        return to_result(allocation);
    }

    void apply(std::size_t at, Progress& progress) {
        try {
            steps_[at]->apply(call_, progress);
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
            if (steps_[later]->learn(call_, progress)) must_be_saved = true;
        if (must_be_saved || std::exchange(progress.has_learned, false)) update_record();
        if (must_be_saved) call_.records.save(record_);
    }

    /// Writes what the steps have learned into the record.
    void update_record() {
        record_.steps = kept_steps_;
        for (state::Step& step : recorded(steps_)) record_.steps.push_back(std::move(step));
        record_.rdma_device = rdma_device_of(steps_);
    }

    /// If this fails, the record still lists the step as if ADD had been killed, and DEL undoes it.
    void save_if_possible() try { call_.records.save(record_); } catch (const base::Error& error) {
        call_.log.error(error.what());
    }

    Conclusion conclude(const Progress& progress) {
        Conclusion end{.interface = {.name = call_.request->ifname().to_string(), .sandbox = call_.request->netns_path},
                       .record = record_};
        for (const auto& step : steps_) step->conclude(call_, progress, end);
        return end;
    }

    const Call& call_;
    Steps steps_;
    std::vector<state::Step> earlier_steps_; // left by an earlier ADD
    std::vector<state::Step> kept_steps_;    // those of them that stay in the record beside our own
    AttachmentRecord record_;
    bool is_recorded_ = false;
    std::vector<ipam::Lease> fresh_leases_;
    std::vector<ipam::OwnerKey> reclaimed_from_;
};

/// One line in the log for each attachment: the pod, its device, and how long ADD took.
void log_success(const AttachmentRecord& record, const Call& call) {
    std::string made = record.attach;
    if (const std::string device = record.device(); !device.empty()) made += fmt::format(" {}", device);
    if (!record.rdma_device.empty()) made += fmt::format(", RDMA device {}", record.rdma_device);
    call.log.info(fmt::format("ADD of {}: {}, after {} ms", describe(record), made,
                              (kAddTimeout - call.deadline.remaining()).count()));
}

} // namespace

cni::Result add(const cni::Request& request, const config::Config& config, const Node& node) {
    Call call(node, base::Deadline::in(kAddTimeout), request);
    call.config = &config;
    state::require_directory(node.state_directory); // before a dead pod's device is taken back
    if (const auto* own = std::get_if<ipam::Config>(&config.ipam)) call.leases.allow(own->store.limits.add);
    if (config.device_info_file) require_own_device_info(*config.device_info_file, call.key, call.records);
    restore_waiting_names(call);
    require_possible(call);
    PodSide pod = open_pod_side(request, call.deadline);
    kernel::Socket host = kernel::Socket::open(kernel::Protocol::route, call.deadline);
    call.pod = &pod;
    call.host = &host;
    std::optional<Movable> moving;
    if (config.is_device()) moving = find_movable(call);
    if (moving) reclaim_device(to_string(*moving), call);
    std::optional<base::FileLock> lock = call.records.lock_for_add(call.key, call.deadline);
    std::optional<AttachmentRecord> earlier = undo_earlier_add(call);
    std::optional<base::FileLock> claim;
    std::optional<LockedParent> parent;
    if (moving)
        claim = call.records.lock_device(to_string(*moving), call.deadline);
    else
        parent = lock_parent(call);
    Attaching attaching(call, plan(call, moving, parent ? &parent->link : nullptr), std::move(earlier));
    if (parent) claim = std::move(parent->lock);
    base::Rollback rollback(
        [&](const std::string& what, const char* why) { call.log.error(fmt::format("{}: {}", what, why)); });
    rollback.on_failure("undo the failed ADD",
                        [&] { undo_failed_add(attaching.record_to_undo(), attaching.fresh_leases(), call); });
    cni::Result result = attaching.run(*lock, std::move(claim));
    rollback.commit();
    log_success(attaching.record(), call);
    lock.reset();
    undo_reclaimed(attaching.reclaimed_from(), call);
    if (attaching.record().lease_store) pay_owed_addresses_soon(call);
    return result;
}

} // namespace rdmanet::attach
