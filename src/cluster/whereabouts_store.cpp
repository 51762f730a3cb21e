#include <rdmanet/cluster/whereabouts_store.hpp>

#include "held.hpp"
#include "pool_search.hpp"
#include "rest_memory.hpp"
#include "tried.hpp"
#include "whereabouts_api.hpp"
#include "whereabouts_boot.hpp"
#include "whereabouts_pace.hpp"
#include "whereabouts_range.hpp"
#include "whereabouts_regain.hpp"
#include "whereabouts_reserved.hpp"
#include "whereabouts_return.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/ipam/store/sqlite_store.hpp>

#include <algorithm>
#include <chrono>
#include <exception>
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

// etcd's limit of a request (--max-request-bytes), in which the object and its managedFields must fit.
constexpr std::size_t kMostBytes = 1536 << 10U;
constexpr std::size_t kWarnPercent = 60;
constexpr std::size_t kRefusePercent = 90;

} // namespace

class WhereaboutsStore::Impl {
public:
    Impl(kube::Api& api, Options options)
        : options_(std::move(options)), server_(api), api_(api, options_.name_space, options_.node),
          range_(api, options_.state_directory, options_.node.name, options_.warn),
          return_(api_, options_.name_space, options_.has_open_claim),
          rest_(options_.state_directory, options_.node.boot_id, [] { return ipam::system_time().boot; }) {}

    std::optional<std::string> give_back_earlier_boot(const base::Deadline& deadline) {
        read_.clear();
        return cluster::give_back_earlier_boot(
            server_, api_, api_.node(),
            [this](const std::string& text) {
                if (options_.warn) options_.warn(text);
            },
            deadline);
    }
    void set_node_uid(const std::string& uid) { api_.set_node_uid(uid); }

    ipam::ReserveOutcome reserve(const Owner& owner, const std::vector<Claim>& claims, const base::Deadline& deadline) {
        if (owner.pod_name.empty())
            throw StoreError(StoreError::Kind::permanent,
                             "lease store: whereabouts' pools record pods, and this ADD names none: pass K8S_POD_NAME "
                             "and K8S_POD_NAMESPACE in CNI_ARGS");
        ipam::Granted granted;
        for (std::size_t slot = 0; slot < claims.size(); ++slot) {
            Taking taking{.owner = owner, .claim = claims[slot], .slot = slot, .place = place_of(claims[slot])};
            auto taken = take(taking, deadline);
            if (auto* lease = std::get_if<Lease>(&taken)) {
                if (taking.is_fresh) granted.fresh.push_back(*lease);
                granted.leases.push_back(std::move(*lease));
                continue;
            }
            for (const Lease& lease : granted.fresh)
                (void)return_.give_back_own(cluster::place_of(lease), owner.key, deadline);
            if (!granted.fresh.empty()) read_.clear();
            if (auto* by_other = std::get_if<ipam::Taken>(&taken)) return std::move(*by_other);
            return std::get<ipam::Exhausted>(taken);
        }
        return granted;
    }

    /// The leases in `unused` do not rest.
    std::vector<Lease> release(const OwnerKey& key, const std::vector<Lease>& unused, const base::Deadline& deadline) {
        read_.clear();
        std::vector<Lease> released;
        // What one pool refuses does not keep the addresses of the others.
        std::exception_ptr first_failure;
        const auto attempt = [&](const auto& act) {
            try {
                act();
            } catch (const StoreError& error) {
                if (error.unreachable()) throw; // the others would wait for the same server
                if (!first_failure) first_failure = std::current_exception();
            } catch (const base::Error&) {
                if (!first_failure) first_failure = std::current_exception();
            }
        };
        for (const Place& place : options_.places)
            attempt([&] {
                std::size_t slot = 0;
                for (const PoolRecord& record : return_.give_back_own(place, key, deadline))
                    released.push_back(lease_of(place, record, slot++));
            });
        if (options_.are_places_guessed)
            attempt([&] {
                for (const auto& [place, record] : give_back_reserved_for(key, api_, options_.warn, deadline))
                    released.push_back(lease_of(place, record, 0));
            });
        for (const auto& also : options_.also)
            attempt([&] { return_.unreserve_own(reservation_name(also.first, also.second), key, deadline); });
        let_rest(released, unused, deadline);
        if (first_failure) std::rethrow_exception(first_failure);
        return released;
    }

