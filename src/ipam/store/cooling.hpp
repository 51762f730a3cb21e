// The table `cooling`: released addresses that rest, because their peers still remember who had them.
#pragma once

#include "database.hpp"

#include <rdmanet/ipam/store.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rdmanet::ipam {

/// Times are seconds since boot. A rest that would last longer than a day stems from another boot, and is over.
class Cooling {
public:
    Cooling(Database& database, std::int64_t now) : database_(database), now_(now) {}

    void insert(const std::string& space, const base::IpAddress& address, std::chrono::seconds rest);
    /// False if it does not rest.
    bool erase(const std::string& space, const base::IpAddress& address);

    /// Up to `most` addresses of the space whose rest is over.
    [[nodiscard]] std::vector<base::IpAddress> rested(const std::string& space, std::int64_t most);
    /// The address in the claim's intervals whose rest ends first, or has ended.
    [[nodiscard]] std::optional<base::IpAddress> longest_resting(const Claim& claim);
    /// How many addresses in the claim's intervals rest.
    [[nodiscard]] std::uint64_t count(const Claim& claim);

private:
    Database& database_;
    std::int64_t now_;
};

} // namespace rdmanet::ipam
