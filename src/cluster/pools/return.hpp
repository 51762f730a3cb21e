// How addresses go back: the reservation, then the pool's record, each only if it is still what was seen.
#pragma once

#include "api.hpp"
#include "pool.hpp"
#include "pools.hpp"

#include <rdmanet/base/deadline.hpp>
#include <rdmanet/ipam/lease.hpp>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rdmanet::cluster {

/// A reservation of whereabouts says no container. It may be that of the pod's earlier container, in another pool.
[[nodiscard]] bool is_of(const Reservation& reservation, const ipam::Owner& owner);
[[nodiscard]] bool is_of(const Reservation& reservation, const PoolRecord& record);

class WhereaboutsReturn {
public:
    /// With `has_open_claim`, only reservations that say their container are the owner's.
    WhereaboutsReturn(WhereaboutsApi& api, WhereaboutsPools& pools, std::string name_space, bool has_open_claim)
        : api_(api), pools_(pools), name_space_(std::move(name_space)), has_open_claim_(has_open_claim) {}

    /// All of the pool that the owner has. Each call throws ipam::StoreError.
    std::vector<PoolRecord> give_back_own(const Place& place, const ipam::OwnerKey& key,
                                          const base::Deadline& deadline);
    /// The reservation goes first: what is left after a crash in between is found by its container in the pool. False
    /// if the record is another one by now.
    bool give_back(const Place& place, const PoolRecord& record, const base::Deadline& deadline);
    /// Where the reservation is another's.
    void give_back_record(const Place& place, const ipam::OwnerKey& key, const base::Deadline& deadline);
    /// Only what says our container is ours: the pool's record that would say so is gone.
    void unreserve_own(const std::string& name, const ipam::OwnerKey& key, const base::Deadline& deadline);

private:
    template <class IsOurs>
    void unreserve(const std::string& name, IsOurs is_ours, const base::Deadline& deadline);
    [[nodiscard]] bool remove(const Place& place, const PoolRecord& record, const base::Deadline& deadline);
    [[noreturn]] void not_known(std::string_view what, const std::string& name) const;

    WhereaboutsApi& api_;
    WhereaboutsPools& pools_;
    std::string name_space_;
    bool has_open_claim_;
};

} // namespace rdmanet::cluster