    std::vector<Lease> reclaim(const std::vector<Lease>& leases, const base::Deadline& deadline) {
        read_.clear();
        std::vector<Lease> reclaimed;
        for (const Lease& lease : leases) {
            const Place place = cluster::place_of(lease);
            const auto pool = api_.find_pool(place, deadline);
            const PoolRecord* record = pool ? pool->find(lease.address.address()) : nullptr;
            if (record != nullptr && is_unchanged(*record, lease) && return_.give_back(place, *record, deadline))
                reclaimed.push_back(lease);
        }
        let_rest(reclaimed, {}, deadline);
        return reclaimed;
    }

    std::vector<Lease> adopt(const std::vector<Lease>& leases, const Owner& heir, const base::Deadline& deadline) {
        read_.clear();
        std::vector<Lease> adopted;
        for (const Lease& lease : leases) {
            const Place place = cluster::place_of(lease);
            const auto pool = api_.find_pool(place, deadline);
            if (!pool) continue;
            const PoolRecord* record = pool->find(lease.address.address());
            const bool has_own = std::any_of(pool->records.begin(), pool->records.end(),
                                             [&](const auto& one) { return is_own(one, heir.key); });
            if (record == nullptr || has_own || !is_unchanged(*record, lease)) continue;
            Lease inherited = lease;
            inherited.owner = heir;
            if (!inherit_reservation(place, *record, inherited, deadline)) continue;
            note_claim(inherited);
            const Written written = api_.hand_over(place, *record, heir, deadline);
            if (written == Written::unknown) unsettled_.push_back(inherited);
            if (written == Written::no) // somebody else has the address, or will get it
                return_.unreserve_own(reservation_name(place.space, lease.address.address()), heir.key, deadline);
            if (written != Written::yes) continue; // reserve() finds what came of it
            adopted.push_back(std::move(inherited));
        }
        return adopted;
    }

    std::vector<ipam::Regained> regain(const std::vector<Lease>& leases, const base::Deadline& deadline) {
        read_.clear();
        WhereaboutsRegain work(api_, range_,
                               {.before_claim = [this](const Lease& lease) { note_claim(lease); },
                                .unsettled = [this](const Lease& lease) { unsettled_.push_back(lease); }});
        std::vector<ipam::Regained> all;
        all.reserve(leases.size());
        for (const Lease& lease : leases) all.push_back(work.regain(lease, deadline));
        return all;
    }

    std::vector<Lease> find_if(const base::Deadline& deadline, const std::function<bool(const PoolRecord&)>& wanted) {
        std::vector<Lease> leases;
        for (std::size_t slot = 0; slot < options_.places.size(); ++slot) {
            const Place& place = options_.places[slot];
            const auto begun = base::Deadline::Clock::now();
            auto pool = api_.find_pool(place, deadline);
            slowest_read_ = std::max(slowest_read_, base::Deadline::Clock::now() - begun);
            if (!pool) continue;
            for (const PoolRecord& record : pool->records)
                if (wanted(record)) leases.push_back(lease_of(place, record, slot));
            read_.insert_or_assign(pool_name(place), *std::move(pool));
        }
        return leases;
    }

    std::vector<Lease> list(const Claim& claim, const std::optional<IpAddress>& after, std::size_t most,
                            const base::Deadline& deadline) {
        const auto pool = api_.find_pool(place_of(claim), deadline);
        return pool ? leases_in(*pool, claim, after, most, [](const PoolRecord&) { return true; })
                    : std::vector<Lease>();
    }

    /// Whoever finds a pool full goes through all of it next. So it is read once.
    std::vector<Lease> list_local(const Claim& claim, const std::optional<IpAddress>& after, std::size_t most,
                                  const base::Deadline& deadline) {
        const Pool* pool = look_at(place_of(claim), deadline);
        if (pool == nullptr) return {};
        return leases_in(*pool, claim, after, most,
                         [&](const PoolRecord& record) { return !options_.known_owner || known_owner(record); });
    }

    bool has_free(const Claim& claim, const base::Deadline& deadline) {
        if (claim.usable.empty()) return false;
        read_.erase(pool_name(place_of(claim)));
        const Pool* pool = look_at(place_of(claim), deadline);
        return pool == nullptr || choose_free(claim, *pool, {}, resting_in(*pool, claim)).has_value();
    }

