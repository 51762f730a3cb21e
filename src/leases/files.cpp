#include "files.hpp"

#include "recorded.hpp"

#include <rdmanet/base/format.hpp>

#include <utility>

namespace rdmanet::leases {

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

ipam::BlockFile open_block_file(const Node& node, const state::AttachmentStore& records) {
    return ipam::BlockFile(
        {.state_directory = node.state_directory, .boot_id = node.boot_id, .known_leases = [&node, &records] {
             return list_recorded_leases(records, node.boot_id, store_word(ipam::StoreKind::blocks));
         }});
}

bool has_block_file(const Node& node) {
    return ipam::BlockFile({.state_directory = node.state_directory}).is_there();
}

void log_repair(const Node& node, const ipam::DamagedStore& damage, const std::optional<std::string>& moved) {
    node.log.error(moved ? fmt::format("{}; it was rebuilt from the journal, and the damaged file is now {}",
                                       damage.what(), *moved)
                         : fmt::format("{}; it was rebuilt from the journal", damage.what()));
}

} // namespace rdmanet::leases
