#include "cooling.hpp"

namespace rdmanet::ipam {
namespace {

constexpr std::int64_t kLongestRest = 86400; // what a configuration may ask for

} // namespace

void Cooling::insert(const std::string& space, const base::IpAddress& address, std::chrono::seconds rest) {
    database_.run("INSERT INTO cooling(space, address, until) VALUES(?1, ?2, ?3)", space, AddressKey(address),
                  now_ + rest.count());
}

bool Cooling::erase(const std::string& space, const base::IpAddress& address) {
    return database_.run("DELETE FROM cooling WHERE space = ?1 AND address = ?2", space, AddressKey(address)) != 0;
}

std::vector<base::IpAddress> Cooling::rested(const std::string& space, std::int64_t most) {
    Query query = database_.query("SELECT address FROM cooling WHERE space = ?1 AND until <= ?2 UNION ALL "
                                  "SELECT address FROM cooling WHERE space = ?1 AND until > ?3 LIMIT ?4",
                                  space, now_, now_ + kLongestRest, most);
    std::vector<base::IpAddress> addresses;
    while (query.step()) addresses.push_back(query.address(0));
    return addresses;
}

std::optional<base::IpAddress> Cooling::longest_resting(const Claim& claim) {
    std::optional<base::IpAddress> found;
    std::int64_t soonest = 0;
    for (const Interval& interval : claim.usable) {
        Query query = database_.query("SELECT address, until FROM cooling WHERE space = ?1 "
                                      "AND address BETWEEN ?2 AND ?3 ORDER BY until, address LIMIT 1",
                                      claim.space, AddressKey({claim.family, interval.first}),
                                      AddressKey({claim.family, interval.last}));
        if (!query.step() || (found && query.integer(1) >= soonest)) continue;
        found = query.address(0);
        soonest = query.integer(1);
    }
    return found;
}

std::uint64_t Cooling::count(const Claim& claim) {
    std::uint64_t count = 0;
    for (const Interval& interval : claim.usable) {
        Query query = database_.query("SELECT count(*) FROM cooling WHERE space = ?1 AND address BETWEEN ?2 AND ?3 "
                                      "AND until > ?4 AND until <= ?5",
                                      claim.space, AddressKey({claim.family, interval.first}),
                                      AddressKey({claim.family, interval.last}), now_, now_ + kLongestRest);
        if (query.step()) count += static_cast<std::uint64_t>(query.integer(0));
    }
    return count;
}

} // namespace rdmanet::ipam