    ipam::Usage usage(const Claim& claim, const base::Deadline& deadline) {
        ipam::Usage usage;
        if (claim.usable.empty()) return usage;
        const Pool* pool = look_at(place_of(claim), deadline);
        if (pool == nullptr) return usage;
        for (const PoolRecord& record : pool->records)
            if (is_in(claim, record.address)) ++usage.leases;
        return usage;
    }

    [[nodiscard]] const std::vector<Lease>& unsettled() const { return unsettled_; }

    [[nodiscard]] std::string known_uid(const Place& place) const { return api_.known_uid(place); }
    [[nodiscard]] std::string find_uid(const Place& place, const base::Deadline& deadline) {
        const auto pool = api_.find_pool(place, deadline);
        return pool ? pool->uid : std::string();
    }

    [[nodiscard]] static bool is_own(const PoolRecord& record, const OwnerKey& key) {
        return record.is_of(key.container_id, key.ifname);
    }

private:
    /// One address being taken.
    struct Taking {
        const Owner& owner;
        const Claim& claim;
        std::size_t slot;
        Place place;
        std::set<IpAddress> reserved_by_others{};
        bool is_fresh = false;
        bool is_marked = false; // otherwise than the AddressRange says
        int lost_races = 0;
        std::string refused_version{}; // of the pool when the server refused the last claim
        http::Stopwatch watch{};
    };
    using Taken = std::variant<Lease, ipam::Taken, ipam::Exhausted>;

    Taken take(Taking& taking, const base::Deadline& deadline) {
        spread_if_busy(taking, deadline);
        for (int attempt = 0; attempt < kMostTries; ++attempt) {
            if (deadline.passed())
                throw base::TimeoutError(
                    fmt::format("waited for an address of IPPool {}/{}, for which other nodes compete{}",
                                options_.name_space, pool_name(taking.place), tried(taking)));
            const int lost_before = taking.lost_races;
            const auto begun = base::Deadline::Clock::now();
            Pool pool = read_pool(taking.place, attempt == 0, deadline);
            if (auto taken = try_to_take(taking, pool, deadline)) {
                if (std::holds_alternative<ipam::Exhausted>(*taken)) // the search for dead owners comes next
                    read_.insert_or_assign(pool_name(taking.place), std::move(pool));
                return *std::move(taken);
            }
            if (taking.lost_races != lost_before)
                let_others_go_first(taking.lost_races, base::Deadline::Clock::now() - begun, deadline);
        }
        throw StoreError(
            StoreError::Kind::temporary,
            fmt::format("lease store: {} {} times to take an address of IPPool {}/{}{}",
                        taking.is_marked ? "somebody has changed the mark of the pool" : "other nodes were faster",
                        kMostTries, options_.name_space, pool_name(taking.place), tried(taking)));
    }

    [[nodiscard]] std::string tried(const Taking& taking) const {
        return tried_at(server_.server(), taking.watch, api_.last_unknown());
    }

    /// Where many nodes begin at once, their reads are slow already. What was read is out of date after the pause.
    void spread_if_busy(const Taking& taking, const base::Deadline& deadline) {
        const auto took = std::exchange(slowest_read_, {});
        if (!is_busy(took)) return;
        let_others_go_first(1, took, deadline);
        read_.erase(pool_name(taking.place));
    }

