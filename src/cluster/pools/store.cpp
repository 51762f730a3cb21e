#include <rdmanet/cluster/pools_store.hpp>

#include "../tries.hpp"
#include "claim.hpp"

#include <rdmanet/ipam/store/lease_file.hpp>

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <variant>

namespace rdmanet::cluster {
namespace {

using base::IpAddress;
using ipam::Claim;
using ipam::Lease;
using ipam::Owner;
using ipam::OwnerKey;
using ipam::StoreError;

/// Ranges of one network may overlap.
std::set<IpAddress> addresses_of(const std::vector<Lease>& leases) {
    std::set<IpAddress> addresses;
    for (const Lease& lease : leases) addresses.insert(lease.address.address());
    return addresses;
}

void let_rest(const PoolsParts& parts, const std::vector<Lease>& released, const std::vector<Lease>& unused,
              const base::Deadline& deadline) {
    std::map<std::string, RestMemory::GivenBack> by_pool;
    for (const Lease& lease : released) {
        const IpAddress address = lease.address.address();
        const auto known = std::ranges::find_if(
            unused, [&](const Lease& one) { return one.space == lease.space && one.address.address() == address; });
        const bool is_foreign = known != unused.end() && known->owner == Owner{};
        if (known == unused.end() || is_foreign)
            by_pool[parts.api.known_uid(place_of(lease))][address] = is_foreign ? 0 : lease.owner.name_hash();
    }
    for (const auto& [pool_uid, addresses] : by_pool) parts.rest.note(pool_uid, addresses, deadline);
}

/// The reservation goes before the pool's record. If we are killed in between, each of the two says whose it is: the
/// record its container, and the reservation the heir, whose journal has the address. The other way round nothing
/// would lead to the reservation. False: the address is another's.
bool inherit_reservation(PoolsParts& parts, const Place& place, const PoolRecord& record, const Lease& inherited,
                         const base::Deadline& deadline) {
    if (!has_reservations(place)) return true;
    const std::string name = reservation_name(place.space, record.address);
    const auto reservation = parts.api.find_reservation(name, deadline);
    if (!reservation || is_of(*reservation, inherited.owner)) return true; // the claim makes it
    if (!is_of(*reservation, record)) return false;
    if (parts.options.before_inheritance) parts.options.before_inheritance(inherited);
    const Written written = parts.api.hand_over(name, *reservation, inherited.owner, deadline);
    if (written == Written::unknown) parts.unsettled.push_back(inherited);
    return written == Written::yes;
}

template <class IsWanted>
std::vector<Lease> leases_of_places(PoolsParts& parts, const base::Deadline& deadline, IsWanted is_wanted) {
    std::vector<Lease> leases;
    for (std::size_t slot = 0; slot < parts.options.places.size(); ++slot) {
        const Place& place = parts.options.places[slot];
        const Pool* const pool = parts.pools.read(place, deadline);
        if (pool == nullptr) continue;
        for (const PoolRecord& record : pool->records)
            if (is_wanted(record)) leases.push_back(parts.records.lease_of(place, record, slot));
    }
    return leases;
}

/// Those of the claim's intervals that follow `after`.
template <class IsWanted>
std::vector<Lease> leases_in(const PoolsParts& parts, const Pool& pool, const Claim& claim,
                             const std::optional<IpAddress>& after, std::size_t most, IsWanted is_wanted) {
    const Place place = place_of(claim);
    std::vector<Lease> leases;
    for (const PoolRecord& record : pool.records) {
        if (leases.size() == most) break;
        if ((after && record.address <= *after) || !is_in(claim, record.address)) continue;
        if (is_wanted(record)) leases.push_back(parts.records.lease_of(place, record, 0));
    }
    return leases;
}

} // namespace

PoolsParts::PoolsParts(kube::Api& its_server, WhereaboutsStore::Options its_options)
    : options(std::move(its_options)), server(its_server), api(server, options.name_space, options.node),
      checked(options.state_directory, options.node.boot_id, options.cluster),
      check(server, api, checked, options.name_space),
      pools(api, Turns(server, {.name_space = options.name_space,
                                .holder = options.node.name,
                                .state_directory = options.state_directory,
                                .boot_id = options.node.boot_id,
                                .clock = [] { return ipam::system_time().boot; }})),
      returns(api, pools, options.name_space, options.has_open_claim),
      rest(options.state_directory, options.node.boot_id, [] { return ipam::system_time().boot; }),
      records(options.known_owner) {}

WhereaboutsStore::WhereaboutsStore(kube::Api& api, Options options)
    : parts_(std::make_unique<PoolsParts>(api, std::move(options))) {}
WhereaboutsStore::~WhereaboutsStore() = default;

ipam::ReserveOutcome WhereaboutsStore::reserve(const Owner& owner, const std::vector<Claim>& claims,
                                               const base::Deadline& deadline) {
    if (owner.pod_name.empty())
        throw StoreError(StoreError::Kind::permanent,
                         "lease store: whereabouts' pools record pods, and this ADD names none: pass K8S_POD_NAME "
                         "and K8S_POD_NAMESPACE in CNI_ARGS");
    ipam::Granted granted;
    for (std::size_t slot = 0; slot < claims.size(); ++slot) {
        WhereaboutsClaim claim(*parts_, owner, claims[slot], slot, addresses_of(granted.leases));
        auto taken = claim.take(deadline);
        if (auto* lease = std::get_if<Lease>(&taken)) {
            if (claim.is_fresh()) granted.fresh.push_back(*lease);
            granted.leases.push_back(std::move(*lease));
            continue;
        }
        for (const Lease& lease : granted.fresh)
            (void)parts_->returns.give_back_own(place_of(lease), owner.key, deadline);
        if (!granted.fresh.empty()) parts_->pools.forget_all();
        if (auto* by_other = std::get_if<ipam::Taken>(&taken)) return std::move(*by_other);
        return std::get<ipam::Exhausted>(taken);
    }
    return granted;
}

std::vector<Lease> WhereaboutsStore::release(const OwnerKey& key, const base::Deadline& deadline) {
    return withdraw(key, {}, deadline);
}

std::vector<Lease> WhereaboutsStore::withdraw(const OwnerKey& key, const std::vector<Lease>& unused,
                                              const base::Deadline& deadline) {
    WhereaboutsReturn& returns = parts_->returns;
    parts_->pools.forget_all();
    std::vector<Lease> released;
    FirstFailure failure;
    for (const Place& place : parts_->options.places)
        failure.attempt([&] {
            std::size_t slot = 0;
            for (const PoolRecord& record : returns.give_back_own(place, key, deadline)) {
                released.push_back(parts_->records.lease_of(place, record, slot++));
                released.back().owner.key = key; // a record names no network
            }
        });
    for (const auto& [space, address] : parts_->options.also)
        failure.attempt([&, name = reservation_name(space, address)] { returns.unreserve_own(name, key, deadline); });
    let_rest(*parts_, released, unused, deadline);
    failure.rethrow();
    return released;
}

std::vector<Lease> WhereaboutsStore::reclaim(const std::vector<Lease>& leases, const base::Deadline& deadline) {
    parts_->pools.forget_all();
    std::vector<Lease> reclaimed;
    for (const Lease& lease : leases) {
        const Place place = place_of(lease);
        const auto pool = parts_->api.find_pool(place, deadline);
        const PoolRecord* record = pool ? pool->find(lease.address.address()) : nullptr;
        if (record != nullptr && is_unchanged(*record, lease) && parts_->returns.give_back(place, *record, deadline))
            reclaimed.push_back(lease);
    }
    let_rest(*parts_, reclaimed, {}, deadline);
    return reclaimed;
}

std::vector<Lease> WhereaboutsStore::adopt(const std::vector<Lease>& leases, const Owner& heir,
                                           const base::Deadline& deadline) {
    parts_->pools.forget_all();
    std::vector<Lease> adopted;
    for (const Lease& lease : leases) {
        const Place place = place_of(lease);
        const auto pool = parts_->api.find_pool(place, deadline);
        if (!pool) continue;
        const PoolRecord* record = pool->find(lease.address.address());
        const bool has_own = std::ranges::any_of(pool->records, [&](const auto& one) { return is_own(one, heir.key); });
        if (record == nullptr || has_own || !is_unchanged(*record, lease)) continue;
        Lease inherited = lease;
        inherited.owner = heir;
        if (!inherit_reservation(*parts_, place, *record, inherited, deadline)) continue;
        parts_->note_claim(inherited);
        const Written written = parts_->api.hand_over(place, *record, heir, deadline);
        if (written == Written::unknown) parts_->unsettled.push_back(inherited);
        if (written == Written::no) // somebody else has the address, or will get it
            parts_->returns.unreserve_own(reservation_name(place.space, lease.address.address()), heir.key, deadline);
        if (written != Written::yes) continue; // reserve() finds what came of it
        adopted.push_back(std::move(inherited));
    }
    return adopted;
}

std::vector<ipam::Regained> WhereaboutsStore::regain(const std::vector<Lease>& leases, const base::Deadline& deadline) {
    parts_->pools.forget_all();
    std::vector<ipam::Regained> all;
    all.reserve(leases.size());
    for (const Lease& lease : leases) {
        const Claim claim{.space = lease.space,
                          .family = lease.address.family(),
                          .prefix_length = lease.address.length(),
                          .wanted = lease.address.address(),
                          .cooldown = lease.cooldown};
        all.push_back(WhereaboutsClaim(*parts_, lease.owner, claim, lease.slot, {}).regain(lease, deadline));
    }
    return all;
}

std::vector<Lease> WhereaboutsStore::find(const OwnerKey& key, const base::Deadline& deadline) {
    return leases_of_places(*parts_, deadline, [&](const PoolRecord& record) { return is_own(record, key); });
}

/// reserve() goes on with what is read now. Of several pools each has its turn then.
std::vector<Lease> WhereaboutsStore::find_predecessors(const Owner& owner, const base::Deadline& deadline) {
    if (parts_->options.places.size() == 1)
        parts_->pools.wait_for_turn_if_crowded(parts_->options.places.front(), deadline);
    return leases_of_places(*parts_, deadline, [&](const PoolRecord& record) {
        return record.podref == podref_of(owner) && record.ifname == owner.key.ifname &&
               record.id != owner.key.container_id;
    });
}

std::vector<Lease> WhereaboutsStore::list(const Claim& claim, const std::optional<IpAddress>& after, std::size_t most,
                                          const base::Deadline& deadline) {
    const auto pool = parts_->api.find_pool(place_of(claim), deadline);
    if (!pool) return {};
    return leases_in(*parts_, *pool, claim, after, most, [](const PoolRecord&) { return true; });
}

/// Whoever finds a pool full goes through all of it next. So it is read once.
std::vector<Lease> WhereaboutsStore::list_local(const Claim& claim, const std::optional<IpAddress>& after,
                                                std::size_t most, const base::Deadline& deadline) {
    const Pool* pool = parts_->pools.look_at(place_of(claim), deadline);
    if (pool == nullptr) return {};
    return leases_in(*parts_, *pool, claim, after, most,
                     [&](const PoolRecord& record) { return parts_->records.is_local(record); });
}

std::vector<Lease> WhereaboutsStore::list_all(const base::Deadline& deadline) {
    return leases_of_places(*parts_, deadline, [](const PoolRecord&) { return true; });
}

bool WhereaboutsStore::has_free(const Claim& claim, const base::Deadline& deadline) {
    if (claim.usable.empty()) return false;
    const Place place = place_of(claim);
    const Pool* pool = parts_->pools.read(place, deadline);
    if (pool == nullptr || !pool->mark.empty()) parts_->check.require_nobody_else(place, deadline);
    return pool == nullptr ||
           choose_free(claim, *pool, {}, parts_->rest.find(pool->uid, claim.cooldown).resting).has_value();
}

ipam::Usage WhereaboutsStore::usage(const Claim& claim, const base::Deadline& deadline) {
    ipam::Usage usage;
    const Pool* pool = claim.usable.empty() ? nullptr : parts_->pools.look_at(place_of(claim), deadline);
    if (pool == nullptr) return usage;
    for (const PoolRecord& record : pool->records)
        if (is_in(claim, record.address)) ++usage.leases;
    return usage;
}

std::string WhereaboutsStore::known_uid(const Place& place) const {
    return parts_->api.known_uid(place);
}

std::string WhereaboutsStore::find_uid(const Place& place, const base::Deadline& deadline) {
    const auto pool = parts_->api.find_pool(place, deadline);
    return pool ? pool->uid : std::string();
}

void WhereaboutsStore::set_node_uid(const std::string& uid) {
    parts_->api.set_node_uid(uid);
}

const std::vector<Lease>& WhereaboutsStore::unsettled() const {
    return parts_->unsettled;
}

} // namespace rdmanet::cluster
