// ADD: everything is looked at before anything is changed, the lease comes before the journal's record, the record
// before the kernel. From the lease on, leaving without commit() undoes all of it.
#include "detach.hpp"
#include "prepare.hpp"
#include "recall.hpp"
#include "reclaim.hpp"
#include "session.hpp"

#include "lookup/adopted.hpp"
#include "lookup/ipoib.hpp"
#include "lookup/request.hpp"
#include "lookup/shared_rdma.hpp"
#include "owners/claims.hpp"
#include "owners/gid_holders.hpp"
#include "owners/liveness.hpp"
#include "owners/mark.hpp"
#include "steps/addressing.hpp"
#include "steps/device_info.hpp"
#include "steps/device_port.hpp"
#include "steps/move_rdma.hpp"
#include "steps/registry.hpp"
#include "steps/rdma_names.hpp"
#include "steps/vf_settings.hpp"

#include <rdmanet/attach/operations.hpp>
#include <rdmanet/base/rollback.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/cni/delegate.hpp>
#include <rdmanet/cni/error.hpp>
#include <rdmanet/ipam/allocator.hpp>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

namespace rdmanet::attach {
namespace {

using base::concat;
using base::quoted;
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

/// The record with what an earlier ADD of the attachment owes, unless DEL of this one pays it.
void take_over(const std::vector<state::Step>& debts, AttachmentRecord& record) {
    const auto is_paid = [&](const state::Step& debt) {
        const auto* theirs = std::get_if<state::DelegateIpam>(&debt);
        const auto* ours = record.find_step<state::DelegateIpam>();
        return theirs != nullptr && ours != nullptr && theirs->plugin == ours->plugin && theirs->config == ours->config;
    };
    std::vector<state::Step> unpaid = debts;
    std::erase_if(unpaid, is_paid);
    record.steps.insert(record.steps.begin(), unpaid.begin(), unpaid.end());
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
                                       " already, made by an earlier ADD: DEL comes before another ADD"));
        const StillHeld held =
            detach(*record, caller_of(request), session.node, session.records, session.leases, deadline);
        if (!held.empty()) return debts_of(session, held);
    }
    return {};
}

cni::Result ask_delegate(const cni::Request& request, const state::DelegateIpam& step, const base::Deadline& deadline) {
    cni::Result result = cni::delegate_add(cni::delegate_call(request, step.plugin), deadline);
    if (result.ips.empty())
        throw cni::CniError(cni::ErrorCode::delegate,
                            concat("IPAM plugin ", quoted(step.plugin), " returned no address"));
    return result;
}

std::optional<unsigned> mtu_of(const kernel::Link& link, const Plan& plan, PodSide& pod,
                               const base::Deadline& deadline) {
    if (link.kind != "ipoib") return link.mtu;
    if (const auto* child = std::get_if<ChildPlan>(&plan)) return mtu_when_joined(link, &child->parent);
    const auto& vf = std::get<DevicePlan>(plan).vf;
    kernel::Socket route = kernel::Socket::open(kernel::Protocol::route, deadline);
    const auto pf = vf ? kernel::find_link(route, vf->id.pf_ifindex) : std::nullopt;
    const kernel::Link now = kernel::find_link(pod.route, link.ifindex).value_or(link);
    return mtu_of_device_when_joined(now, pf ? &*pf : nullptr);
}

cni::Interface interface_of(const cni::Request& request, const std::optional<kernel::Link>& link, const Plan& plan,
                            PodSide& pod, const base::Deadline& deadline) {
    cni::Interface interface { .name = request.ifname().to_string(), .sandbox = request.netns_path };
    if (link) {
        interface.mac = link->hardware_address_text();
        interface.mtu = mtu_of(*link, plan, pod, deadline);
    }
    if (const auto* device = std::get_if<DevicePlan>(&plan)) {
        interface.pci_id = device->address.to_string();
        if (!link) interface.mac = mac_without_link(*device);
    }
    return interface;
}

