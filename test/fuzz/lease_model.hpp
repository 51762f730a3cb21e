// The model of a lease store: a map from addresses to holders.
#pragma once

#include <rdmanet/ipam/store.hpp>

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace rdmanet::fuzz {

class LeaseModel {
public:
    using Place = std::pair<std::string, base::IpAddress>; // space, address

    /// Checks that `outcome` is right, and adopts what was granted.
    void reserve(const ipam::Owner& owner, const std::vector<ipam::Claim>& claims, const ipam::ReserveOutcome& outcome,
                 std::int64_t now);
    void release(const ipam::OwnerKey& key, std::vector<ipam::Lease> released, std::int64_t now);
    void reclaim(const std::vector<ipam::Lease>& asked, const std::vector<ipam::Lease>& reclaimed, std::int64_t now);
    void adopt(const std::vector<ipam::Lease>& asked, const ipam::Owner& successor,
               const std::vector<ipam::Lease>& adopted);
    void restore(const std::vector<ipam::Lease>& leases, std::size_t count);

    [[nodiscard]] std::vector<ipam::Lease> list_all() const;
    [[nodiscard]] std::vector<ipam::Lease> find(const ipam::OwnerKey& key) const;
    [[nodiscard]] ipam::Usage usage(const ipam::Claim& claim, std::int64_t now) const;

private:
    void check_taken(const ipam::Owner& owner, const ipam::Claim& claim, const ipam::Lease& holder) const;
    void check_exhausted(const std::vector<ipam::Claim>& claims, const ipam::Claim& claim) const;
    void take_over(const ipam::Owner& owner, const std::vector<ipam::Claim>& claims,
                   const std::vector<ipam::Lease>& leases, std::int64_t now);
    void check_new(const ipam::Claim& claim, const ipam::Lease& lease, const std::set<Place>& given,
                   std::int64_t now) const;
    /// Whether the place was the pod's, and no other's since.
    [[nodiscard]] bool was_of(const Place& place, const ipam::Owner& owner) const;
    [[nodiscard]] bool is_resting(const Place& place, std::int64_t now) const;
    void give_back(const ipam::Lease& lease, std::int64_t now);
    [[nodiscard]] bool holds_slot(const ipam::OwnerKey& key, unsigned slot) const;

    std::map<Place, ipam::Lease> held_;
    std::map<Place, std::int64_t> resting_until_;
    std::map<Place, std::string> last_pod_; // while the address is remembered for it
};

} // namespace rdmanet::fuzz
