// DEL. The journal decides what is undone. Without a record, DEL undoes only what it can prove to be this
// attachment's.
#include "detach.hpp"
#include "recall.hpp"
#include "session.hpp"
#include "unrecorded_device.hpp"

#include "owners/attachment.hpp"
#include "owners/mac.hpp"
#include "owners/mark.hpp"
#include "steps/child_link.hpp"
#include "steps/delegate.hpp"

#include <rdmanet/attach/operations.hpp>
#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/config/config.hpp>
#include <rdmanet/kernel/address.hpp>
#include <rdmanet/kernel/link.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <vector>

namespace rdmanet::attach {
namespace {

using kernel::Link;
using state::AttachmentRecord;

bool has_derived_mac(const Link& link, const Session& session) {
    return link.mac() == derive_mac(session.node.boot_id, session.key);
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
std::vector<ipam::Lease> find_leases_of(const cni::Request& request, Session& session, const base::Deadline& deadline) {
    constexpr std::chrono::seconds kAskTimeout{5};
    const auto where = remembered_place_of(request, session.leases);
    // They stay in the node's own store if it had leases of the range before the node had a cluster.
    auto on_node = session.leases.find(session.key, {}, deadline);
    if (!where || !on_node.empty()) return on_node;
    try {
        return session.leases.find(session.key, where, deadline.at_most(kAskTimeout));
    } catch (const base::Error& error) {
        session.node.log.warn(fmt::format("interface {} has no record, and the cluster's store cannot say whether its "
                                          "addresses are of this attachment: {}",
                                          base::quoted(session.key.ifname), error.what()));
        return {};
    }
}

bool has_leased_address(kernel::Socket& inside, const Link& link, const cni::Request& request, Session& session,
                        const base::Deadline& deadline) {
    const auto leases = find_leases_of(request, session, deadline);
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
std::optional<Link> find_unrecorded(kernel::Socket& inside, const cni::Request& request, Session& session,
                                    const base::Deadline& deadline) {
    const auto link = kernel::find_link(inside, request.ifname());
    if (!link || (link->kind != "macvlan" && link->kind != "ipvlan" && link->kind != "ipoib")) return std::nullopt;
    const bool ours = (link->kind == "macvlan" && has_derived_mac(*link, session)) || is_in_result(*link, request) ||
                      has_leased_address(inside, *link, request, session, deadline);
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

/// Adds an IPoIB child that the kernel returned to the host when its namespace was destroyed.
void reconstruct_returned(AttachmentRecord& record, const Session& session, const base::Deadline& deadline) {
    for (const MarkedChild& child : list_returned_children(session.node, deadline)) {
        if (child.record.key != session.key) continue;
        record.netns = child.record.netns;
        record.steps.emplace_back(state::CreateLink{.child = {.kind = child.link.kind,
                                                              .parent_ifindex = child.link.parent_ifindex.value_or(0),
                                                              .mac = child.link.hardware_address_text()},
                                                    .ifname = session.key.ifname});
    }
}

void reconstruct_link(AttachmentRecord& record, const cni::Request& request, Session& session,
                      const base::Deadline& deadline) {
    const auto netns = find_pod_netns(request);
    if (!netns) return reconstruct_returned(record, session, deadline);
    kernel::Socket inside = kernel::Socket::open_in(*netns, kernel::Protocol::route, deadline);
    record.netns = identify(request.netns_path, *netns, inside);
    if (const auto link = find_unrecorded(inside, request, session, deadline))
        record.steps.emplace_back(
            state::CreateLink{.child = {.kind = link->kind}, .ifname = link->name, .ifindex = link->ifindex});
    for (state::Step& step : steps_of_unrecorded_device(request, session, *netns, inside, deadline))
        record.steps.push_back(std::move(step));
}

AttachmentRecord bare_record(const state::AttachmentKey& key, const cni::Request& request, Session& session) {
    AttachmentRecord record;
    record.key = key;
    record.boot_id = session.node.boot_id;
    record.lease_store = remembered_place_of(request, session.leases);
    return record;
}

/// Puts together what the lost record would have held, from what exists now. What cannot be read goes into `held`,
/// and does not stop the rest: the addresses are released in any case.
AttachmentRecord reconstruct(const cni::Request& request, Session& session, StillHeld& held,
                             const base::Deadline& deadline) {
    AttachmentRecord record = bare_record(session.key, request, session);
    record.netns.path = request.netns_path;
    try {
        reconstruct_link(record, request, session, deadline);
    } catch (const base::Error& error) {
        held.push_back(fmt::format("interface {}: {}", base::quoted(session.key.ifname), error.what()));
    }
    const auto& ipam_type = request.conf.ipam_type;
    if (ipam_type && *ipam_type != config::kPluginName) record.steps.push_back(delegate_step(request, *ipam_type));
    return record;
}

/// A record that cannot be read now stays for the next DEL or GC, because it holds more than the pod shows.
state::LoadOutcome load(const state::AttachmentKey& key, const Session& session, StillHeld& held) {
    try {
        return session.records.load(key);
    } catch (const base::SystemError& error) {
        held.push_back(fmt::format("journal record: {}", error.what()));
        return state::Unreadable{.path = {}, .reason = {}};
    }
}

void log_unreadable(const state::Unreadable& unreadable, const Session& session) {
    if (!unreadable.path.empty())
        session.node.log.error(fmt::format("record {} cannot be read, so DEL undoes what it sees in the pod: {}",
                                           unreadable.path, unreadable.reason));
}

/// The record of addresses for another plugin's interface.
std::optional<AttachmentRecord> find_ipam_record(const cni::Request& request, Session& session, StillHeld& held) {
    if (!session.key.has_leases()) return std::nullopt;
    const state::AttachmentKey key = session.key.with_role(state::kIpamRole);
    auto outcome = load(key, session, held);
    if (std::holds_alternative<state::NoRecord>(outcome)) return std::nullopt;
    if (auto* record = std::get_if<AttachmentRecord>(&outcome)) return std::move(*record);
    log_unreadable(std::get<state::Unreadable>(outcome), session);
    return bare_record(key, request, session); // enough to release the leases
}

/// The attachment's records in every role, because the configuration may have been edited since ADD. Returns at least
/// one: if there is none, it is put together from what exists.
std::vector<AttachmentRecord> find_records(const cni::Request& request, Session& session, StillHeld& held,
                                           const base::Deadline& deadline) {
    const bool is_ipam = session.key.role == state::kIpamRole;
    if (is_ipam) session.key.role.clear();
    std::vector<AttachmentRecord> records;
    auto outcome = load(session.key, session, held);
    if (auto* record = std::get_if<AttachmentRecord>(&outcome)) records.push_back(std::move(*record));
    if (const auto* unreadable = std::get_if<state::Unreadable>(&outcome)) {
        log_unreadable(*unreadable, session);
        records.push_back(reconstruct(request, session, held, deadline));
    }
    if (auto record = find_ipam_record(request, session, held)) records.push_back(*std::move(record));
    if (records.empty())
        records.push_back(is_ipam ? bare_record(session.key, request, session)
                                  : reconstruct(request, session, held, deadline));
    return records;
}

/// Whether the cluster's store has just answered.
bool has_given_back_shared_leases(const std::vector<AttachmentRecord>& undone, const Session& session) {
    return std::any_of(undone.begin(), undone.end(), [&](const AttachmentRecord& record) {
        if (!record.lease_store) return false;
        const auto outcome = session.records.load(record.key);
        const auto* left = std::get_if<AttachmentRecord>(&outcome);
        return left == nullptr || !left->lease_store || left->lease_store->is_released;
    });
}

/// It may lead to the cluster of a record whose own kubeconfig does not work any more, and its pools may have what a
/// record does not know. Who has nothing in a cluster does not read the node's file for that.
void use_configured_cluster(const cni::Request& request, std::vector<AttachmentRecord>& records, Session& session) {
    const auto is_shared = [](const AttachmentRecord& record) { return record.lease_store.has_value(); };
    if (std::none_of(records.begin(), records.end(), is_shared)) return;
    const auto configured = remembered_place_of(request, session.leases);
    if (!configured) return;
    session.leases.also_use(configured->kubeconfig);
    for (AttachmentRecord& record : records)
        if (record.lease_store) leases::add_pools(*configured, *record.lease_store);
}

} // namespace

void del(const cni::Request& request, const Node& node) {
    constexpr std::chrono::seconds kUndoTime{10}; // left for the work after the lock is taken
    const auto deadline = base::Deadline::in(kDelTimeout);
    Session session(request, node, state::Access::undo);
    std::optional<base::FileLock> lock =
        lock_or_recall(session.key, node, session.records, kDelTimeout - kUndoTime, deadline);
    StillHeld unknown;
    std::vector<AttachmentRecord> records = find_records(request, session, unknown, deadline);
    StillHeld held = unknown;
    use_configured_cluster(request, records, session);
    const Caller caller = caller_of(request);
    for (const AttachmentRecord& record : records) {
        const StillHeld left = detach(record, caller, node, session.records, session.leases, deadline, unknown);
        held.insert(held.end(), left.begin() + static_cast<std::ptrdiff_t>(unknown.size()), left.end());
    }
    lock.reset();
    if (has_given_back_shared_leases(records, session)) pay_owed_addresses_soon(node, session.records, session.leases);
    if (!held.empty())
        throw still_held_error(held, "Correct that and wait for the next DEL. If none comes, run `rdmanet gc` on the "
                                     "node once the pod is gone");
    node.log.info(
        fmt::format("DEL of {}, after {} ms", describe(records.front()), (kDelTimeout - deadline.remaining()).count()));
}

} // namespace rdmanet::attach
