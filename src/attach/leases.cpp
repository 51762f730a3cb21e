#include "leases.hpp"

#include <rdmanet/attach/recorded_leases.hpp>
#include <rdmanet/base/format.hpp>

#include <algorithm>
#include <utility>

namespace rdmanet::attach {

void log_repair(const Node& node, const ipam::DamagedStore& damage, const std::optional<std::string>& moved) {
    node.log.error(moved ? fmt::format("{}; it was rebuilt from the journal, and the damaged file is now {}",
                                       damage.what(), *moved)
                         : fmt::format("{}; it was rebuilt from the journal", damage.what()));
}

std::string store_word(ipam::StoreKind kind) {
    if (kind == ipam::StoreKind::pools) return "whereabouts";
    return kind == ipam::StoreKind::blocks ? "blocks" : "";
}

ipam::OwnerKey owner_key(const state::AttachmentKey& key) {
    return {.network = key.network, .container_id = key.container_id, .ifname = key.ifname};
}

ipam::Owner owner_of(const state::AttachmentRecord& record) {
    return {.key = owner_key(record.key),
            .pod_namespace = record.pod.pod_namespace,
            .pod_name = record.pod.name,
            .pod_uid = record.pod.uid,
            .netns_path = record.netns.path,
            .netns_cookie = record.netns.cookie,
            .netns_inode = record.netns.inode,
            .pid_view = record.pid_view,
            .boot_id = record.boot_id};
}

std::vector<state::RecordedLease> to_recorded(const std::vector<ipam::Lease>& leases) {
    std::vector<state::RecordedLease> recorded;
    recorded.reserve(leases.size());
    for (const ipam::Lease& lease : leases)
        recorded.push_back({.space = lease.space,
                            .slot = lease.slot,
                            .address = lease.address.to_string(),
                            .cooldown = static_cast<unsigned>(lease.cooldown.count())});
    return recorded;
}

std::vector<ipam::Lease> recorded_leases_of(const state::AttachmentRecord& record) {
    std::vector<ipam::Lease> leases;
    for (const state::RecordedLease& recorded : record.leases)
        if (const auto address = base::IpPrefix::parse(recorded.address))
            leases.push_back({.space = recorded.space,
                              .slot = recorded.slot,
                              .address = *address,
                              .owner = owner_of(record),
                              .since = record.created,
                              .cooldown = std::chrono::seconds(recorded.cooldown)});
    return leases;
}

std::vector<ipam::Lease> list_recorded_leases(const state::AttachmentStore& records, const std::string& boot_id,
                                              std::string_view store) {
    std::vector<state::AttachmentRecord> recorded_attachments = records.list().records;
    // If two records name one address, the younger one has it: the older attachment is dead and its lease was
    // reclaimed.
    sort_youngest_first(recorded_attachments, boot_id);
    std::vector<ipam::Lease> leases;
    for (const state::AttachmentRecord& record : recorded_attachments) {
        const auto where = record.lease_store;
        if ((where ? where->kind : "") != store) continue; // they are in another store
        for (ipam::Lease& lease : recorded_leases_of(record)) leases.push_back(std::move(lease));
    }
    return leases;
}

bool has_leases_in_other_role(const state::AttachmentKey& key, const state::AttachmentStore& records) {
    try {
        const auto outcome = records.load(key.with_role(key.role.empty() ? state::kIpamRole : ""));
        const auto* beside = std::get_if<state::AttachmentRecord>(&outcome);
        return beside != nullptr && !beside->leases.empty();
    } catch (const base::SystemError&) {
        return false; // addresses are released whatever else fails
    }
}

} // namespace rdmanet::attach
