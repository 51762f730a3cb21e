#include "claims.hpp"

#include "liveness.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/cni/error.hpp>
#include <rdmanet/state/topic.hpp>

#include <algorithm>
#include <vector>

namespace rdmanet::attach {
namespace {

using base::quoted;
using state::AttachmentRecord;

/// Two plugins of one list may share a device: one has its net device, the other its RDMA devices.
bool is_of_same_list(const state::AttachmentKey& key, const Call& call) {
    return key.network == call.key.network && key.container_id == call.key.container_id &&
           key.ifname == call.key.ifname;
}

[[noreturn]] void refuse_parent_of(const std::string& child, const base::BusAddress& address, const std::string& fix) {
    throw cni::CniError(
        cni::ErrorCode::parent,
        fmt::format("the interface of device {} has a child ({}), which the kernel would destroy when the "
                    "device moves or is bound again: {}, or use another device",
                    address, child, fix));
}

[[noreturn]] void refuse_device_of(const AttachmentRecord& owner, const std::string& device, const Node& node) {
    const ipam::Verdict pod = PodProbe(node).probe(pod_of(owner));
    if (pod == ipam::Liveness::alive)
        throw cni::CniError(
            cni::ErrorCode::parent,
            fmt::format("device {} belongs to another attachment ({}), whose pod is alive: delete that pod, "
                        "and its DEL returns the device",
                        device, describe(owner)));
    const std::string why = pod.reason.empty() ? std::string() : fmt::format(" ({})", pod.reason);
    throw cni::CniError(
        cni::ErrorCode::parent,
        fmt::format("device {} belongs to another attachment ({}), whose pod is not proven dead{}: delete "
                    "that pod, and its DEL returns the device",
                    device, describe(owner), why));
}

} // namespace

std::vector<AttachmentRecord> list_owners(const std::string& device, const Call& call) {
    std::vector<AttachmentRecord> records = call.records.list_about(state::device_topic(device));
    const auto is_disregarded = [&](const state::AttachmentKey& key) {
        const auto& disregarded = call.disregarded;
        return std::find(disregarded.begin(), disregarded.end(), key) != disregarded.end();
    };
    std::erase_if(records,
                  [&](const AttachmentRecord& record) { return record.key == call.key || is_disregarded(record.key); });
    return records;
}

void require_no_children(const base::BusAddress& address, const kernel::Link& link, const Call& call,
                         kernel::Socket& route) {
    for (const kernel::Link& each : kernel::list_links(route))
        if (each.parent_ifindex == link.ifindex && !each.parent_netnsid)
            refuse_parent_of(fmt::format("{} on the host", quoted(each.name)), address, "remove it");
    PodProbe pods(call.node);
    for (const AttachmentRecord& record : call.records.list_about(state::parent_topic(link.ifindex)))
        if (pods.probe(pod_of(record)) != ipam::Liveness::dead)
            refuse_parent_of(describe(record), address, "delete that pod");
}

std::vector<AttachmentRecord> list_stale_owners(const std::string& device, const Call& call) {
    PodProbe probe(call.node);
    std::vector<AttachmentRecord> owners = list_owners(device, call);
    std::erase_if(owners,
                  [&](const AttachmentRecord& owner) { return probe.probe(pod_of(owner)) != ipam::Liveness::dead; });
    return owners;
}

void require_unclaimed(const std::string& device, const Call& call) {
    for (const AttachmentRecord& owner : list_owners(device, call))
        if (!is_of_same_list(owner.key, call)) refuse_device_of(owner, device, call.node);
}

RdmaDevices moved_devices(const state::AttachmentRecord& record) {
    RdmaDevices devices;
    for (const state::Step& step : record.steps)
        if (const auto* moved = std::get_if<state::MoveRdma>(&step))
            devices.push_back({.index = moved->index, .name = moved->name, .node_guid = moved->node_guid});
    return devices;
}

bool is_rdma_moved_by_same_list(const base::BusAddress& address, const Call& call) {
    const auto owners = list_owners(address.to_string(), call);
    return std::any_of(owners.begin(), owners.end(), [&](const AttachmentRecord& owner) {
        return is_of_same_list(owner.key, call) && owner.phase == state::Phase::attached &&
               !moved_devices(owner).empty();
    });
}

} // namespace rdmanet::attach
