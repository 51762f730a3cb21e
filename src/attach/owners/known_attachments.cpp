#include "known_attachments.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace rdmanet::attach {
namespace {

using state::AttachmentKey;
using state::AttachmentRecord;

AttachmentRecord record_from(const ipam::Lease& lease) {
    const ipam::Owner& owner = lease.owner;
    AttachmentRecord record;
    record.key = {.network = owner.key.network, .container_id = owner.key.container_id, .ifname = owner.key.ifname};
    record.boot_id = owner.boot_id;
    record.pid_view = owner.pid_view;
    record.netns = {.path = owner.netns_path, .inode = owner.netns_inode, .cookie = owner.netns_cookie};
    record.pod = {.pod_namespace = owner.pod_namespace, .name = owner.pod_name, .uid = owner.pod_uid};
    record.ips.push_back(lease.address.to_string());
    return record;
}

} // namespace

std::vector<KnownAttachment> list_known_attachments(const state::AttachmentStore& records,
                                                    const std::vector<ipam::Lease>& leases) {
    state::AttachmentStore::Listing listing = records.list();
    std::map<AttachmentKey, KnownAttachment> known;
    for (AttachmentRecord& record : listing.records) known[record.key].record = std::move(record);
    const auto has_file = [&](const AttachmentKey& key) {
        return known.contains(key) || std::any_of(listing.unreadable.begin(), listing.unreadable.end(),
                                                  [&](const state::Unreadable& file) { return file.key == key; });
    };
    for (const ipam::Lease& lease : leases) {
        AttachmentRecord record = record_from(lease);
        if (AttachmentKey ipam = record.key.with_role(state::kIpamRole); has_file(ipam)) record.key = std::move(ipam);
        const auto [at, is_new] = known.try_emplace(record.key);
        if (is_new) at->second.record = std::move(record);
    }
    std::vector<KnownAttachment> list;
    for (state::Unreadable& file : listing.unreadable) {
        if (!file.key) {
            list.push_back({.record = {}, .unreadable = std::move(file)});
            continue;
        }
        KnownAttachment& attachment = known[*file.key];
        attachment.record.key = *file.key;
        attachment.unreadable = std::move(file);
    }
    for (auto& [key, attachment] : known) list.push_back(std::move(attachment));
    return list;
}

} // namespace rdmanet::attach