/// A VF's representor, for whoever connects it on the host.
std::optional<cni::Interface> interface_on_host(const Plan& plan) {
    const auto* device = std::get_if<DevicePlan>(&plan);
    if (device == nullptr || !device->representor) return std::nullopt;
    const kernel::Link& link = device->representor->link;
    return cni::Interface{.name = link.name, .mac = link.hardware_address_text(), .mtu = link.mtu};
}

/// prevResult's content with our interface and its addresses behind.
cni::Result complete(const cni::Request& request, const config::Config& config, const std::optional<kernel::Link>& link,
                     const Plan& plan, const cni::Result& own, PodSide& pod, const base::Deadline& deadline) {
    cni::Result result = rest_of_prev_result(request, config);
    const auto index = static_cast<unsigned>(result.interfaces.size());
    result.interfaces.push_back(interface_of(request, link, plan, pod, deadline));
    if (auto outside = interface_on_host(plan)) result.interfaces.push_back(*std::move(outside));
    for (cni::IpConfig ip : own.ips) {
        ip.interface = index;
        result.ips.push_back(ip);
    }
    result.routes.insert(result.routes.end(), own.routes.begin(), own.routes.end());
    const cni::Dns ours = chosen_dns(request.conf.dns, own.dns);
    if (!ours.empty()) result.dns = ours;
    return result;
}

std::vector<base::IpAddress> addresses_of(const cni::Result& result) {
    std::vector<base::IpAddress> addresses;
    for (const cni::IpConfig& ip : result.ips) addresses.push_back(ip.address.address());
    return addresses;
}

/// For comparisons that have no configuration.
state::Wanted wanted_of(const cni::Request& request, const config::Config& config,
                        const std::optional<kernel::Link>& link) {
    state::Wanted wanted;
    if (link) wanted.mac = link->hardware_address_text();
    if (std::holds_alternative<config::Sriov>(config.attach)) wanted.vf = to_recorded(wanted_settings(request, config));
    wanted.gids = config.rdma.wait_for_gids && config.rdma.on_missing_gid == config::OnMissingGid::refuse;
    wanted.active_port = config.rdma.on_inactive_port == config::OnInactivePort::refuse;
    wanted.most_gids = static_cast<std::uint32_t>(config.rdma.most_gids.value_or(0));
    return wanted;
}

/// The changes themselves, each preceded by what undoes it. Fills in the record as it learns.
class Attaching {
public:
    Attaching(const cni::Request& request, const config::Config& config, Session& session, Prepared& prepared,
              std::vector<state::Step> debts, base::FileLock& lock, const base::Deadline& deadline)
        : request_(request), config_(config), session_(session), pod_(prepared.pod), plan_(prepared.plan), lock_(lock),
          deadline_(deadline), record_(std::move(prepared.record)), debts_(std::move(debts)) {
        take_over(debts_, record_);
    }

    /// What has been begun, for undoing it: before the record of the steps is written only the lease, and what the
    /// record of an earlier ADD says.
    [[nodiscard]] AttachmentRecord begun() const {
        AttachmentRecord record = record_;
        if (!is_recorded_) record.steps = debts_;
        return record;
    }
    [[nodiscard]] const AttachmentRecord& record() const { return record_; }
    [[nodiscard]] const std::vector<ipam::OwnerKey>& reclaimed_from() const { return reclaimed_from_; }

