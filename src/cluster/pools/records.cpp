#include "records.hpp"

#include "api.hpp"

#include <chrono>

namespace rdmanet::cluster {

using ipam::Lease;
using ipam::Owner;

bool is_own(const PoolRecord& record, const ipam::OwnerKey& key) {
    return record.is_of(key.container_id, key.ifname);
}

bool is_unchanged(const PoolRecord& record, const Lease& lease) {
    return record.id == lease.owner.key.container_id && record.podref == podref_of(lease.owner) &&
           (record.ifname.empty() || record.ifname == lease.owner.key.ifname);
}

Lease WhereaboutsRecords::lease_of(const Place& place, const PoolRecord& record, std::size_t slot) const {
    return {.space = place.space,
            .slot = static_cast<unsigned>(slot),
            .address = base::IpPrefix::make(record.address, place.subnet.length()).value(),
            .owner = owner_of(record),
            .since = 0,
            .cooldown = std::chrono::seconds(0)};
}

bool WhereaboutsRecords::is_local(const PoolRecord& record) const {
    return !known_owner_ || find_owner(record);
}

std::optional<Owner> WhereaboutsRecords::find_owner(const PoolRecord& record) const {
    if (!known_owner_) return std::nullopt;
    auto known = known_owner_(record.id, record.ifname);
    return known && podref_of(*known) == record.podref ? std::move(known) : std::nullopt;
}

Owner WhereaboutsRecords::owner_of(const PoolRecord& record) const {
    if (auto known = find_owner(record)) return *std::move(known);
    Owner owner;
    owner.key = {.network = {}, .container_id = record.id, .ifname = record.ifname};
    const auto slash = record.podref.find('/');
    if (slash != std::string::npos) owner.pod_namespace = record.podref.substr(0, slash);
    owner.pod_name = slash == std::string::npos ? record.podref : record.podref.substr(slash + 1);
    return owner;
}

} // namespace rdmanet::cluster
