#include "block_leases.hpp"

#include "leases.hpp"
#include "node_store.hpp"

#include <rdmanet/attach/recorded_leases.hpp>

#include <iterator>
#include <utility>

namespace rdmanet::attach {
namespace {

void append(std::vector<ipam::Lease>& all, std::vector<ipam::Lease> more) {
    all.insert(all.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

} // namespace

ipam::BlockFile open_block_leases(const Node& node, const state::AttachmentStore& records) {
    return ipam::BlockFile(
        {.state_directory = node.state_directory, .boot_id = node.boot_id, .known_leases = [&node, &records] {
             return list_recorded_leases(records, node.boot_id, store_word(ipam::StoreKind::blocks));
         }});
}

bool has_block_file(const Node& node) {
    return ipam::BlockFile({.state_directory = node.state_directory}).is_there();
}

std::vector<ipam::Lease> list_all_leases(NodeStore& leases, const state::AttachmentStore& records, const Node& node,
                                         const base::Deadline& deadline) {
    std::vector<ipam::Lease> all = leases.list(deadline);
    if (!has_block_file(node)) return all;
    ipam::BlockFile file = open_block_leases(node, records);
    append(all, repairing(file, node, deadline, [&] { return file.list_all(); }));
    return all;
}

NodeLeases read_node_leases(const Node& node, const state::AttachmentStore& records, const base::Deadline& deadline) {
    NodeLeases leases{.own = NodeStore(node, records).list_unrepaired(deadline)};
    if (!has_block_file(node)) return leases;
    ipam::BlockFile file = open_block_leases(node, records);
    leases.in_blocks = file.list_all();
    leases.blocks = file.blocks();
    return leases;
}

std::vector<ipam::Lease> read_leases(const Node& node, const state::AttachmentStore& records,
                                     const base::Deadline& deadline) {
    NodeLeases leases = read_node_leases(node, records, deadline);
    append(leases.own, std::move(leases.in_blocks));
    return std::move(leases.own);
}

void release_block_leases(const ipam::OwnerKey& key, const Node& node, const state::AttachmentStore& records,
                          const base::Deadline& deadline) {
    if (!has_block_file(node)) return;
    ipam::BlockFile file = open_block_leases(node, records);
    (void)repairing(file, node, deadline, [&] { return file.withdraw(key, {}, deadline); });
}

} // namespace rdmanet::attach
