#include <rdmanet/ipam/allocator.hpp>

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>

#include <algorithm>
#include <utility>

namespace rdmanet::ipam {
namespace {

std::string list_of_ranges(const Config& config) {
    return config.ranges.empty() ? "it has none" : base::join(config.ranges, ", ", &ConfiguredRange::range);
}

/// Says why no range gives the address, although an attachment gets an address from each range.
std::string refuse(const base::IpAddress& address, const Config& config) {
    for (const ConfiguredRange& range : config.ranges) {
        if (range.range.contains(address))
            return fmt::format(
                "requested address {} cannot be leased: another requested address is from the same range, "
                "{}, which gives one address to an attachment: request only one of them",
                address, range.range);
        if (range.gateway == address)
            return fmt::format("requested address {} cannot be leased: it is the gateway of range {}: request another "
                               "address",
                               address, range.range);
        for (const Route& route : config.routes)
            if (route.gateway == address)
                return fmt::format("requested address {} cannot be leased: it is the gateway of route {}: request "
                                   "another address",
                                   address, route.destination);
        if (address.family() == range.range.family() && range.range.bounds().contains(address.value()))
            return fmt::format("requested address {} cannot be leased: it is excluded from range {}: request another "
                               "address",
                               address, range.range);
    }
    return fmt::format("requested address {} cannot be leased: it is outside the ranges of this network ({}): request "
                       "an address inside them, or none",
                       address, list_of_ranges(config));
}

void check_length(const RequestedAddress& requested, const Range& range, std::vector<std::string>& warnings) {
    if (!requested.prefix_length || *requested.prefix_length == range.subnet().length()) return;
    warnings.push_back(fmt::format("requested address {}/{} is given with the prefix length of its range, {}",
                                   requested.address, *requested.prefix_length, range.subnet().length()));
}

/// The first range that can give the address and has no other request.
void place(const RequestedAddress& requested, const Config& config, std::vector<Claim>& claims,
           std::vector<std::string>& warnings) {
    for (const Claim& claim : claims)
        if (claim.wanted == requested.address) return; // requested twice
    for (std::size_t at = 0; at < config.ranges.size(); ++at) {
        const Range& range = config.ranges[at].range;
        if (claims[at].wanted || !range.contains(requested.address)) continue;
        claims[at].wanted = requested.address;
        check_length(requested, range, warnings);
        return;
    }
    throw RequestedAddressInvalid(refuse(requested.address, config));
}

/// A claim for any address of the range.
Claim claim_for(const ConfiguredRange& range, std::chrono::seconds cooldown) {
    return {.space = range.space,
            .family = range.range.family(),
            .prefix_length = range.range.subnet().length(),
            .usable = range.range.usable(),
            .cooldown = cooldown};
}

/// Whether static addresses are leased as others are. The objects of whereabouts have no records of them.
bool claims_static_addresses(const Config& config) {
    return config.store.kind != StoreKind::pools;
}

/// One claim for each range, then one for each static address that is claimed. Throws RequestedAddressInvalid for a
/// requested address that no range can give. Adds a warning if the requested prefix length is not that of the range.
std::vector<Claim> claims_for(const Config& config, const std::vector<RequestedAddress>& requested,
                              std::vector<std::string>& warnings) {
    std::vector<Claim> claims;
    for (const ConfiguredRange& range : config.ranges) claims.push_back(claim_for(range, config.cooldown));
    for (const RequestedAddress& address : requested) place(address, config, claims, warnings);
    if (!claims_static_addresses(config)) return claims;
    for (const StaticAddress& address : config.addresses)
        claims.push_back({.space = address.space,
                          .family = address.address.family(),
                          .prefix_length = address.address.length(),
                          .wanted = address.address.address(),
                          .cooldown = config.cooldown});
    return claims;
}

constexpr std::size_t kPage = 256; // leases read at once: bounds the memory and the time that the store is locked

ExhaustedError exhausted(const ConfiguredRange& range, std::size_t leases, std::size_t dead,
                         const std::string& more_to_know) {
    const base::Uint128 usable = range.range.usable_count();
    return ExhaustedError(fmt::format(
        "no free address in range {}: {} on {} usable {}, {} of them stale: {}make the range larger, or "
        "delete a pod that `rdmanet state` shows{}",
        range.range, base::counted(leases, "lease", "leases"), to_text(usable), usable == 1 ? "address" : "addresses",
        dead, dead == 0 ? "" : "run `rdmanet gc` to reclaim stale leases, ", more_to_know));
}

RequestedAddressTaken taken(const Taken& outcome) {
    return RequestedAddressTaken(
        fmt::format("requested address {} is taken by {}: request another address, or delete that pod",
                    outcome.holder.address.address(), outcome.holder.owner));
}

/// A repeated ADD keeps its leases. It cannot get another address than the one that its interface may already have.
void expect_wanted(const std::vector<Claim>& claims, const std::vector<Lease>& leases) {
    for (std::size_t slot = 0; slot < claims.size(); ++slot) {
        const auto& wanted = claims[slot].wanted;
        if (!wanted || leases[slot].address.address() == *wanted) continue;
        throw RequestedAddressInvalid(
            fmt::format("requested address {} cannot be leased: this attachment already holds {}: delete the pod",
                        *wanted, leases[slot].address));
    }
}

std::optional<base::IpAddress> gateway_of(const Config& config, std::size_t slot, const base::IpPrefix& address) {
    if (slot >= config.ranges.size()) return config.addresses[slot - config.ranges.size()].gateway;
    // A lease that is older than the configuration may be outside the range.
    const ConfiguredRange& range = config.ranges[slot];
    return range.range.subnet().contains(address.address()) ? range.gateway : std::nullopt;
}

std::string describe(const Rival& rival) {
    if (rival.holder.empty()) return fmt::format("the cluster has not, {}: another node may get it", rival.addresses);
    return fmt::format("has become node {}'s, {}: another pod may get it", base::quoted(rival.holder), rival.addresses);
}

bool fits(const Lease& lease, const std::vector<Claim>& claims) {
    if (lease.slot >= claims.size()) return false;
    const Claim& claim = claims[lease.slot];
    const base::IpAddress& address = lease.address.address();
    if (lease.space != claim.space || address.family() != claim.family || lease.address.length() != claim.prefix_length)
        return false;
    if (claim.wanted) return address == *claim.wanted;
    return std::ranges::any_of(claim.usable,
                               [&](const Interval& interval) { return interval.contains(address.value()); });
}

} // namespace

Allocation Allocator::allocate(const Config& config, const Owner& owner, const std::vector<RequestedAddress>& requested,
                               const base::Deadline& deadline) {
    Allocation allocation;
    std::vector<Claim> claims = claims_for(config, requested, allocation.warnings);
    for (Claim& claim : claims) claim.resting = Resting::left_alone;
    Granted granted;
    if (auto at_once = store_.reserve_at_once(owner, claims, deadline)) {
        granted = *std::move(at_once);
    } else {
        take_over_from_predecessors(owner, claims, deadline);
        granted = reserve(owner, claims, config, deadline);
    }
    allocation.leases = std::move(granted.leases);
    allocation.fresh = std::move(granted.fresh);
    expect_wanted(claims, allocation.leases);
    for (std::size_t slot = 0; slot < claims.size(); ++slot) {
        const base::IpPrefix& address = allocation.leases[slot].address;
        allocation.ips.push_back({.address = address, .gateway = gateway_of(config, slot, address)});
    }
    if (!claims_static_addresses(config))
        for (const StaticAddress& given : config.addresses)
            allocation.ips.push_back({.address = given.address, .gateway = given.gateway});
    allocation.reclaimed_from = std::exchange(reclaimed_from_, {});
    allocation.routes = config.routes;
    allocation.dns = config.dns;
    return allocation;
}

void Allocator::take_over_from_predecessors(const Owner& owner, const std::vector<Claim>& claims,
                                            const base::Deadline& deadline) {
    std::vector<Lease> kept;
    std::vector<Lease> given_up;
    for (Lease& lease : store_.find_predecessors(owner, deadline)) {
        if (probe_.probe(lease.owner) != Liveness::dead) continue;
        (fits(lease, claims) ? kept : given_up).push_back(std::move(lease));
    }
    for (const Lease& lease : kept) reclaimed_from_.push_back(lease.owner.key);
    if (!kept.empty()) store_.adopt(kept, owner, deadline);
    if (!given_up.empty()) reclaim(given_up, deadline);
}

std::size_t Allocator::reclaim(const std::vector<Lease>& dead, const base::Deadline& deadline) {
    for (const Lease& lease : dead) reclaimed_from_.push_back(lease.owner.key);
    return store_.reclaim(dead, deadline).size();
}

/// `claims` leave resting addresses alone at first: leases of dead owners are reclaimed before one is given. Owners are
/// probed only if every address is leased or resting.
Granted Allocator::reserve(const Owner& owner, std::vector<Claim> claims, const Config& config,
                           const base::Deadline& deadline) {
    for (;;) {
        auto outcome = store_.reserve(owner, claims, deadline);
        if (auto* granted = std::get_if<Granted>(&outcome)) return std::move(*granted);
        if (const auto* other = std::get_if<Taken>(&outcome)) {
            if (!reclaim_from_dead_holder(other->holder, deadline) || deadline.passed()) throw taken(*other);
            continue;
        }
        // Another process may reclaim the dead owners' leases first, or reserve a freed address before this one. So
        // the loop goes on as long as there are dead owners.
        const auto& none = std::get<Exhausted>(outcome);
        const Sweep sweep = reclaim_from_the_dead(claims[none.claim], deadline);
        const bool may_rest = std::exchange(claims[none.claim].resting, Resting::given) == Resting::left_alone;
        if ((sweep.dead != 0 || may_rest) && !deadline.passed()) continue;
        if (none.refusal) throw StoreError(*none.refusal);
        throw exhausted(config.ranges[none.claim],
                        std::max<std::size_t>(sweep.leases, store_.usage(claims[none.claim], deadline).leases),
                        sweep.freed, sweep.doubt() + none.detail);
    }
}

std::string Allocator::Sweep::doubt() const {
    if (unknown == 0) return {};
    return fmt::format("; the owners of {} may be alive, because {}", base::counted(unknown, "lease", "leases"),
                       reason);
}

bool Allocator::reclaim_from_dead_holder(const Lease& held, const base::Deadline& deadline) {
    if (probe_.probe(held.owner) != Liveness::dead) return false;
    (void)reclaim({held}, deadline); // reclaims nothing if another process was first
    return true;
}

Allocator::Sweep Allocator::reclaim_from_the_dead(const Claim& claim, const base::Deadline& deadline) {
    Sweep sweep;
    std::optional<base::IpAddress> after;
    for (;;) {
        const std::vector<Lease> page = store_.list_local(claim, after, kPage, deadline);
        if (page.empty()) return sweep;
        after = page.back().address.address();
        sweep.leases += page.size();
        std::vector<Lease> dead;
        for (const Lease& lease : page) {
            Verdict holder = probe_.probe(lease.owner);
            if (holder == Liveness::dead) dead.push_back(lease);
            if (holder != Liveness::unknown) continue;
            if (sweep.unknown++ == 0) sweep.reason = std::move(holder.reason);
        }
        sweep.dead += dead.size();
        if (!dead.empty()) sweep.freed += reclaim(dead, deadline);
    }
}

bool Allocator::has_room(const ConfiguredRange& range, const base::Deadline& deadline) {
    const Claim claim = claim_for(range, {});
    return store_.has_free(claim, deadline) || has_dead_holder(claim, deadline);
}

std::vector<std::string> Allocator::find_doubts(const base::Deadline& deadline) {
    std::vector<std::string> doubts;
    for (const Rival& rival : store_.find_rivals(deadline)) {
        std::vector<std::string> pods;
        for (const Lease& lease : store_.list_all(deadline))
            if (lease.space == rival.space && rival.addresses.contains(lease.address.address()))
                pods.push_back(fmt::format("{} of {}", lease.address.address(), lease.owner));
        doubts.push_back(fmt::format("pods of this node have addresses of a block that {}: delete these pods: {}",
                                     describe(rival), base::join(pods)));
    }
    return doubts;
}

Usage Allocator::usage(const ConfiguredRange& range, const base::Deadline& deadline) {
    return store_.usage(claim_for(range, {}), deadline);
}

std::vector<std::string> Allocator::foresee(const Config& config, const std::vector<RequestedAddress>& requested,
                                            const base::Deadline& deadline) {
    std::vector<std::string> warnings;
    const std::vector<Claim> claims = claims_for(config, requested, warnings);
    for (std::size_t slot = 0; slot < claims.size(); ++slot)
        if (claims[slot].wanted) require_free(claims[slot], slot, deadline); // a store gives these first
    for (std::size_t slot = 0; slot < config.ranges.size(); ++slot)
        if (!claims[slot].wanted && !has_room(config.ranges[slot], deadline))
            throw exhausted(config.ranges[slot], usage(config.ranges[slot], deadline).leases, 0, {});
    return warnings;
}

/// Throws if the wanted address belongs to an owner that is not dead.
void Allocator::require_free(const Claim& claim, std::size_t number, const base::Deadline& deadline) {
    Claim just_that = claim;
    just_that.usable = {{.first = claim.wanted->value(), .last = claim.wanted->value()}};
    for (const Lease& held : store_.list(just_that, std::nullopt, 1, deadline))
        if (probe_.probe(held.owner) != Liveness::dead) throw taken({.claim = number, .holder = held});
}

bool Allocator::has_dead_holder(const Claim& claim, const base::Deadline& deadline) {
    std::optional<base::IpAddress> after;
    while (!deadline.passed()) {
        const std::vector<Lease> page = store_.list_local(claim, after, kPage, deadline);
        if (page.empty()) return false;
        after = page.back().address.address();
        if (std::ranges::any_of(page, [&](const Lease& lease) { return probe_.probe(lease.owner) == Liveness::dead; }))
            return true;
    }
    return false;
}

std::vector<std::string> Allocator::check(const OwnerKey& key, const std::vector<base::IpPrefix>& addresses,
                                          const base::Deadline& deadline) {
    const std::vector<Lease> leases = store_.find(key, deadline);
    std::vector<std::string> faults;
    const auto is_leased = [&](const base::IpPrefix& address) {
        return std::ranges::any_of(leases, [&](const Lease& lease) { return lease.address == address; });
    };
    for (const base::IpPrefix& address : addresses)
        if (!is_leased(address))
            faults.push_back(
                fmt::format("address {} of the pod is not leased to it, so another pod may get it", address));
    for (const Lease& lease : leases)
        if (std::ranges::find(addresses, lease.address) == addresses.end())
            faults.push_back(
                fmt::format("address {} is leased to the pod, but its interface does not have it", lease.address));
    for (const Rival& rival : store_.find_rivals(deadline))
        for (const Lease& lease : leases)
            if (lease.space == rival.space && rival.addresses.contains(lease.address.address()))
                faults.push_back(
                    fmt::format("address {} of the pod is in a block that {}", lease.address, describe(rival)));
    return faults;
}

} // namespace rdmanet::ipam