    cni::Result run() {
        cni::Result own = lease();
        session_.records.save(record_);
        is_recorded_ = true;
        std::visit([](auto& concrete) { concrete.claim.reset(); }, plan_);
        const std::optional<kernel::Link> link = make_interface();
        if (auto* step = delegate()) own = ask(*step);
        if (const auto& shared = shared_port_of(plan_)) require_gid_share(config_.rdma, *shared, own.ips.size());
        if (link) configure(*link, own);
        if (const auto* device = std::get_if<DevicePlan>(&plan_); device != nullptr && config_.device_info_file)
            write_device_info(*config_.device_info_file, *device,
                              device->rdma ? device->rdma->device : record_.rdma_device);
        for (const cni::IpConfig& ip : own.ips) record_.ips.push_back(ip.address.to_string());
        for (const cni::Route& route : own.routes) record_.routes.push_back(route.dst.to_string());
        if (const auto* device = std::get_if<DevicePlan>(&plan_))
            if (const auto kept = settings_to_keep(*device, request_, config_, deadline_))
                record_.vf_settings = to_recorded(*kept);
        record_.wanted = wanted_of(request_, config_, link);
        commit(record_, lock_, session_.node, session_.records, deadline_);
        if (config_.is_rdma_only()) return request_.conf.prev_result.value_or(cni::Result{});
        return complete(request_, config_, link, plan_, own, pod_, deadline_);
    }

private:
    /// The last one: before it may be debts of an earlier ADD.
    [[nodiscard]] state::DelegateIpam* delegate() {
        if (!std::holds_alternative<config::DelegatedIpam>(config_.ipam)) return nullptr;
        return std::get_if<state::DelegateIpam>(&record_.steps.back());
    }

    cni::Result ask(state::DelegateIpam& step) {
        try {
            return ask_delegate(request_, step, deadline_);
        } catch (const cni::PluginError&) {
            step.refused = true;
            try {
                session_.records.save(record_);
            } catch (const base::Error& error) { // then it is owed like that of an ADD that was killed
                session_.node.log.error(error.what());
            }
            throw;
        }
    }

    cni::Result lease() {
        const auto* own = std::get_if<ipam::Config>(&config_.ipam);
        if (own == nullptr) return adopt_addresses(request_, config_);
        PodProbe pods(session_.node);
        ipam::Allocator allocator(session_.leases, pods);
        const ipam::Allocation allocation =
            allocator.allocate(*own, owner_of(record_), requested_addresses(request_), deadline_);
        for (const std::string& warning : allocation.warnings) session_.node.log.warn(warning);
        record_.leases = to_recorded(allocation.leases);
        reclaimed_from_ = allocation.reclaimed_from;
        return to_result(allocation);
    }

    std::optional<kernel::Link> make_interface() {
        if (auto* device = std::get_if<DevicePlan>(&plan_))
            return move_device(
                request_, config_, *device, session_, pod_, [&] { replace_rdma(*device); }, deadline_);
        if (const auto* interface = std::get_if<InterfacePlan>(&plan_)) {
            kernel::Link moved = move_interface(request_, config_, *interface, pod_, deadline_);
            auto& step = recorded<state::MoveInterface>();
            step.ifindex_in_pod = moved.ifindex;
            step.mac_in_pod = moved.hardware_address_text();
            return moved;
        }
        kernel::Link child = create_child(request_, config_, std::get<ChildPlan>(plan_), pod_, deadline_);
        auto& step = recorded<state::CreateLink>();
        step.ifindex = child.ifindex;
        if (config_.is_ipoib()) step.mac = child.hardware_address_text();
        if (config_.is_ipoib()) mark(child);
        return child;
    }

    template <class Kind>
    [[nodiscard]] Kind& recorded() {
        for (state::Step& step : record_.steps)
            if (auto* found = std::get_if<Kind>(&step)) return *found;
        throw base::Error("the record lacks the step of its interface");
    }

    void mark(const kernel::Link& child) {
        if (auto text = mark_of(record_))
            kernel::change_link(pod_.route, child.ifindex, {.alias = std::move(text), .netns = nullptr});
    }

    void replace_rdma(const DevicePlan& device) {
        const auto is_move = [](const state::Step& step) { return std::holds_alternative<state::MoveRdma>(step); };
        const auto first = std::find_if(record_.steps.begin(), record_.steps.end(), is_move);
        const auto place = first - record_.steps.begin(); // what came later, a delegate's addresses, is undone before
        std::erase_if(record_.steps, is_move);
        const std::vector<state::Step> moves = rdma_steps(device);
        record_.steps.insert(record_.steps.begin() + place, moves.begin(), moves.end());
        record_.rdma_device = rdma_device_of(plan_);
        session_.records.save(record_);
    }

