// What pods have left in pools, and freeing it.
#pragma once

#include "../blocks/objects.hpp"
#include "../pools/api.hpp"

#include <rdmanet/base/deadline.hpp>
#include <rdmanet/cluster/reconcile.hpp>

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace rdmanet::cluster {

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
