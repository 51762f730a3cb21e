#include "device_claim.hpp"

#include "detach.hpp"
#include "device_rdma.hpp"
#include "liveness.hpp"
#include "steps.hpp"

#include <rdmanet/base/text.hpp>
#include <rdmanet/cni/error.hpp>
#include <rdmanet/state/topic.hpp>

#include <algorithm>
#include <vector>

namespace rdmanet::attach {
namespace {

using base::concat;
using base::quoted;
using state::AttachmentRecord;

/// Entries of one list may each have a part of a device: its net device, its RDMA devices.
bool is_entry_beside(const state::AttachmentKey& key, const Session& session) {
    return key.network == session.key.network && key.container_id == session.key.container_id &&
           key.ifname == session.key.ifname;
}

/// Other attachments that have the device, or parts of it.
std::vector<AttachmentRecord> list_owners(const Session& session, const std::string& device) {
    std::vector<AttachmentRecord> records = session.records.list_about(state::device_topic(device));
    const auto is_disregarded = [&](const state::AttachmentKey& key) {
        const auto& disregarded = session.disregarded;
        return std::find(disregarded.begin(), disregarded.end(), key) != disregarded.end();
    };
    std::erase_if(records, [&](const AttachmentRecord& record) {
        return record.key == session.key || is_disregarded(record.key);
    });
    return records;
}

[[noreturn]] void refuse_parent_of(const std::string& child, const base::BusAddress& address, const std::string& cure) {
    throw cni::CniError(cni::ErrorCode::parent,
                        concat("device ", address, " has a child (", child,
                               "), which the kernel destroys when it makes the device's interface anew: ", cure,
                               ", or use another device"));
}

[[noreturn]] void refuse_device_of(const AttachmentRecord& owner, const std::string& device, const Node& node) {
    const std::string reason = Undertaker(node).probe(trace_of(owner)).reason;
    throw cni::CniError(cni::ErrorCode::parent,
                        concat("device ", device, " belongs to another attachment (", describe(owner),
                               "), whose pod is not provably gone: DEL of that one gives it back",
                               reason.empty() ? "" : concat("; nothing is proven because ", reason)));
}

} // namespace

void require_no_children(const base::BusAddress& address, const kernel::Link& link, const Session& session,
                         kernel::Socket& route) {
    for (const kernel::Link& each : kernel::list_links(route))
        if (each.parent_ifindex == link.ifindex && !each.parent_netnsid)
            refuse_parent_of(concat(quoted(each.name), " on the host"), address, "remove it");
    Undertaker undertaker(session.node);
    for (const AttachmentRecord& record : session.records.list_about(state::parent_topic(link.ifindex)))
        if (undertaker.probe(trace_of(record)) != ipam::Liveness::dead)
            refuse_parent_of(describe(record), address, "delete that pod");
}

void take_from_the_dead(const std::string& device, Session& session, const base::Deadline& deadline) {
    Undertaker undertaker(session.node);
    for (const AttachmentRecord& owner : list_owners(session, device)) {
        const StillHeld held =
            detach_dead(owner.key, undertaker, session.node, session.records, session.leases, deadline);
        if (!held.empty())
            throw cni::CniError(cni::ErrorCode::parent,
                                concat("device ", device, " is not yet what it was before a pod that is gone (",
                                       describe(owner), "): ", held.front()));
    }
}

std::vector<AttachmentRecord> disregard_the_dead(const std::string& device, Session& session) {
    Undertaker undertaker(session.node);
    std::vector<AttachmentRecord> dead = list_owners(session, device);
    std::erase_if(
        dead, [&](const AttachmentRecord& owner) { return undertaker.probe(trace_of(owner)) != ipam::Liveness::dead; });
    for (const AttachmentRecord& owner : dead) session.disregarded.push_back(owner.key);
    return dead;
}

base::FileLock claim_device(const std::string& device, const Session& session, const base::Deadline& deadline) {
    base::FileLock claim = session.records.lock_device(device, deadline);
    for (const AttachmentRecord& owner : list_owners(session, device))
        if (!is_entry_beside(owner.key, session)) refuse_device_of(owner, device, session.node);
    return claim;
}

bool is_rdma_moved_beside(const base::BusAddress& address, const Session& session) {
    const auto owners = list_owners(session, address.to_string());
    return std::any_of(owners.begin(), owners.end(), [&](const AttachmentRecord& owner) {
        return is_entry_beside(owner.key, session) && owner.phase == state::Phase::attached &&
               !moved_devices(owner).empty();
    });
}

} // namespace rdmanet::attach
