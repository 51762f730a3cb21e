// Blocks whose node is gone: marking and freeing them.
#pragma once

#include "../blocks/blocks_api.hpp"
#include "cluster_view.hpp"

#include <rdmanet/base/deadline.hpp>
#include <rdmanet/cluster/reconcile.hpp>

#include <optional>
#include <string>
#include <vector>

namespace rdmanet::cluster {

class ReconciledBlocks {
public:
    ReconciledBlocks(kube::Api& api, ReconcileOptions::Act act, Reconciled& into);

    /// The view only says which blocks to look at. Throws ipam::StoreError.
    void run(ClusterView& view, const base::Deadline& deadline);

private:
    enum class Outcome : std::uint8_t { stays, goes };
    [[nodiscard]] Outcome judge(const BlockObject& listed, ClusterView& view, const base::Deadline& deadline);
    [[nodiscard]] Outcome mark(BlockObject block, const GoneMark& mark, NodeFate fate, const base::Deadline& deadline);
    [[nodiscard]] Outcome free(const BlockObject& block, NodeFate fate, const base::Deadline& deadline);
    Outcome keep(const BlockObject& block, std::string why);
    [[nodiscard]] bool is_exclusive(const AddressRange& range, const std::vector<BlockObject>& blocks) const;
    void write_status(const std::vector<AddressRange>& ranges, const std::vector<BlockObject>& blocks,
                      const base::Deadline& deadline);

    BlocksApi api_;
    Requests requests_;
    ReconcileOptions::Act act_;
    Reconciled& into_;
    std::optional<std::vector<PoolName>> pools_{}; // of all namespaces, if all blocks could be read
};

} // namespace rdmanet::cluster
