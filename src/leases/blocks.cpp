#include "cluster_leases.hpp"
#include "files.hpp"
#include "recorded.hpp"

#include <rdmanet/base/boot_memory.hpp>
#include <rdmanet/base/format.hpp>

#include <algorithm>
#include <set>
#include <utility>

namespace rdmanet::leases {
namespace {

state::LeaseStore in_blocks(const std::string& kubeconfig, const std::string& node_name) {
    return {.kind = store_word(ipam::StoreKind::blocks), .kubeconfig = kubeconfig, .pools = {}, .node_name = node_name};
}

} // namespace

std::vector<std::string> Leases::confirm_blocks(const base::Deadline& deadline) {
    if (!has_block_file(node_)) return {};
    ipam::BlockFile file = open_block_file(node_, records_);
    std::set<std::pair<std::string, std::string>> clusters;
    for (const ipam::BlockRange& range : repairing(file, node_, deadline, [&] { return file.ranges(); }))
        clusters.emplace(range.kubeconfig, range.node_name);
    if (clusters.empty()) // a file that was made again from the journal
        for (const state::AttachmentRecord& record : records_.list().records)
            if (record.lease_store && record.lease_store->kind == store_word(ipam::StoreKind::blocks))
                clusters.emplace(record.lease_store->kubeconfig, record.lease_store->node_name);
    std::vector<std::string> owed;
    for (const auto& [kubeconfig, node_name] : clusters) {
        try {
            ClusterLeases(in_blocks(kubeconfig, node_name), node_, records_).confirm_blocks(deadline);
        } catch (const base::Error& error) {
            const std::vector<ipam::Block> blocks = file.blocks();
            const bool is_owing = std::any_of(blocks.begin(), blocks.end(), [](const ipam::Block& block) {
                return block.state == ipam::BlockState::going;
            });
            std::string text = fmt::format("blocks of addresses, by kubeconfig {}: {}", kubeconfig, error.what());
            if (is_owing)
                owed.push_back(std::move(text));
            else
                node_.log.warn(text);
        }
    }
    return owed;
}

void Leases::give_back_earlier_blocks(const std::string& kubeconfig, const std::string& node_name,
                                      const base::Deadline& deadline) {
    const base::BootMemory memory(node_.state_directory, node_.boot_id, "earlier-blocks",
                                  fmt::format("{}\n{}", kubeconfig, node_name));
    if (memory.find()) return;
    ClusterLeases(in_blocks(kubeconfig, node_name), node_, records_).confirm_blocks(deadline);
    memory.note("looked");
}

} // namespace rdmanet::leases
