#include "reserved.hpp"

namespace rdmanet::cluster {

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

} // namespace rdmanet::cluster
