// ADD: everything is looked at before anything is changed, the lease comes before the journal's record, the record
// before the kernel. From the lease on, leaving without commit() undoes all of it.
#include "detach.hpp"
#include "prepare.hpp"
#include "recall.hpp"
#include "reclaim.hpp"
#include "session.hpp"

#include "lookup/adopted.hpp"
#include "lookup/request.hpp"
#include "lookup/state_place.hpp"
#include "owners/liveness.hpp"
#include "steps/device_info.hpp"
#include "steps/rdma_names.hpp"
#include "steps/registry.hpp"

#include <rdmanet/attach/operations.hpp>
#include <rdmanet/base/rollback.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/cni/error.hpp>
#include <rdmanet/ipam/allocator.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

namespace rdmanet::attach {
namespace {

using base::concat;
using state::AttachmentRecord;

/// The attachment was made by an ADD that succeeded, in this namespace. What the pod has done to its interface since is
/// its own matter, and a device with a driver for user space has none.
bool lives(const AttachmentRecord& record, const cni::Request& request, const Node& node, const PodSide& pod) {
    if (record.phase != state::Phase::attached || record.boot_id != node.boot_id) return false;
    const auto netns = find_recorded_netns(record, request.netns_path);
    return netns && *netns == pod.netns;
}

/// What other programs owe of an earlier ADD, as its record says now. Throws CniError if more than that is left.
std::vector<state::Step> debts_of(const Session& session, const StillHeld& held) {
    const auto outcome = session.records.load(session.key);
    const auto* owed = std::get_if<AttachmentRecord>(&outcome);
    const bool is_in_the_way = owed == nullptr || owed->steps.empty() || !owed->leases.empty() ||
                               !std::all_of(owed->steps.begin(), owed->steps.end(), state::holds_nothing);
    if (is_in_the_way)
        throw cni::CniError(cni::ErrorCode::state,
                            concat("an earlier ADD of this attachment left what can't be undone: ", held.front()));
    for (const std::string& what : held) session.node.log.warn(concat("left of an earlier ADD: ", what));
    return owed->steps;
}

/// What an earlier ADD of the attachment owes, unless DEL of this one pays it.
std::vector<state::Step> unpaid_of(std::vector<state::Step> debts, const AttachmentRecord& record) {
    std::erase_if(debts, [&](const state::Step& debt) {
        const auto* theirs = std::get_if<state::DelegateIpam>(&debt);
        const auto* ours = record.find_step<state::DelegateIpam>();
        return theirs != nullptr && ours != nullptr && theirs->plugin == ours->plugin && theirs->config == ours->config;
    });
    return debts;
}

/// A record that is already there is a crashed ADD, or an attachment whose namespace went without a DEL: undone first.
/// If the attachment lives, repeating ADD is an error (CNI specification, section 2, ADD) and it stays as it is.
/// What is left then holds nothing that this ADD needs, and goes over into its record.
std::vector<state::Step> undo_earlier_add(const cni::Request& request, PodSide& pod, Session& session,
                                          const base::Deadline& deadline) {
    const auto outcome = session.records.load(session.key);
    if (const auto* unreadable = std::get_if<state::Unreadable>(&outcome))
        session.node.log.error(concat("ignoring ", unreadable->path, ": ", unreadable->reason));
    if (const auto* record = std::get_if<AttachmentRecord>(&outcome)) {
        if (lives(*record, request, session.node, pod))
            throw cni::CniError(cni::ErrorCode::name_taken,
                                concat("the attachment (", session.key, ") is in ", request.netns_path,
                                       " already, from an earlier ADD: call DEL before another ADD"));
        const StillHeld held =
            detach(*record, caller_of(request), session.node, session.records, session.leases, deadline);
        if (!held.empty()) return debts_of(session, held);
    }
    return {};
}

/// prevResult's content with our interface and its addresses behind.
cni::Result complete(const cni::Request& request, const config::Config& config, const Conclusion& end,
                     const cni::Result& own) {
    cni::Result result = rest_of_prev_result(request, config);
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

/// For comparisons that have no configuration.
state::Wanted wanted_of(const config::RdmaPolicy& rdma) {
    return {.gids = rdma.wait_for_gids && rdma.on_missing_gid == config::OnMissingGid::refuse,
            .active_port = rdma.on_inactive_port == config::OnInactivePort::refuse,
            .most_gids = static_cast<std::uint32_t>(rdma.most_gids.value_or(0))};
}

/// The changes themselves, each preceded by what undoes it. Fills in the record as the steps learn.
class Attaching {
public:
    /// `lock` is the attachment's; `claim` is the device's, until the record says whose it is.
    Attaching(const AddContext& context, Session& session, Prepared prepared, std::vector<state::Step> debts,
              base::FileLock& lock, std::optional<base::FileLock> claim)
        : context_(context), session_(session), lock_(lock), claim_(std::move(claim)),
          found_(std::move(prepared.found)), steps_(std::move(prepared.steps)), debts_(std::move(debts)),
          record_(std::move(prepared.record)) {
        unpaid_ = unpaid_of(debts_, record_);
        update_record();
    }

    /// What has been begun, for undoing it: before the record of the steps is written only the lease, and what the
    /// record of an earlier ADD says.
    [[nodiscard]] AttachmentRecord begun() const {
        AttachmentRecord record = record_;
        if (!is_recorded_) record.steps = debts_;
        return record;
    }
    [[nodiscard]] const AttachmentRecord& record() const { return record_; }
    [[nodiscard]] const std::vector<ipam::Lease>& fresh_leases() const { return fresh_leases_; }
    [[nodiscard]] const std::vector<ipam::OwnerKey>& reclaimed_from() const { return reclaimed_from_; }

    cni::Result run() {
        Progress progress{.record = record_, .own = lease()};
        session_.records.save(record_);
        is_recorded_ = true;
        claim_.reset();
        if (found_.parent) found_.parent->claim.reset();
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
        if (own == nullptr) return adopt_addresses(context_.request, context_.config);
        PodProbe pods(session_.node);
        ipam::Allocator allocator(session_.leases, pods);
        const ipam::Allocation allocation =
            allocator.allocate(*own, owner_of(record_), requested_addresses(context_.request), context_.deadline);
        for (const std::string& warning : allocation.warnings) session_.node.log.warn(warning);
        record_.leases = to_recorded(allocation.leases);
        fresh_leases_ = allocation.fresh;
        reclaimed_from_ = allocation.reclaimed_from;
        return to_result(allocation);
    }

    void apply(std::size_t at, Progress& progress) {
        try {
            steps_[at]->apply(context_, progress);
        } catch (const cni::PluginError&) { // an IPAM plugin that refuses owes nothing
            update_record();
            save_if_possible();
            throw;
        } catch (...) { // the rollback needs what a step has learned before it failed
            update_record();
            throw;
        }
        bool is_changed = false;
        for (std::size_t later = at + 1; later < steps_.size(); ++later)
            if (steps_[later]->learn(context_, progress)) is_changed = true;
        update_record();
        if (is_changed) session_.records.save(record_);
    }

    /// What the steps know by now.
    void update_record() {
        record_.steps = unpaid_;
        for (state::Step& step : recorded(steps_)) record_.steps.push_back(std::move(step));
        record_.rdma_device = rdma_device_of(steps_);
    }

    /// Else the step is owed like that of an ADD that was killed.
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
    Findings found_;
    Steps steps_;
    std::vector<state::Step> debts_;
    std::vector<state::Step> unpaid_;
    AttachmentRecord record_;
    bool is_recorded_ = false;
    std::vector<ipam::Lease> fresh_leases_;
    std::vector<ipam::OwnerKey> reclaimed_from_;
};

/// One line in the log for each attachment: who has which device, since when, and how long it took.
void log_success(const AttachmentRecord& record, const base::Logger& log, const base::Deadline& deadline) {
    const std::string device = record.device();
    log.info(concat("ADD of ", describe(record), ": ", record.attach, device.empty() ? "" : " ", device,
                    record.rdma_device.empty() ? "" : ", RDMA device ", record.rdma_device, ", after ",
                    (kAddTimeout - deadline.remaining()).count(), " ms"));
}

} // namespace

cni::Result add(const cni::Request& request, const config::Config& config, const Node& node) {
    const auto deadline = base::Deadline::in(kAddTimeout);
    require_state_directory(node.state_directory);
    Session session(request, node);
    if (config.device_info_file) require_own_device_info(*config.device_info_file, session.key, session.records);
    settle_owed_names(name_keeper(session));
    Target target = find_target(request, config, session, deadline);
    if (target.moving) reclaim_device(to_string(*target.moving), session, deadline);
    std::optional<base::FileLock> lock = session.records.lock_for_add(session.key, deadline);
    std::vector<state::Step> debts = undo_earlier_add(request, target.pod, session, deadline);
    std::optional<base::FileLock> claim;
    if (target.moving) claim = session.records.lock_device(to_string(*target.moving), deadline);
    const AddContext context{request, config, session, target.pod, deadline};
    Attaching attaching(context, session, prepare(context, target.moving), std::move(debts), *lock, std::move(claim));
    base::Rollback rollback([&](const std::string& what, const char* why) { node.log.error(concat(what, ": ", why)); });
    rollback.on_failure("undo the failed ADD", [&] {
        undo_failed_add(attaching.begun(), attaching.fresh_leases(), caller_of(request), node, session.records,
                        session.leases);
    });
    cni::Result result = attaching.run();
    rollback.commit();
    log_success(attaching.record(), node.log, deadline);
    lock.reset();
    undo_reclaimed(attaching.reclaimed_from(), node, session.records, session.leases);
    return result;
}

} // namespace rdmanet::attach
