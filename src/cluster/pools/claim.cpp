#include "claim.hpp"

#include "../tries.hpp"

#include <rdmanet/base/error.hpp>
#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>

#include <algorithm>

namespace rdmanet::cluster {
namespace {

using base::IpAddress;
using ipam::StoreError;

// etcd's limit of a request (--max-request-bytes), in which the object and its managedFields must fit.
constexpr std::size_t kMostBytes = 1536 << 10U;
constexpr std::size_t kWarnPercent = 60;
constexpr std::size_t kRefusePercent = 90;

} // namespace

WhereaboutsClaim::WhereaboutsClaim(PoolsParts& parts, const ipam::Owner& owner, const ipam::Claim& claim,
                                   std::size_t slot, std::set<IpAddress> avoided)
    : parts_(parts), owner_(owner), claim_(claim), slot_(slot), place_(place_of(claim)), avoided_(std::move(avoided)) {}

WhereaboutsClaim::Taken WhereaboutsClaim::take(const base::Deadline& deadline) {
    WhereaboutsPools& pools = parts_.pools;
    for (int attempt = 0; attempt < kMostTries; ++attempt) {
        if (deadline.passed())
            throw base::TimeoutError(
                fmt::format("waited for an address of IPPool {}/{}, for which other nodes compete{}",
                            parts_.options.name_space, pool_name(place_), tried()));
        const int lost_before = lost_races_;
        if (!pools.has_turn(place_)) pools.wait_for_turn(place_, deadline);
        Pool pool = pools.use(place_, deadline);
        auto taken = try_to_take(pool, deadline);
        pools.end_turn();
        if (taken) {
            if (std::holds_alternative<ipam::Exhausted>(*taken)) // the search for dead owners comes next
                pools.keep(place_, std::move(pool));
            return *std::move(taken);
        }
        if (lost_races_ == lost_before) continue;
        pools.note_crowd(place_);
        pause_before(lost_races_, deadline);
    }
    throw StoreError(StoreError::Kind::temporary,
                     fmt::format("lease store: {} {} times to take an address of IPPool {}/{}{}",
                                 was_marked_ ? "somebody has marked the pool" : "other nodes were faster", kMostTries,
                                 parts_.options.name_space, pool_name(place_), tried()));
}

ipam::Regained WhereaboutsClaim::regain(const ipam::Lease& lease, const base::Deadline& deadline) {
    constexpr const char* kTakeAnother = "delete the pod, so that it gets another address";
    is_in_use_ = true;
    ipam::Regained regained{.lease = lease};
    try {
        const Taken taken = take(deadline);
        if (const auto* by_other = std::get_if<ipam::Taken>(&taken)) {
            const ipam::Owner& owner = by_other->holder.owner;
            regained.refused = fmt::format("pod {}, container {} has it by now: {}",
                                           base::quoted(base::scoped_name(owner.pod_namespace, owner.pod_name)),
                                           base::quoted(owner.key.container_id), kTakeAnother);
            return regained;
        }
    } catch (const RangeMoved& covered) { // blocks may have given the address
        regained.refused = fmt::format("{}: {}", covered.what(), kTakeAnother);
        return regained;
    }
    if (is_fresh_) regained.made.push_back(fmt::format("its record in IPPool {}", pool_name(place_)));
    if (is_reserved_)
        regained.made.push_back(
            fmt::format("OverlappingRangeIPReservation {}", reservation_name(place_.space, lease.address.address())));
    return regained;
}

std::string WhereaboutsClaim::tried() const {
    return tried_at(parts_.server.server(), watch_, parts_.api.last_unknown());
}

/// nullopt: try again, with the pool as it is by then.
std::optional<WhereaboutsClaim::Taken> WhereaboutsClaim::try_to_take(const Pool& pool, const base::Deadline& deadline) {
    const auto own = std::ranges::find_if(pool.records, [&](const PoolRecord& record) {
        return is_own(record, owner_.key) && (!is_in_use_ || record.address == *claim_.wanted);
    });
    if (own != pool.records.end()) return secured(pool, own->address, deadline);
    was_marked_ = !parts_.check.may_use(place_, pool, deadline);
    if (was_marked_) { // the mark is gone by now
        ++lost_races_;
        return std::nullopt;
    }
    if (!is_in_use_) check_size(pool);
    auto chosen = choose(pool, deadline);
    if (auto* taken = std::get_if<ipam::Taken>(&chosen)) return std::move(*taken);
    if (auto* none = std::get_if<ipam::Exhausted>(&chosen)) return std::move(*none);
    const IpAddress address = std::get<IpAddress>(chosen);
    if (!record(pool, address, deadline)) {
        ++lost_races_;
        return std::nullopt;
    }
    return secured(pool, address, deadline);
}

std::optional<WhereaboutsClaim::Taken> WhereaboutsClaim::secured(const Pool& pool, const IpAddress& address,
                                                                 const base::Deadline& deadline) {
    if (const auto its = secure(pool, address, deadline)) return lease_of(*its);
    if (is_in_use_ && avoided_.contains(address)) return taken_in_another_range(address, deadline);
    return std::nullopt;
}

std::variant<IpAddress, ipam::Taken, ipam::Exhausted> WhereaboutsClaim::choose(const Pool& pool,
                                                                               const base::Deadline& deadline) const {
    if (claim_.wanted) {
        const IpAddress wanted = *claim_.wanted;
        if (const PoolRecord* holder = pool.find(wanted))
            return ipam::Taken{slot_, parts_.records.lease_of(place_, *holder, 0)};
        if (avoided_.contains(wanted)) return taken_in_another_range(wanted, deadline);
        return wanted;
    }
    const auto remembered = parts_.rest.find(pool.uid, claim_.cooldown, owner_.name_hash());
    for (const IpAddress& own : remembered.own)
        if (is_in(claim_, own) && pool.find(own) == nullptr && !avoided_.contains(own)) return own;
    if (const auto address = choose_free(claim_, pool, avoided_, remembered.resting)) return *address;
    return ipam::Exhausted{.claim = slot_};
}

/// Whatever becomes of it, the pool says: an own record is looked for first.
bool WhereaboutsClaim::record(const Pool& pool, const IpAddress& address, const base::Deadline& deadline) {
    const auto key = key_of(address, pool.range);
    if (!key)
        throw StoreError(StoreError::Kind::permanent,
                         fmt::format("lease store: {} is too far into range {} for whereabouts' records: use a range "
                                     "of /65 or smaller",
                                     address, pool.range));
    parts_.note_claim(lease_of(address));
    is_fresh_ = true;
    const Written written = parts_.api.take(place_, pool, *key, owner_, deadline);
    parts_.pools.end_turn(); // the reservation needs none
    if (written == Written::unknown) parts_.unsettled.push_back(lease_of(address));
    // Every test of the second one held, so a schema or a policy of the cluster refuses it.
    if (written == Written::no && std::exchange(refused_version_, pool.version) == pool.version)
        throw StoreError(StoreError::Kind::permanent, fmt::format("lease store: {}", parts_.api.last_refusal()));
    return written == Written::yes;
}

/// The reservation of the address that the pool gives us: an older record has one, as a rule. Without it the address
/// belongs to another range's pod, and the record gets another one. Returns the address that this owner has; nullopt:
/// the record went, or is to be looked for.
std::optional<IpAddress> WhereaboutsClaim::secure(const Pool& pool, IpAddress address, const base::Deadline& deadline) {
    if (!has_reservations(place_)) return address;
    std::string name;
    bool is_absent = is_fresh_;
    for (int attempt = 0; attempt < kMostTries && !deadline.passed(); ++attempt) {
        pause_before(attempt, deadline);
        name = reservation_name(place_.space, address);
        if (is_absent) {
            if (!is_fresh_) parts_.note_claim(lease_of(address));
            const Written written = parts_.api.reserve(place_, address, owner_, deadline);
            if (written != Written::no) is_reserved_ = true;
            if (written == Written::yes) return address;
            if (written == Written::unknown) parts_.unsettled.push_back(lease_of(address));
            if (written == Written::no && is_fresh_ && !claim_.wanted && !std::exchange(has_moved_, true)) {
                if (const auto next = choose_unreserved(pool, address, deadline)) {
                    if (!move_record(pool, address, *next, deadline)) return std::nullopt;
                    address = *next;
                    continue;
                }
            }
        }
        const auto reservation = parts_.api.find_reservation(name, deadline);
        is_absent = !reservation;
        if (is_absent) continue;
        // One without a container is whereabouts'. It is ours only if whereabouts made our record in the pool, too.
        const bool may_be_nameless = !is_fresh_ && !parts_.options.has_open_claim;
        if (is_of(*reservation, owner_) && (reservation->container_id || may_be_nameless)) return address;
        avoided_.insert(address);
        if (is_fresh_ || !is_in_use_) parts_.returns.give_back_record(place_, owner_.key, deadline);
        return std::nullopt;
    }
    const std::string what = fmt::format("OverlappingRangeIPReservation {}/{}", parts_.options.name_space, name);
    if (deadline.passed()) throw base::TimeoutError(fmt::format("waited for {}{}", what, tried()));
    throw StoreError(StoreError::Kind::temporary,
                     fmt::format("lease store: {} was made and is gone each of {} times: find out who deletes it", what,
                                 kMostTries));
}

/// Many of the lowest addresses may be another range's. Returns one that nobody has reserved, as far as the server's
/// memory knows; nullopt if that does not help.
std::optional<IpAddress> WhereaboutsClaim::choose_unreserved(const Pool& pool, const IpAddress& address,
                                                             const base::Deadline& deadline) const {
    auto reserved = reserved_by_others(address, deadline);
    if (!reserved.contains(address)) return std::nullopt;
    reserved.insert(avoided_.begin(), avoided_.end());
    return choose_free(claim_, pool, reserved, parts_.rest.find(pool.uid, claim_.cooldown).resting);
}

/// False: the record went, because it is not known where it is.
bool WhereaboutsClaim::move_record(const Pool& pool, const IpAddress& address, const IpAddress& next,
                                   const base::Deadline& deadline) {
    const auto from = key_of(address, pool.range);
    const auto to = key_of(next, pool.range);
    const Written written = from && to ? parts_.api.move(place_, pool, *from, *to, owner_, deadline) : Written::no;
    if (written == Written::yes) return true;
    if (written == Written::unknown) parts_.unsettled.push_back(lease_of(next));
    avoided_.insert(address);
    parts_.returns.give_back_record(place_, owner_.key, deadline);
    return false;
}

/// Empty if the server does not list them: without the right, or while it has too much to do, the addresses are tried
/// one after the other.
std::set<IpAddress> WhereaboutsClaim::reserved_by_others(const IpAddress& address, const base::Deadline& deadline) const
    try {
    std::set<IpAddress> all;
    for (const auto& [name, container] : parts_.api.recall_reserved(deadline))
        if (const auto taken = address_of_reservation(place_.space, name);
            taken && (*taken != address || container != owner_.key.container_id))
            all.insert(*taken);
    return all;
} catch (const StoreError& error) {
    if (error.unreachable()) throw;
    return {};
}

ipam::Taken WhereaboutsClaim::taken_in_another_range(const IpAddress& address, const base::Deadline& deadline) const {
    const auto reservation = parts_.api.find_reservation(reservation_name(place_.space, address), deadline);
    const PoolRecord holder{.address = address,
                            .id = reservation ? reservation->container_id.value_or("") : "",
                            .podref = reservation ? reservation->podref : "",
                            .ifname = reservation ? reservation->ifname : ""};
    return {slot_, parts_.records.lease_of(place_, holder, 0)};
}

void WhereaboutsClaim::check_size(const Pool& pool) const {
    const std::size_t percent = pool.size * 100 / kMostBytes;
    if (percent < kWarnPercent) return;
    const std::string text =
        fmt::format("IPPool {}/{} has {} records and fills {} % of what the API server stores: use several smaller "
                    "ranges, or declare the range with an AddressRange",
                    parts_.options.name_space, pool_name(place_), pool.records.size(), percent);
    if (percent >= kRefusePercent) throw StoreError(StoreError::Kind::permanent, fmt::format("lease store: {}", text));
    if (parts_.options.warn) parts_.options.warn(text);
}

ipam::Lease WhereaboutsClaim::lease_of(const IpAddress& address) const {
    return {.space = claim_.space,
            .slot = static_cast<unsigned>(slot_),
            .address = base::IpPrefix::make(address, claim_.prefix_length).value(),
            .owner = owner_,
            .since = 0,
            .cooldown = claim_.cooldown};
}

} // namespace rdmanet::cluster
