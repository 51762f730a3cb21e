#include "whereabouts_reserved.hpp"

#include "blocks/objects.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/ipam/errors.hpp>

namespace rdmanet::cluster {

using ipam::StoreError;

bool give_back_reserved(WhereaboutsApi& objects, const std::string& name, const Reservation& reservation,
                        const base::Deadline& deadline) {
    if (!reservation.place || !reservation.address) return true;
    const auto pool = objects.find_pool(*reservation.place, deadline);
    if (const PoolRecord* record = pool ? pool->find(*reservation.address) : nullptr) {
        // whereabouts has given the address to the pod's next container.
        if (record->podref != reservation.podref || !record->is_of(*reservation.container_id, reservation.ifname))
            return true;
        if (objects.give_back(*reservation.place, *record, deadline) != Written::yes) return false;
    }
    return objects.unreserve(name, reservation, deadline) != Written::unknown;
}

namespace {

std::vector<std::pair<std::string, Reservation>> reserved_for(const ipam::OwnerKey& key, WhereaboutsApi& objects,
                                                              const std::function<void(const std::string&)>& warn,
                                                              const base::Deadline& deadline) try {
    if (objects.node().name.empty()) return {};
    auto reserved = objects.list_reservations(label_value(objects.node().name), deadline);
    std::erase_if(reserved, [&](const auto& one) {
        return one.second.container_id != key.container_id || one.second.ifname != key.ifname;
    });
    return reserved;
} catch (const StoreError& error) {
    if (error.temporary()) throw;
    if (warn)
        warn(fmt::format("not known whether container {} has addresses in pools that its network does not name: {}",
                         key.container_id, error.what()));
    return {};
}

} // namespace

std::vector<std::pair<Place, PoolRecord>> give_back_reserved_for(const ipam::OwnerKey& key, WhereaboutsApi& objects,
                                                                 const std::function<void(const std::string&)>& warn,
                                                                 const base::Deadline& deadline) {
    std::vector<std::pair<Place, PoolRecord>> given_back;
    for (const auto& [name, reservation] : reserved_for(key, objects, warn, deadline)) {
        if (!give_back_reserved(objects, name, reservation, deadline))
            throw StoreError(StoreError::Kind::temporary,
                             fmt::format("lease store: OverlappingRangeIPReservation {} or its address has changed "
                                         "while it was given back",
                                         name));
        if (reservation.place && reservation.address)
            given_back.emplace_back(*reservation.place, PoolRecord{.key = {},
                                                                   .address = *reservation.address,
                                                                   .id = key.container_id,
                                                                   .podref = reservation.podref,
                                                                   .ifname = reservation.ifname,
                                                                   .text = {}});
    }
    return given_back;
}

} // namespace rdmanet::cluster
