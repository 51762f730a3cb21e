#include <rdmanet/cluster/pools_store.hpp>

#include "api.hpp"
#include "boot.hpp"
#include "check.hpp"
#include "claim.hpp"
#include "pools.hpp"
#include "records.hpp"
#include "regain.hpp"
#include "rest_memory.hpp"
#include "return.hpp"
#include "search.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/ipam/store/lease_file.hpp>

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

/// Ranges of one network may overlap.
std::set<IpAddress> addresses_of(const std::vector<Lease>& leases) {
    std::set<IpAddress> addresses;
    for (const Lease& lease : leases) addresses.insert(lease.address.address());
    return addresses;
}

} // namespace

class WhereaboutsStore::Impl {
public:
    Impl(kube::Api& api, Options options)
        : options_(std::move(options)), server_(api), api_(api, options_.name_space, options_.node),
          checked_(options_.state_directory, options_.node.boot_id, options_.cluster),
          check_(api, api_, checked_, options_.name_space),
          pools_(api_, Turns(api, {.name_space = options_.name_space,
                                   .holder = options_.node.name,
                                   .state_directory = options_.state_directory,
                                   .boot_id = options_.node.boot_id,
                                   .clock = [] { return ipam::system_time().boot; }})),
          return_(api_, pools_, options_.name_space, options_.has_open_claim),
          rest_(options_.state_directory, options_.node.boot_id, [] { return ipam::system_time().boot; }),
          records_(options_.known_owner) {}

    std::optional<std::string> give_back_earlier_boot(const base::Deadline& deadline) {
        pools_.forget_all();
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
            WhereaboutsClaim claim(parts(), owner, claims[slot], slot, addresses_of(granted.leases));
            auto taken = claim.take(deadline);
            if (auto* lease = std::get_if<Lease>(&taken)) {
                if (claim.is_fresh()) granted.fresh.push_back(*lease);
                granted.leases.push_back(std::move(*lease));
                continue;
            }
            for (const Lease& lease : granted.fresh)
                (void)return_.give_back_own(cluster::place_of(lease), owner.key, deadline);
            if (!granted.fresh.empty()) pools_.forget_all();
            if (auto* by_other = std::get_if<ipam::Taken>(&taken)) return std::move(*by_other);
            return std::get<ipam::Exhausted>(taken);
        }
        return granted;
    }

    /// `unused`: as in Store::withdraw().
    std::vector<Lease> release(const OwnerKey& key, const std::vector<Lease>& unused, const base::Deadline& deadline) {
        pools_.forget_all();
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
                for (const PoolRecord& record : return_.give_back_own(place, key, deadline)) {
                    released.push_back(records_.lease_of(place, record, slot++));
                    released.back().owner.key = key; // a record names no network
                }
            });
        for (const auto& also : options_.also)
            attempt([&] { return_.unreserve_own(reservation_name(also.first, also.second), key, deadline); });
        let_rest(released, unused, deadline);
        if (first_failure) std::rethrow_exception(first_failure);
        return released;
    }

    std::vector<Lease> reclaim(const std::vector<Lease>& leases, const base::Deadline& deadline) {
        pools_.forget_all();
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
        pools_.forget_all();
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
        pools_.forget_all();
        WhereaboutsRegain work(api_, check_,
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
            const Pool* const pool = pools_.read(place, deadline);
            if (pool == nullptr) continue;
            for (const PoolRecord& record : pool->records)
                if (wanted(record)) leases.push_back(records_.lease_of(place, record, slot));
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
        const Pool* pool = pools_.look_at(place_of(claim), deadline);
        if (pool == nullptr) return {};
        return leases_in(*pool, claim, after, most,
                         [&](const PoolRecord& record) { return records_.is_local(record); });
    }

    bool has_free(const Claim& claim, const base::Deadline& deadline) {
        if (claim.usable.empty()) return false;
        const Place place = place_of(claim);
        const Pool* pool = pools_.read(place, deadline);
        if (pool == nullptr || !pool->mark.empty()) check_.require_nobody_else(place, deadline);
        return pool == nullptr ||
               choose_free(claim, *pool, {}, rest_.find(pool->uid, claim.cooldown).resting).has_value();
    }

    ipam::Usage usage(const Claim& claim, const base::Deadline& deadline) {
        ipam::Usage usage;
        const Pool* pool = claim.usable.empty() ? nullptr : pools_.look_at(place_of(claim), deadline);
        if (pool == nullptr) return usage;
        for (const PoolRecord& record : pool->records)
            if (is_in(claim, record.address)) ++usage.leases;
        return usage;
    }

    /// reserve() goes on with what is read now. Of several pools each has its turn then.
    void wait_for_turn_if_crowded(const base::Deadline& deadline) {
        if (options_.places.size() != 1) return;
        pools_.wait_for_turn_if_crowded(options_.places.front(), deadline);
    }

    [[nodiscard]] const std::vector<Lease>& unsettled() const { return unsettled_; }

    [[nodiscard]] std::string known_uid(const Place& place) const { return api_.known_uid(place); }
    [[nodiscard]] std::string find_uid(const Place& place, const base::Deadline& deadline) {
        const auto pool = api_.find_pool(place, deadline);
        return pool ? pool->uid : std::string();
    }

private:
    ClaimParts parts() {
        return {.options = options_,
                .server = server_,
                .api = api_,
                .check = check_,
                .returns = return_,
                .pools = pools_,
                .records = records_,
                .rest = rest_,
                .unsettled = unsettled_};
    }

    void note_claim(const Lease& lease) const {
        if (options_.before_claim) options_.before_claim(lease);
    }

    void let_rest(const std::vector<Lease>& released, const std::vector<Lease>& unused,
                  const base::Deadline& deadline) {
        std::map<std::string, RestMemory::GivenBack> by_pool;
        for (const Lease& lease : released) {
            const IpAddress address = lease.address.address();
            const auto known = std::find_if(unused.begin(), unused.end(), [&](const Lease& one) {
                return one.space == lease.space && one.address.address() == address;
            });
            const bool is_foreign = known != unused.end() && known->owner == Owner{};
            if (known == unused.end() || is_foreign)
                by_pool[api_.known_uid(cluster::place_of(lease))][address] = is_foreign ? 0 : lease.owner.name_hash();
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
        if (!reservation || is_of(*reservation, inherited.owner)) return true; // the claim makes it
        if (!is_of(*reservation, record)) return false;
        if (options_.before_inheritance) options_.before_inheritance(inherited);
        const Written written = api_.hand_over(name, *reservation, inherited.owner, deadline);
        if (written == Written::unknown) unsettled_.push_back(inherited);
        return written == Written::yes;
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
            if (is_wanted(record)) leases.push_back(records_.lease_of(place, record, 0));
        }
        return leases;
    }

    Options options_;
    kube::Api& server_;
    WhereaboutsApi api_;
    CheckedPools checked_;
    PoolCheck check_;
    WhereaboutsPools pools_;
    WhereaboutsReturn return_;
    RestMemory rest_;
    WhereaboutsRecords records_;
    std::vector<Lease> unsettled_;
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
    return impl_->find_if(deadline, [&](const PoolRecord& record) { return is_own(record, key); });
}

std::vector<Lease> WhereaboutsStore::find_predecessors(const Owner& owner, const base::Deadline& deadline) {
    impl_->wait_for_turn_if_crowded(deadline);
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
