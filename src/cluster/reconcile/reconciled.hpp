// What pods have left in pools, and blocks whose node is gone: finding, marking and freeing it.
#pragma once

#include "../blocks/blocks_api.hpp"
#include "../pools/api.hpp"
#include "cluster_view.hpp"

#include <rdmanet/base/deadline.hpp>
#include <rdmanet/cluster/reconcile.hpp>

#include <functional>
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

struct NamedReservation {
    std::string name;
    Reservation content;
};

/// A record of a pool, its reservation, or both.
struct PoolLease {
    Left left;
    std::string pod_namespace;
    std::string pod_name;
    NodeMark holder{}; // empty, or of the container that has the record
    std::optional<PoolRecord> record{};
    std::optional<NamedReservation> reservation{};

    /// Changes with all that is written in it.
    [[nodiscard]] std::string identity() const;
};

struct PoolLeases {
    SeenKind pools{};
    std::vector<PoolLease> leases{};
    std::size_t foreign = 0; // name no pod
    std::size_t unreadable = 0;
};

class ReconciledPools {
public:
    ReconciledPools(kube::Api& api, std::string name_space);

    [[nodiscard]] PoolLeases list(const base::Deadline& deadline);

    /// Frees those that have not changed: one patch for those of one pool. Calls `tell` for each, with the reason why
    /// it stays, or none. Throws ipam::StoreError.
    using Tell = std::function<void(PoolLease&, const std::string& why)>;
    void free(std::vector<PoolLease> leases, const Tell& tell, const base::Deadline& deadline);

private:
    void free_records(const std::string& pool, std::vector<PoolLease*> leases, const Tell& tell,
                      const base::Deadline& deadline);
    [[nodiscard]] std::string unreserve(const PoolLease& lease, const base::Deadline& deadline);
    [[nodiscard]] std::string restore(const PoolLease& lease, const PoolRecord& now, const base::Deadline& deadline);

    Requests requests_;
    WhereaboutsApi api_;
    std::string path_;
};

} // namespace rdmanet::cluster