    /// nullopt: try again, with the pool as it is by then.
    std::optional<Taken> try_to_take(Taking& taking, const Pool& pool, const base::Deadline& deadline) {
        const auto own = std::find_if(pool.records.begin(), pool.records.end(),
                                      [&](const PoolRecord& record) { return is_own(record, taking.owner.key); });
        if (own != pool.records.end()) {
            Lease lease = new_lease(taking, own->address);
            if (secure(taking, *own, deadline)) return lease;
            return std::nullopt;
        }
        const auto held = range_.find_held(taking.place, pool, deadline);
        taking.is_marked = !held;
        if (!held) { // until the mark is the right one
            ++taking.lost_races;
            return std::nullopt;
        }
        check_size(taking.place, pool);
        std::optional<IpAddress> address = taking.claim.wanted;
        if (address) {
            if (const PoolRecord* holder = pool.find(*address))
                return ipam::Taken{taking.slot, lease_of(taking.place, *holder, 0)};
            if (taking.reserved_by_others.contains(*address)) return taken_in_another_range(taking, *address, deadline);
            require_not_held(*held, *address);
        } else {
            Claim free = taking.claim;
            free.usable = ipam::difference(free.usable, *held);
            address = choose_free(free, pool, taking.reserved_by_others, resting_in(pool, free));
            if (!address) return ipam::Exhausted{.claim = taking.slot, .detail = describe_held(*held)};
        }
        const auto key = key_of(*address, pool.range);
        if (!key)
            throw StoreError(
                StoreError::Kind::permanent,
                fmt::format(
                    "lease store: {} is too far into range {} for whereabouts' records: use a range of /65 or smaller",
                    *address, pool.range));
        note_claim(new_lease(taking, *address));
        taking.is_fresh = true;
        // Whatever became of it, the pool says: an own record is looked for first.
        const Written written = api_.take(taking.place, pool, *key, taking.owner, deadline);
        if (written == Written::unknown) unsettled_.push_back(new_lease(taking, *address));
        // Every test of the second one held, so a schema or a policy of the cluster refuses it.
        if (written == Written::no && std::exchange(taking.refused_version, pool.version) == pool.version)
            throw StoreError(StoreError::Kind::permanent, fmt::format("lease store: {}", api_.last_refusal()));
        if (written != Written::yes) {
            ++taking.lost_races;
            return std::nullopt;
        }
        const PoolRecord taken{.key = *key,
                               .address = *address,
                               .id = taking.owner.key.container_id,
                               .podref = podref_of(taking.owner),
                               .ifname = taking.owner.key.ifname,
                               .text = {}};
        Lease lease = new_lease(taking, *address);
        if (secure(taking, taken, deadline)) return lease;
        return std::nullopt;
    }

    [[nodiscard]] std::map<IpAddress, std::int64_t> resting_in(const Pool& pool, const Claim& claim) const {
        return rest_.resting(pool.uid, claim.cooldown);
    }

    void let_rest(const std::vector<Lease>& released, const std::vector<Lease>& unused,
                  const base::Deadline& deadline) {
        std::map<std::string, std::vector<IpAddress>> by_pool;
        for (const Lease& lease : released) {
            const IpAddress address = lease.address.address();
            const bool is_unused = std::any_of(unused.begin(), unused.end(), [&](const Lease& one) {
                return one.space == lease.space && one.address.address() == address;
            });
            if (!is_unused) by_pool[api_.known_uid(cluster::place_of(lease))].push_back(address);
        }
        for (const auto& [pool_uid, addresses] : by_pool) rest_.note(pool_uid, addresses, deadline);
    }

    /// The reservation goes before the pool's record. If we are killed in between, each of the two says whose it is: the
    /// record its container, and the reservation the heir, whose journal has the address. The other way round nothing
    /// would lead to the reservation. False: the address is another's.
    bool inherit_reservation(const Place& place, const PoolRecord& record, const Lease& inherited,
                             const base::Deadline& deadline) {
        if (!has_reservations(place)) return true;
        const std::string name = reservation_name(place.space, record.address);
        const auto reservation = api_.find_reservation(name, deadline);
        if (!reservation || is_of(*reservation, inherited.owner)) return true; // secure() makes it
        if (!is_of(*reservation, record)) return false;
        if (options_.before_inheritance) options_.before_inheritance(inherited);
        const Written written = api_.hand_over(name, *reservation, inherited.owner, deadline);
        if (written == Written::unknown) unsettled_.push_back(inherited);
        return written == Written::yes;
    }

    /// The reservation of an address that the pool gives us. Without it the address goes back: it belongs to another
    /// range's pod.
    bool secure(Taking& taking, const PoolRecord& own, const base::Deadline& deadline) {
        if (!has_reservations(taking.place)) return true;
        const std::string name = reservation_name(taking.place.space, own.address);
        for (int attempt = 0; attempt < kMostTries && !deadline.passed(); ++attempt) {
            pause_before(attempt, deadline);
            const Written written = api_.reserve(taking.place, own.address, taking.owner, deadline);
            if (written == Written::yes) return true;
            if (written == Written::unknown) unsettled_.push_back(new_lease(taking, own.address));
            const auto reservation = api_.find_reservation(name, deadline);
            if (!reservation) continue;
            // One without a container is whereabouts'. It is ours only if whereabouts made our record in the pool, too.
            const bool may_be_nameless = !taking.is_fresh && !options_.has_open_claim;
            if (is_of(*reservation, taking.owner) && (reservation->container_id || may_be_nameless)) return true;
            taking.reserved_by_others.insert(own.address);
            return_.give_back_record(taking.place, taking.owner.key, deadline);
            return false;
        }
        const std::string what = fmt::format("OverlappingRangeIPReservation {}/{}", options_.name_space, name);
        if (deadline.passed()) throw base::TimeoutError(fmt::format("waited for {}{}", what, tried(taking)));
        throw StoreError(StoreError::Kind::temporary,
                         fmt::format("lease store: {} was made and is gone each of {} times: find out who deletes it",
                                     what, kMostTries));
    }

