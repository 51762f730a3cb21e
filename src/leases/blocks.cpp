#include "cluster_leases.hpp"
#include "recorded.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/leases/leases.hpp>

#include <set>
#include <utility>

namespace rdmanet::leases {
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
    std::vector<std::string> failed;
    for (const auto& [kubeconfig, node_name] : clusters) {
        try {
            ClusterLeases(place_without_record(ipam::StoreKind::blocks, kubeconfig, node_name), node_, records_)
                .confirm_blocks(deadline);
        } catch (const base::Error& error) {
            failed.push_back(
                fmt::format("unconfirmed blocks of addresses, by kubeconfig {}: {}", kubeconfig, error.what()));
        }
    }
    return failed;
}

void Leases::give_back_earlier_blocks(const std::string& kubeconfig, const std::string& node_name,
                                      const base::Deadline& deadline) {
    if (has_block_file(node_) && !open_block_file(node_, records_).ranges().empty()) return;
    ClusterLeases(place_without_record(ipam::StoreKind::blocks, kubeconfig, node_name), node_, records_)
        .confirm_blocks(deadline);
}

} // namespace rdmanet::leases