    /// Those that are in the pod, or else stay on the host. A driver that was bound anew has made others than the
    /// plan's.
    [[nodiscard]] RdmaDevices rdma_devices(const DevicePlan& device) const {
        RdmaDevices devices = moved_devices(record_);
        if (!devices.empty() || !device.awaits_port) return devices;
        auto outside = kernel::Socket::find_rdma(deadline_);
        return outside ? find_rdma_devices(device.address, *outside) : devices;
    }

    [[nodiscard]] AskingSide asking_side(const kernel::Link& link) const {
        const auto* child = std::get_if<ChildPlan>(&plan_);
        if (child == nullptr || !std::holds_alternative<config::Ipvlan>(config_.attach))
            return {&pod_.netns, link.ifindex};
        return {config_.link_in_container ? &pod_.netns : nullptr, child->parent.ifindex};
    }

    void configure(const kernel::Link& link, cni::Result& own) {
        base::in_context(concat("interface ", quoted(link.name)), [&] {
            if (!config_.rdma.link_local_gids) suppress_link_local(pod_, link);
            bring_up(pod_, link, request_.ifname(), own.ips, config_.duplicate_detection, asking_side(link), deadline_,
                     session_.node.log);
            own.routes = add_routes(pod_, link, own, config_.default_route, session_.node.log);
        });
        const auto* device = std::get_if<DevicePlan>(&plan_);
        if (device != nullptr)
            require_active_port_in_pod(*device, rdma_devices(*device), config_.rdma, pod_.netns, link,
                                       session_.node.log, deadline_);
        if (device != nullptr && device->is_infiniband()) return; // its port's GIDs don't come from addresses
        const auto& rdma = shared_port_of(plan_);
        const auto holders = [&] { return describe_gid_holders(*rdma, session_.records, deadline_); };
        if (rdma) wait_for_gids(config_.rdma, *rdma, link.name, addresses_of(own), session_.node.log, holders);
        if (device != nullptr)
            wait_for_gids_in_pod(config_.rdma, device->selection.moving, pod_.netns, link, addresses_of(own),
                                 session_.node.log, deadline_);
    }

    const cni::Request& request_;
    const config::Config& config_;
    Session& session_;
    PodSide& pod_;
    Plan& plan_;
    base::FileLock& lock_;
    const base::Deadline& deadline_;
    AttachmentRecord record_;
    std::vector<state::Step> debts_;
    bool is_recorded_ = false;
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
    Session session(request, node);
    if (config.device_info_file) require_own_device_info(*config.device_info_file, session.key, session.records);
    settle_owed_names(name_keeper(session));
    Target target = find_target(request, config, session, deadline);
    if (target.moving) reclaim_device(to_string(*target.moving), session, deadline);
    std::optional<base::FileLock> lock = session.records.lock_for_add(session.key, deadline);
    std::vector<state::Step> debts = undo_earlier_add(request, target.pod, session, deadline);
    Prepared prepared = prepare(request, config, session, std::move(target), deadline);

    Attaching attaching(request, config, session, prepared, std::move(debts), *lock, deadline);
    base::Rollback rollback([&](const std::string& what, const char* why) { node.log.error(concat(what, ": ", why)); });
    rollback.on_failure("undo the failed ADD", [&] {
        undo_failed_add(attaching.begun(), caller_of(request), node, session.records, session.leases);
    });
    cni::Result result = attaching.run();
    rollback.commit();
    log_success(attaching.record(), node.log, deadline);
    lock.reset();
    undo_reclaimed(attaching.reclaimed_from(), node, session.records, session.leases);
    return result;
}

} // namespace rdmanet::attach