    Taken taken_in_another_range(const Taking& taking, const IpAddress& address, const base::Deadline& deadline) {
        const auto reservation = api_.find_reservation(reservation_name(taking.place.space, address), deadline);
        const PoolRecord holder{.key = {},
                                .address = address,
                                .id = reservation ? reservation->container_id.value_or("") : "",
                                .podref = reservation ? reservation->podref : "",
                                .ifname = reservation ? reservation->ifname : "",
                                .text = {}};
        return ipam::Taken{taking.slot, lease_of(taking.place, holder, 0)};
    }

    /// As it was read last, unless it was used or changed since. nullptr: there is none.
    const Pool* look_at(const Place& place, const base::Deadline& deadline) {
        const std::string name = pool_name(place);
        if (const auto read = read_.find(name); read != read_.end()) return &read->second;
        auto pool = api_.find_pool(place, deadline);
        return pool ? &read_.emplace(name, *std::move(pool)).first->second : nullptr;
    }

    Pool read_pool(const Place& place, bool is_first, const base::Deadline& deadline) {
        // What find_predecessors() has just read is good enough to try: every write says what it expects to find.
        if (const auto read = read_.find(pool_name(place)); read != read_.end()) {
            Pool pool = std::move(read->second);
            read_.erase(read);
            if (is_first) return pool;
        }
        return api_.get_pool(place, deadline);
    }

    void check_size(const Place& place, const Pool& pool) const {
        const std::size_t percent = pool.size * 100 / kMostBytes;
        if (percent < kWarnPercent) return;
        const std::string text =
            fmt::format("IPPool {}/{} has {} records and fills {} % of what the API server stores: use several smaller "
                        "ranges, or store \"blocks\"",
                        options_.name_space, pool_name(place), pool.records.size(), percent);
        if (percent >= kRefusePercent)
            throw StoreError(StoreError::Kind::permanent, fmt::format("lease store: {}", text));
        if (options_.warn) options_.warn(text);
    }

    void note_claim(const Lease& lease) const {
        if (options_.before_claim) options_.before_claim(lease);
    }

    static bool is_unchanged(const PoolRecord& record, const Lease& lease) {
        return record.id == lease.owner.key.container_id && record.podref == podref_of(lease.owner) &&
               (record.ifname.empty() || record.ifname == lease.owner.key.ifname);
    }

    static Lease new_lease(const Taking& taking, const IpAddress& address) {
        return {.space = taking.claim.space,
                .slot = static_cast<unsigned>(taking.slot),
                .address = base::IpPrefix::make(address, taking.claim.prefix_length).value(),
                .owner = taking.owner,
                .since = 0,
                .cooldown = taking.claim.cooldown};
    }

    Lease lease_of(const Place& place, const PoolRecord& record, std::size_t slot) const {
        return {.space = place.space,
                .slot = static_cast<unsigned>(slot),
                .address = base::IpPrefix::make(record.address, place.subnet.length()).value(),
                .owner = owner_of(record),
                .since = 0,
                .cooldown = std::chrono::seconds(0)};
    }

    /// Those of the claim's intervals that follow `after`.
    template <class IsWanted>
    std::vector<Lease> leases_in(const Pool& pool, const Claim& claim, const std::optional<IpAddress>& after,
                                 std::size_t most, IsWanted is_wanted) const {
        const Place place = place_of(claim);
        std::vector<Lease> leases;
        for (const PoolRecord& record : pool.records) {
            if (leases.size() == most) break;
            if ((after && record.address <= *after) || !is_in(claim, record.address)) continue;
            if (is_wanted(record)) leases.push_back(lease_of(place, record, 0));
        }
        return leases;
    }

    [[nodiscard]] std::optional<Owner> known_owner(const PoolRecord& record) const {
        if (!options_.known_owner) return std::nullopt;
        auto known = options_.known_owner(record.id, record.ifname);
        return known && podref_of(*known) == record.podref ? std::move(known) : std::nullopt;
    }

