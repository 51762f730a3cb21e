#include "regain.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/http/pause.hpp>
#include <rdmanet/ipam/errors.hpp>

#include <algorithm>
#include <chrono>

namespace rdmanet::cluster {
namespace {

constexpr const char* kTakeAnother = "delete the pod, so that it gets another address";
constexpr int kMostRegainTries = 10;

void pause_before_regain(int attempt, const base::Deadline& deadline) {
    constexpr std::chrono::milliseconds kStep{20};
    if (attempt != 0) http::pause(std::min(http::with_jitter(kStep * attempt), deadline.remaining()));
}

[[noreturn]] void refuse_as_busy(const std::string& what) {
    throw ipam::StoreError(
        ipam::StoreError::Kind::temporary,
        fmt::format("lease store: {} has changed {} times meanwhile: try again", what, kMostRegainTries));
}

} // namespace

ipam::Regained WhereaboutsRegain::regain(const ipam::Lease& lease, const base::Deadline& deadline) {
    const Place place = place_of(lease);
    ipam::Regained regained{.lease = lease};
    regain_record(place, regained, deadline);
    const bool is_fresh = !regained.made.empty();
    if (regained.refused.empty() && has_reservations(place)) regain_reservation(place, is_fresh, regained, deadline);
    if (!regained.refused.empty() && is_fresh) {
        take_back(place, lease, deadline);
        regained.made.clear();
    }
    return regained;
}

void WhereaboutsRegain::regain_record(const Place& place, ipam::Regained& regained, const base::Deadline& deadline) {
    const ipam::Lease& lease = regained.lease;
    const ipam::OwnerKey& owner = lease.owner.key;
    const std::string name = pool_name(place);
    for (int attempt = 0; attempt < kMostRegainTries; ++attempt) {
        pause_before_regain(attempt, deadline);
        std::optional<Pool> pool = api_.find_pool(place, deadline);
        if (pool) {
            if (const PoolRecord* record = pool->find(lease.address.address())) {
                if (!record->is_of(owner.container_id, owner.ifname))
                    regained.refused =
                        fmt::format("IPPool {} has it for pod {}, container {} by now: {}", name,
                                    base::quoted(record->podref), base::quoted(record->id), kTakeAnother);
                else if (attempt != 0)
                    regained.made.push_back(fmt::format("its record in IPPool {}", name));
                return;
            }
        } else {
            pool = api_.get_pool(place, deadline);
        }
        if (!may_use(place, *pool, regained, deadline)) {
            if (!regained.refused.empty()) return;
            continue;
        }
        const auto key = key_of(lease.address.address(), pool->range);
        if (!key) {
            regained.refused =
                fmt::format("it is not in the range of IPPool {}, {}: {}", name, pool->range, kTakeAnother);
            return;
        }
        notes_.before_claim(lease);
        const Written written = api_.take(place, *pool, *key, lease.owner, deadline);
        if (written == Written::unknown) notes_.unsettled(lease);
        if (written != Written::yes) continue;
        regained.made.push_back(fmt::format("its record in IPPool {}", name));
        return;
    }
    refuse_as_busy(fmt::format("IPPool {}", name));
}

/// Blocks that have the range by now may have given the address.
bool WhereaboutsRegain::may_use(const Place& place, const Pool& pool, ipam::Regained& regained,
                                const base::Deadline& deadline) try {
    return check_.may_use(place, pool, deadline);
} catch (const MissingRight&) {
    throw;
} catch (const RangeMoved& covered) {
    regained.refused = fmt::format("{}: {}", covered.what(), kTakeAnother);
    return false;
} catch (const ipam::StoreError& refusal) {
    if (refusal.temporary()) throw;
    regained.refused = fmt::format("{}: {}", refusal.what(), kTakeAnother);
    return false;
}

/// As for an ADD: a reservation without a container is whereabouts', and is this attachment's only if its record in the
/// pool was there all the time.
void WhereaboutsRegain::regain_reservation(const Place& place, bool is_fresh, ipam::Regained& regained,
                                           const base::Deadline& deadline) {
    const ipam::Lease& lease = regained.lease;
    const std::string name = reservation_name(place.space, lease.address.address());
    for (int attempt = 0; attempt < kMostRegainTries; ++attempt) {
        pause_before_regain(attempt, deadline);
        if (const auto reservation = api_.find_reservation(name, deadline)) {
            const bool is_of_pod =
                reservation->podref == podref_of(lease.owner) && reservation->ifname == lease.owner.key.ifname;
            const bool is_own =
                reservation->container_id ? reservation->container_id == lease.owner.key.container_id : !is_fresh;
            if (!is_of_pod || !is_own)
                regained.refused =
                    fmt::format("OverlappingRangeIPReservation {} has it for pod {}{} by now: {}", name,
                                base::quoted(reservation->podref),
                                reservation->container_id ? ", container " + *reservation->container_id : std::string(),
                                kTakeAnother);
            else if (attempt != 0)
                regained.made.push_back(fmt::format("OverlappingRangeIPReservation {}", name));
            return;
        }
        notes_.before_claim(lease);
        const Written written = api_.reserve(place, lease.address.address(), lease.owner, deadline);
        if (written == Written::unknown) notes_.unsettled(lease);
        if (written != Written::yes) continue;
        regained.made.push_back(fmt::format("OverlappingRangeIPReservation {}", name));
        return;
    }
    refuse_as_busy(fmt::format("OverlappingRangeIPReservation {}", name));
}

/// The record that was made for an address that is another's.
void WhereaboutsRegain::take_back(const Place& place, const ipam::Lease& lease, const base::Deadline& deadline) {
    const auto pool = api_.find_pool(place, deadline);
    const PoolRecord* record = pool ? pool->find(lease.address.address()) : nullptr;
    const ipam::OwnerKey& owner = lease.owner.key;
    if (record == nullptr || record->id != owner.container_id || record->ifname != owner.ifname) return;
    if (api_.give_back(place, *record, deadline) == Written::unknown)
        throw ipam::StoreError(ipam::StoreError::Kind::temporary,
                               fmt::format("lease store: no answer says whether the record of {} in IPPool {} was "
                                           "removed again: run `rdmanet ipam check --repair` again",
                                           lease.address.address(), pool_name(place)));
}

} // namespace rdmanet::cluster
