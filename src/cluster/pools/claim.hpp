// How an address of a pool is taken: the pool's record, then the reservation. It goes back the other way round, each
// only if it is still what was seen.
#pragma once

#include "api.hpp"
#include "check.hpp"
#include "pools.hpp"
#include "records.hpp"
#include "rest_memory.hpp"

#include <rdmanet/base/deadline.hpp>
#include <rdmanet/cluster/pools_store.hpp>
#include <rdmanet/http/pause.hpp>
#include <rdmanet/ipam/store.hpp>

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
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

/// What the store is made of.
struct PoolsParts {
    PoolsParts(kube::Api& server, WhereaboutsStore::Options options);
    PoolsParts(const PoolsParts&) = delete; // they refer to each other
    PoolsParts& operator=(const PoolsParts&) = delete;
    ~PoolsParts() = default;

    void note_claim(const ipam::Lease& lease) const {
        if (options.before_claim) options.before_claim(lease);
    }

    WhereaboutsStore::Options options;
    kube::Api& server;
    WhereaboutsApi api;
    CheckedPools checked;
    PoolCheck check;
    WhereaboutsPools pools;
    WhereaboutsReturn returns;
    RestMemory rest;
    WhereaboutsRecords records;
    std::vector<ipam::Lease> unsettled{}; // claims that got no answer
};

/// One address being taken.
class WhereaboutsClaim {
public:
    /// `avoided`: addresses that are not given.
    WhereaboutsClaim(PoolsParts& parts, const ipam::Owner& owner, const ipam::Claim& claim, std::size_t slot,
                     std::set<base::IpAddress> avoided);

    using Taken = std::variant<ipam::Lease, ipam::Taken, ipam::Exhausted>;
    /// Throws ipam::StoreError, and base::TimeoutError at the deadline.
    [[nodiscard]] Taken take(const base::Deadline& deadline);
    /// The wanted address, which the owner uses already, and what is made again for that. Whatever it has stays.
    [[nodiscard]] ipam::Regained regain(const ipam::Lease& lease, const base::Deadline& deadline);
    /// The owner did not have the lease before.
    [[nodiscard]] bool is_fresh() const { return is_fresh_; }

private:
    [[nodiscard]] std::optional<Taken> try_to_take(const Pool& pool, const base::Deadline& deadline);
    /// The wanted address or a free one, or why there is none.
    [[nodiscard]] std::variant<base::IpAddress, ipam::Taken, ipam::Exhausted>
    choose(const Pool& pool, const base::Deadline& deadline) const;
    [[nodiscard]] bool record(const Pool& pool, const base::IpAddress& address, const base::Deadline& deadline);
    [[nodiscard]] std::optional<Taken> secured(const Pool& pool, const base::IpAddress& address,
                                               const base::Deadline& deadline);
    [[nodiscard]] std::optional<base::IpAddress> secure(const Pool& pool, base::IpAddress address,
                                                        const base::Deadline& deadline);
    [[nodiscard]] std::optional<base::IpAddress> choose_unreserved(const Pool& pool, const base::IpAddress& address,
                                                                   const base::Deadline& deadline) const;
    [[nodiscard]] bool move_record(const Pool& pool, const base::IpAddress& address, const base::IpAddress& next,
                                   const base::Deadline& deadline);
    [[nodiscard]] std::set<base::IpAddress> reserved_by_others(const base::IpAddress& address,
                                                               const base::Deadline& deadline) const;
    [[nodiscard]] ipam::Taken taken_in_another_range(const base::IpAddress& address,
                                                     const base::Deadline& deadline) const;
    void check_size(const Pool& pool) const;
    [[nodiscard]] ipam::Lease lease_of(const base::IpAddress& address) const;
    [[nodiscard]] std::string tried() const;

    PoolsParts& parts_;
    const ipam::Owner& owner_;
    const ipam::Claim& claim_;
    std::size_t slot_;
    Place place_;
    std::set<base::IpAddress> avoided_;
    bool is_in_use_ = false;
    bool is_fresh_ = false;
    bool is_reserved_ = false; // by this claim, as far as it knows
    bool has_moved_ = false;   // once in a claim
    bool was_marked_ = false;  // when the pool was read last
    int lost_races_ = 0;
    std::string refused_version_; // of the pool when the server refused the last claim
    http::Stopwatch watch_;
};

} // namespace rdmanet::cluster
