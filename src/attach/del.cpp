// DEL. The journal decides what is undone. Without a record, DEL undoes only what it can prove to be this
// attachment's.
#include "detach.hpp"
#include "recall.hpp"
#include "result.hpp"

#include "lookup/device_link.hpp"
#include "lookup/rdma_devices.hpp"
#include "owners/mac.hpp"
#include "owners/mark.hpp"
#include "steps/delegate.hpp"
#include "steps/move_rdma.hpp"
#include "steps/rdma_names.hpp"
#include "steps/reset_function.hpp"

#include <rdmanet/attach/operations.hpp>
#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/config/config.hpp>
#include <rdmanet/kernel/address.hpp>
#include <rdmanet/kernel/device.hpp>
#include <rdmanet/kernel/link.hpp>
#include <rdmanet/kernel/netns_sysfs.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <vector>

namespace rdmanet::attach {
namespace {

using kernel::Link;
using state::AttachmentRecord;

bool has_derived_mac(const Link& link, const Call& call) {
    return link.mac() == derive_mac(call.node.boot_id, call.key);
}

bool is_in_result(const Link& link, const cni::Request& request) {
    if (!request.conf.prev_result) return false;
    const auto& interfaces = request.conf.prev_result->interfaces;
    return std::any_of(interfaces.begin(), interfaces.end(), [&](const cni::Interface& interface) {
        return interface.name == link.name && !interface.sandbox.empty() && !interface.mac.empty() &&
               base::to_lower(interface.mac) == link.hardware_address_text();
    });
}

/// A store of the cluster that can't be asked proves nothing. DEL goes on without it.
std::vector<ipam::Lease> find_leases_of(const Call& call) {
    constexpr std::chrono::seconds kAskTimeout{5};
    const auto where = remembered_place_of(call);
    // They stay in the node's own store if it had leases of the range before the node had a cluster.
    auto on_node = call.leases.find(call.key, {}, call.deadline);
    if (!where || !on_node.empty()) return on_node;
    try {
        return call.leases.find(call.key, where, call.deadline.at_most(kAskTimeout));
    } catch (const base::Error& error) {
        call.log.warn(fmt::format("interface {} has no record, and the cluster's store cannot say whether its "
                                  "addresses are of this attachment: {}",
                                  base::quoted(call.key.ifname), error.what()));
        return {};
    }
}

bool has_leased_address(kernel::Socket& inside, const Link& link, const Call& call) {
    const auto leases = find_leases_of(call);
    if (leases.empty()) return false;
    const auto addresses = kernel::list_addresses(inside, link.ifindex);
    return std::any_of(leases.begin(), leases.end(), [&](const ipam::Lease& lease) {
        return std::any_of(addresses.begin(), addresses.end(), [&](const kernel::Address& address) {
            return address.prefix.address() == lease.address.address();
        });
    });
}

/// The interface of an attachment whose record is lost. It must be of a kind that rdmanet creates, and its MAC, the
/// result of its ADD or a leased address must prove it ours. Otherwise DEL would remove another plugin's interface
/// whose name made our ADD fail.
std::optional<Link> find_unrecorded(kernel::Socket& inside, const Call& call) {
    const auto link = kernel::find_link(inside, call.request->ifname());
    if (!link || (link->kind != "macvlan" && link->kind != "ipvlan" && link->kind != "ipoib")) return std::nullopt;
    const bool ours = (link->kind == "macvlan" && has_derived_mac(*link, call)) || is_in_result(*link, *call.request) ||
                      has_leased_address(inside, *link, call);
    return ours ? link : std::nullopt;
}

std::optional<kernel::Netns> find_pod_netns(const cni::Request& request) {
    if (request.netns_path.empty()) return std::nullopt;
    try {
        auto netns = kernel::find_netns(request.netns_path);
        if (netns && *netns == kernel::Netns::current() && !request.netns_override) return std::nullopt;
        return netns;
    } catch (const kernel::NotANetnsError&) {
        return std::nullopt; // after unmounting a namespace, an empty file remains
    }
}

/// None in shared mode, in which every namespace sees all RDMA devices.
RdmaDevices find_rdma_devices_inside(const base::BusAddress& address, const kernel::Netns& netns,
                                     const base::Deadline& deadline) {
    RdmaDevices devices;
    auto rdma = kernel::Socket::find_rdma_in(netns, deadline);
    if (!rdma || kernel::rdma_netns_mode(*rdma) == kernel::RdmaNetnsMode::shared) return devices;
    for (const std::string& name : kernel::rdma_devices_of(address, kernel::NetnsSysfs(netns)))
        if (auto device = kernel::find_rdma_device(*rdma, name)) devices.push_back(*std::move(device));
    return devices;
}

/// nullopt if the configuration names no usable device, because it was edited since ADD.
std::optional<base::BusAddress> find_device_of_request(const cni::Request& request) try {
    return config::find_device(request.conf.document.root());
} catch (const json::ValueError&) {
    return std::nullopt;
}

bool asks_for_reset(const cni::Request& request) {
    const auto reset = request.conf.document.root().find("reset");
    return reset && reset->is_boolean() && reset->boolean();
}

/// The steps that moved a device into the pod. The configuration must name the device by its address, as Multus does
/// for each pod, and the pod must have it as the attachment's interface. Otherwise the device may be another
/// plugin's, and the result is empty. Nothing tells how the device was before, so DEL does not restore its settings.
std::vector<state::Step> steps_of_unrecorded_device(const Call& call, const kernel::Netns& netns,
                                                    kernel::Socket& inside) {
    const auto address = find_device_of_request(*call.request);
    if (!address) return {};
    const auto link = find_link_inside(*address, inside);
    if (!link || link->name != call.key.ifname) return {};
    std::vector<state::Step> steps;
    if (call.key.role.empty() && asks_for_reset(*call.request))
        if (auto found = plan_reset(*address, list_waiting_names(call), call))
            steps.emplace_back(state::ResetFunction{.device = address->to_string(),
                                                    .driver = std::move(found->driver),
                                                    .rdma_names = std::move(found->rdma_names)});
    if (call.key.role.empty())
        steps.emplace_back(state::MoveLink{.device = address->to_string(), .ifname = link->name});
    for (state::Step& step : rdma_steps(*address, find_rdma_devices_inside(*address, netns, call.deadline)))
        steps.push_back(std::move(step));
    return steps;
}

/// Adds an IPoIB child that the kernel returned to the host when its namespace was destroyed.
void reconstruct_returned(AttachmentRecord& record, const Call& call) {
    for (const MarkedChild& child : list_returned_children(call.node, call.deadline)) {
        if (child.record.key != call.key) continue;
        record.netns = child.record.netns;
        record.steps.emplace_back(state::CreateLink{.child = {.kind = child.link.kind,
                                                              .parent_ifindex = child.link.parent_ifindex.value_or(0),
                                                              .mac = child.link.hardware_address_text()},
                                                    .ifname = call.key.ifname});
    }
}

void reconstruct_link(AttachmentRecord& record, const Call& call) {
    const auto netns = find_pod_netns(*call.request);
    if (!netns) return reconstruct_returned(record, call);
    kernel::Socket inside = kernel::Socket::open_in(*netns, kernel::Protocol::route, call.deadline);
    record.netns = identify(call.request->netns_path, *netns, inside);
    if (const auto link = find_unrecorded(inside, call))
        record.steps.emplace_back(
            state::CreateLink{.child = {.kind = link->kind}, .ifname = link->name, .ifindex = link->ifindex});
    for (state::Step& step : steps_of_unrecorded_device(call, *netns, inside)) record.steps.push_back(std::move(step));
}

AttachmentRecord bare_record(const state::AttachmentKey& key, const Call& call) {
    AttachmentRecord record;
    record.key = key;
    record.boot_id = call.node.boot_id;
    record.lease_store = remembered_place_of(call);
    return record;
}

/// Puts together what the lost record would have held, from what exists now. What cannot be read goes into `held`,
/// and does not stop the rest: the addresses are released in any case.
AttachmentRecord reconstruct(const Call& call, StillHeld& held) {
    AttachmentRecord record = bare_record(call.key, call);
    record.netns.path = call.request->netns_path;
    try {
        reconstruct_link(record, call);
    } catch (const std::exception& error) {
        held.push_back(fmt::format("interface {}: {}", base::quoted(call.key.ifname), error.what()));
    }
    const auto& ipam_type = call.request->conf.ipam_type;
    if (ipam_type && *ipam_type != config::kPluginName)
        record.steps.push_back(delegate_step(*call.request, *ipam_type));
    return record;
}

/// A record that cannot be read now stays for the next DEL or GC, because it holds more than the pod shows.
state::LoadOutcome load(const state::AttachmentKey& key, const Call& call, StillHeld& held) {
    try {
        return call.records.load(key);
    } catch (const base::SystemError& error) {
        held.push_back(fmt::format("journal record: {}", error.what()));
        return state::Unreadable{.path = {}, .reason = {}};
    }
}

void log_unreadable(const state::Unreadable& unreadable, const Call& call) {
    if (!unreadable.path.empty())
        call.log.error(fmt::format("record {} cannot be read, so DEL undoes what it sees in the pod: {}",
                                   unreadable.path, unreadable.reason));
}

/// The record of addresses for another plugin's interface.
std::optional<AttachmentRecord> find_ipam_record(const Call& call, StillHeld& held) {
    if (!call.key.has_leases()) return std::nullopt;
    const state::AttachmentKey key = call.key.with_role(state::kIpamRole);
    auto outcome = load(key, call, held);
    if (std::holds_alternative<state::NoRecord>(outcome)) return std::nullopt;
    if (auto* record = std::get_if<AttachmentRecord>(&outcome)) return std::move(*record);
    log_unreadable(std::get<state::Unreadable>(outcome), call);
    return bare_record(key, call); // enough to release the leases
}

/// The attachment's records in every role, because the configuration may have been edited since ADD. Returns at least
/// one: if there is none, it is put together from what exists.
std::vector<AttachmentRecord> find_records(const Call& call, bool is_ipam_only, StillHeld& held) {
    std::vector<AttachmentRecord> records;
    auto outcome = load(call.key, call, held);
    if (auto* record = std::get_if<AttachmentRecord>(&outcome)) records.push_back(std::move(*record));
    if (const auto* unreadable = std::get_if<state::Unreadable>(&outcome)) {
        log_unreadable(*unreadable, call);
        records.push_back(reconstruct(call, held));
    }
    if (auto record = find_ipam_record(call, held)) records.push_back(*std::move(record));
    if (records.empty()) records.push_back(is_ipam_only ? bare_record(call.key, call) : reconstruct(call, held));
    return records;
}

/// Whether the cluster's store has just answered.
bool has_given_back_shared_leases(const std::vector<AttachmentRecord>& undone, const Call& call) {
    return std::any_of(undone.begin(), undone.end(), [&](const AttachmentRecord& record) {
        if (!record.lease_store) return false;
        const auto outcome = call.records.load(record.key);
        const auto* left = std::get_if<AttachmentRecord>(&outcome);
        return left == nullptr || !left->lease_store || left->lease_store->is_released;
    });
}

/// It may lead to the cluster of a record whose own kubeconfig does not work any more, and its pools may have what a
/// record does not know. Who has nothing in a cluster does not read the node's file for that.
void use_configured_cluster(std::vector<AttachmentRecord>& records, const Call& call) {
    const auto is_shared = [](const AttachmentRecord& record) { return record.lease_store.has_value(); };
    if (std::none_of(records.begin(), records.end(), is_shared)) return;
    const auto configured = remembered_place_of(call);
    if (!configured) return;
    call.leases.also_use(configured->kubeconfig);
    for (AttachmentRecord& record : records)
        if (record.lease_store) leases::add_pools(*configured, *record.lease_store);
}

} // namespace

void del(const cni::Request& request, const Node& node) {
    constexpr std::chrono::seconds kUndoTime{10}; // left for the work after the lock is taken
    Call call(node, base::Deadline::in(kDelTimeout), request, state::Access::undo);
    std::optional<base::FileLock> lock = lock_or_recall(call, kDelTimeout - kUndoTime);
    const bool is_ipam_only = call.key.role == state::kIpamRole;
    if (is_ipam_only) call.key.role.clear();
    StillHeld unknown;
    std::vector<AttachmentRecord> records = find_records(call, is_ipam_only, unknown);
    StillHeld held = unknown;
    use_configured_cluster(records, call);
    const Call undoing = call.to_undo(call.deadline);
    for (const AttachmentRecord& record : records) {
        const StillHeld left = detach(record, undoing, unknown);
        held.insert(held.end(), left.begin() + static_cast<std::ptrdiff_t>(unknown.size()), left.end());
    }
    lock.reset();
    if (has_given_back_shared_leases(records, call)) pay_owed_addresses_soon(call);
    if (!held.empty())
        throw still_held_error(held, "Correct that and wait for the next DEL. If none comes, run `rdmanet gc` on the "
                                     "node once the pod is gone");
    call.log.info(fmt::format("DEL of {}, after {} ms", describe(records.front()),
                              (kDelTimeout - call.deadline.remaining()).count()));
}

} // namespace rdmanet::attach
