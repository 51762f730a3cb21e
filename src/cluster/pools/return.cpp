#include "../tries.hpp"
#include "claim.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/ipam/errors.hpp>

#include <algorithm>
#include <iterator>

namespace rdmanet::cluster {

using ipam::OwnerKey;
using ipam::StoreError;

bool is_of(const Reservation& reservation, const ipam::Owner& owner) {
    return reservation.podref == podref_of(owner) && reservation.ifname == owner.key.ifname &&
           reservation.container_id.value_or(owner.key.container_id) == owner.key.container_id;
}

bool is_of(const Reservation& reservation, const PoolRecord& record) {
    return reservation.podref == record.podref && reservation.ifname == record.ifname &&
           reservation.container_id.value_or(record.id) == record.id;
}

/// As often as somebody changes it while it is ours: an heir writes its name into the object that it inherits.
template <class IsOurs>
void WhereaboutsReturn::unreserve(const std::string& name, IsOurs is_ours, const base::Deadline& deadline) {
    for (int attempt = 0; attempt < kMostTries; ++attempt) {
        pause_before(attempt, deadline);
        const auto reservation = api_.find_reservation(name, deadline);
        if (!reservation || !is_ours(*reservation)) return;
        const Written written = api_.unreserve(name, *reservation, deadline);
        if (written == Written::yes) return;
        if (written == Written::unknown) not_known("DELETE of OverlappingRangeIPReservation", name);
    }
    throw StoreError(StoreError::Kind::temporary,
                     fmt::format("lease store: OverlappingRangeIPReservation {}/{} has changed {} times while it "
                                 "was to be deleted",
                                 name_space_, name, kMostTries));
}

std::vector<PoolRecord> WhereaboutsReturn::give_back_own(const Place& place, const OwnerKey& key,
                                                         const base::Deadline& deadline) {
    std::vector<PoolRecord> own;
    if (const Pool* const pool = pools_.read(place, deadline))
        std::ranges::copy_if(pool->records, std::back_inserter(own),
                             [&](const PoolRecord& record) { return is_own(record, key); });
    pools_.forget(place);
    std::erase_if(own, [&](const PoolRecord& record) { return !give_back(place, record, deadline); });
    return own;
}

bool WhereaboutsReturn::give_back(const Place& place, const PoolRecord& record, const base::Deadline& deadline) {
    if (has_reservations(place))
        unreserve(
            reservation_name(place.space, record.address),
            [&](const Reservation& reservation) {
                return is_of(reservation, record) && (reservation.container_id || !has_open_claim_);
            },
            deadline);
    return remove(place, record, deadline);
}

void WhereaboutsReturn::give_back_record(const Place& place, const OwnerKey& key, const base::Deadline& deadline) {
    if (const auto pool = api_.find_pool(place, deadline))
        for (const PoolRecord& record : pool->records)
            if (record.is_of(key.container_id, key.ifname)) (void)remove(place, record, deadline);
}

/// The server also answers 422 where the object would not be as its schema or a policy wants it. Then the record is
/// still there.
bool WhereaboutsReturn::remove(const Place& place, const PoolRecord& record, const base::Deadline& deadline) {
    const Written written = api_.give_back(place, record, deadline);
    if (written == Written::unknown) not_known("PATCH of IPPool", pool_name(place));
    if (written == Written::yes) return true;
    const std::string why = api_.last_refusal();
    const auto pool = api_.find_pool(place, deadline);
    const PoolRecord* const now = pool ? pool->find(record.address) : nullptr;
    if (now != nullptr && now->key == record.key && now->text == record.text)
        throw StoreError(StoreError::Kind::permanent, fmt::format("lease store: {}", why));
    return false;
}

void WhereaboutsReturn::unreserve_own(const std::string& name, const OwnerKey& key, const base::Deadline& deadline) {
    unreserve(
        name,
        [&](const Reservation& reservation) {
            return reservation.container_id == key.container_id && reservation.ifname == key.ifname;
        },
        deadline);
}

void WhereaboutsReturn::not_known(std::string_view what, const std::string& name) const {
    throw StoreError(StoreError::Kind::temporary,
                     fmt::format("lease store: no answer says whether the {} {}/{} was done{}", what, name_space_, name,
                                 what_is_known(api_.last_unknown())));
}

} // namespace rdmanet::cluster