    Owner owner_of(const PoolRecord& record) const {
        if (auto known = known_owner(record)) return *std::move(known);
        Owner owner;
        owner.key = {.network = {}, .container_id = record.id, .ifname = record.ifname};
        const auto slash = record.podref.find('/');
        if (slash != std::string::npos) owner.pod_namespace = record.podref.substr(0, slash);
        owner.pod_name = slash == std::string::npos ? record.podref : record.podref.substr(slash + 1);
        return owner;
    }

    Options options_;
    kube::Api& server_;
    WhereaboutsApi api_;
    WhereaboutsRange range_;
    WhereaboutsReturn return_;
    RestMemory rest_;
    std::vector<Lease> unsettled_;
    std::map<std::string, Pool> read_; // by name, until they are used or changed
    base::Deadline::Clock::duration slowest_read_{};
};

WhereaboutsStore::WhereaboutsStore(kube::Api& api, Options options)
    : impl_(std::make_unique<Impl>(api, std::move(options))) {}
WhereaboutsStore::~WhereaboutsStore() = default;

ipam::ReserveOutcome WhereaboutsStore::reserve(const Owner& owner, const std::vector<Claim>& claims,
                                               const base::Deadline& deadline) {
    return impl_->reserve(owner, claims, deadline);
}

std::vector<Lease> WhereaboutsStore::release(const OwnerKey& key, const base::Deadline& deadline) {
    return impl_->release(key, {}, deadline);
}

std::vector<Lease> WhereaboutsStore::withdraw(const OwnerKey& key, const std::vector<Lease>& unused,
                                              const base::Deadline& deadline) {
    return impl_->release(key, unused, deadline);
}

std::vector<Lease> WhereaboutsStore::reclaim(const std::vector<Lease>& leases, const base::Deadline& deadline) {
    return impl_->reclaim(leases, deadline);
}

std::vector<Lease> WhereaboutsStore::adopt(const std::vector<Lease>& leases, const Owner& heir,
                                           const base::Deadline& deadline) {
    return impl_->adopt(leases, heir, deadline);
}

std::vector<ipam::Regained> WhereaboutsStore::regain(const std::vector<Lease>& leases, const base::Deadline& deadline) {
    return impl_->regain(leases, deadline);
}

std::vector<Lease> WhereaboutsStore::find(const OwnerKey& key, const base::Deadline& deadline) {
    return impl_->find_if(deadline, [&](const PoolRecord& record) { return Impl::is_own(record, key); });
}

std::vector<Lease> WhereaboutsStore::find_predecessors(const Owner& owner, const base::Deadline& deadline) {
    return impl_->find_if(deadline, [&](const PoolRecord& record) {
        return record.podref == podref_of(owner) && record.ifname == owner.key.ifname &&
               record.id != owner.key.container_id;
    });
}

std::vector<Lease> WhereaboutsStore::list(const Claim& claim, const std::optional<IpAddress>& after, std::size_t most,
                                          const base::Deadline& deadline) {
    return impl_->list(claim, after, most, deadline);
}

std::vector<Lease> WhereaboutsStore::list_local(const Claim& claim, const std::optional<IpAddress>& after,
                                                std::size_t most, const base::Deadline& deadline) {
    return impl_->list_local(claim, after, most, deadline);
}

std::vector<Lease> WhereaboutsStore::list_all(const base::Deadline& deadline) {
    return impl_->find_if(deadline, [](const PoolRecord&) { return true; });
}

bool WhereaboutsStore::has_free(const Claim& claim, const base::Deadline& deadline) {
    return impl_->has_free(claim, deadline);
}

const std::vector<Lease>& WhereaboutsStore::unsettled() const {
    return impl_->unsettled();
}

std::string WhereaboutsStore::known_uid(const Place& place) const {
    return impl_->known_uid(place);
}

std::string WhereaboutsStore::find_uid(const Place& place, const base::Deadline& deadline) {
    return impl_->find_uid(place, deadline);
}

std::optional<std::string> WhereaboutsStore::give_back_earlier_boot(const base::Deadline& deadline) {
    return impl_->give_back_earlier_boot(deadline);
}

void WhereaboutsStore::set_node_uid(const std::string& uid) {
    impl_->set_node_uid(uid);
}

ipam::Usage WhereaboutsStore::usage(const Claim& claim, const base::Deadline& deadline) {
    return impl_->usage(claim, deadline);
}

} // namespace rdmanet::cluster
