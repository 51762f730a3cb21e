#include "block_leases.hpp"

#include "leases.hpp"
#include "node_store.hpp"
#include "shared_leases.hpp"

#include <rdmanet/attach/machine.hpp>
#include <rdmanet/attach/recorded_leases.hpp>
#include <rdmanet/base/boot_memory.hpp>
#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>

#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

namespace rdmanet::attach {
namespace {

state::LeaseStore in_blocks(const std::string& kubeconfig, const std::string& node_name) {
    return {.kind = kBlocks, .kubeconfig = kubeconfig, .pools = {}, .node_name = node_name};
}

void append(std::vector<ipam::Lease>& all, std::vector<ipam::Lease> more) {
    all.insert(all.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

} // namespace

ipam::BlockFile open_block_leases(const Node& node, const state::AttachmentStore& records) {
    return ipam::BlockFile(
        {.state_directory = node.state_directory, .boot_id = node.boot_id, .known_leases = [&node, &records] {
             return list_recorded_leases(records, node.boot_id, kBlocks);
         }});
}

cluster::BlocksStore::Options block_options(const Node& node, const std::string& node_name) {
    cluster::BlocksStore::Options options;
    options.node_name = node_name_or_host(node_name);
    options.machine_id = machine_id_or_none();
    options.boot_id = node.boot_id;
    options.state_directory = node.state_directory;
    options.warn = [&node](const std::string& text) { node.log.warn(text); };
    options.report = [&node](const std::string& text) { node.log.error(text); };
    return options;
}

bool has_block_file(const Node& node) {
    return ipam::BlockFile({.state_directory = node.state_directory}).is_there();
}

std::vector<ipam::Lease> list_all_leases(NodeStore& leases, const state::AttachmentStore& records, const Node& node,
                                         const base::Deadline& deadline) {
    std::vector<ipam::Lease> all = leases.list(deadline);
    if (!has_block_file(node)) return all;
    ipam::BlockFile file = open_block_leases(node, records);
    append(all, repairing(file, node, deadline, [&] { return file.list_all(deadline); }));
    return all;
}

NodeLeases read_node_leases(const Node& node, const state::AttachmentStore& records, const base::Deadline& deadline) {
    NodeLeases leases{.own = NodeStore(node, records).list_unrepaired(deadline)};
    if (!has_block_file(node)) return leases;
    ipam::BlockFile file = open_block_leases(node, records);
    leases.in_blocks = file.list_all(deadline);
    leases.blocks = file.blocks(deadline);
    leases.block_file = file.id(deadline);
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
    (void)repairing(file, node, deadline, [&] { return file.release(key, deadline); });
}

std::vector<std::string> settle_blocks(const Node& node, const state::AttachmentStore& records,
                                       const base::Deadline& deadline) {
    std::vector<std::string> failed;
    if (!has_block_file(node)) return failed;
    const auto attempt = [&](const auto& act) {
        try {
            act();
        } catch (const base::Error& error) {
            std::string text = fmt::format("blocks of addresses that go back to the cluster: {}", error.what());
            if (std::find(failed.begin(), failed.end(), text) == failed.end()) failed.push_back(std::move(text));
        }
    };
    std::set<std::pair<std::string, std::string>> clusters;
    attempt([&] {
        ipam::BlockFile file = open_block_leases(node, records);
        for (const ipam::BlockRange& range : repairing(file, node, deadline, [&] { return file.ranges(deadline); }))
            clusters.emplace(range.kubeconfig, range.node_name);
    });
    for (const auto& [kubeconfig, node_name] : clusters) {
        SharedLeases leases(in_blocks(kubeconfig, node_name), node, records);
        attempt([&] { leases.settle(deadline); });
        try {
            (void)leases.tidy(deadline);
        } catch (const base::Error& error) { // this node owes nothing for it
            node.log.warn(fmt::format("blocks of addresses are looked for at the next call: {}", error.what()));
        }
    }
    return failed;
}

void look_for_earlier_blocks(const std::string& kubeconfig, const std::string& node_name, const Node& node,
                             const state::AttachmentStore& records, const base::Deadline& deadline) {
    const base::BootMemory memory(node.state_directory, node.boot_id, "cluster-blocks",
                                  fmt::format("{}\n{}", kubeconfig, node_name));
    if (memory.find()) return;
    if (SharedLeases(in_blocks(kubeconfig, node_name), node, records).tidy(deadline)) memory.note("looked");
}

} // namespace rdmanet::attach
