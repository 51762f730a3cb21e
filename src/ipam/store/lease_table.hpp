// The table `leases`. AddressPool keeps `runs` and `cooling` in agreement with it.
#pragma once

#include "database.hpp"

#include <rdmanet/ipam/lease.hpp>
#include <rdmanet/ipam/store.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace rdmanet::ipam {

class LeaseTable {
public:
    explicit LeaseTable(Database& database) : database_(database) {}

    void insert(const Lease& lease);
    /// False if its address, or its owner's slot, is there already.
    bool insert_if_free(const Lease& lease);
    /// False if it is not held by the same attachment.
    bool erase(const Lease& lease);
    /// False if it is not held by the same attachment.
    bool set_owner(const Lease& lease, const Owner& owner);

    [[nodiscard]] std::optional<Lease> find(const std::string& space, const base::IpAddress& address);
    /// By slot.
    [[nodiscard]] std::vector<Lease> find_by_owner(const OwnerKey& key);
    [[nodiscard]] std::vector<Lease> find_by_pod(const Owner& owner);
    /// Whether find_by_owner() or find_by_pod() would find one. The indices alone tell, so it takes a third of their
    /// time.
    [[nodiscard]] bool has_any_of_pod(const Owner& owner);
    [[nodiscard]] std::vector<Lease> list_all();
    /// In the claim's intervals, by address, after `after`.
    [[nodiscard]] std::vector<Lease> list(const Claim& claim, const std::optional<base::IpAddress>& after,
                                          std::size_t most);
    [[nodiscard]] std::uint64_t count(const Claim& claim);

private:
    Database& database_;
};

} // namespace rdmanet::ipam
