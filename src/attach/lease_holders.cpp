#include <rdmanet/attach/lease_holders.hpp>

#include "lookup/call.hpp"
#include "owners/known_attachments.hpp"
#include "owners/liveness.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/leases/leases.hpp>

#include <variant>

namespace rdmanet::attach {

std::vector<LeaseHolder> view_lease_holders(const Node& node, const state::AttachmentStore& records,
                                            const base::Deadline& deadline) {
    PodProbe pods(node);
    std::vector<LeaseHolder> holders;
    for (const KnownAttachment& known :
         list_known_attachments(records, leases::Leases(node, records).look(deadline).all())) {
        const state::AttachmentRecord& record = known.record;
        const bool has_record =
            known.unreadable || !std::holds_alternative<state::NoRecord>(records.load(record.key)) ||
            !std::holds_alternative<state::NoRecord>(records.load(record.key.with_role(state::kIpamRole)));
        holders.push_back({.what = describe(record),
                           .container_id = record.key.container_id,
                           .ifname = record.key.ifname,
                           .pod = pods.probe(pod_of(record)),
                           .has_record = has_record,
                           .owes = record.owes_addresses()});
    }
    return holders;
}

bool release_unrecorded(const ipam::Lease& lease, const Node& node, const base::Deadline& deadline) {
    const state::AttachmentStore records = node.records(state::Access::undo);
    const state::AttachmentKey key{.network = lease.owner.key.network,
                                   .container_id = lease.owner.key.container_id,
                                   .ifname = lease.owner.key.ifname};
    const base::FileLock lock = records.lock(key, deadline);
    for (const LeaseHolder& holder : view_lease_holders(node, records, deadline)) {
        if (holder.container_id != key.container_id || holder.ifname != key.ifname) continue;
        if (holder.has_record)
            throw base::Error(fmt::format("{} has a record: run `rdmanet gc`, or `rdmanet gc --forget {} {}`",
                                          holder.what, key.container_id, key.ifname));
        if (holder.pod != ipam::Liveness::dead)
            throw base::Error(
                fmt::format("the pod of {} is not proven dead: delete it, then run `rdmanet gc`", holder.what));
    }
    return leases::Leases(node, records).reclaim(lease, deadline);
}

} // namespace rdmanet::attach
