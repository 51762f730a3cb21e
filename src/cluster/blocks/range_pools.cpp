#include "range_pools.hpp"

#include "../held.hpp"
#include "../range_records.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/cluster/whereabouts_store.hpp>

#include <algorithm>
#include <set>

namespace rdmanet::cluster {
namespace {

using base::Deadline;
using ipam::Interval;
using ipam::StoreError;

constexpr int kMostMarkings = 5;

void append(std::vector<Interval>& all, const std::vector<Interval>& more) {
    all.insert(all.end(), more.begin(), more.end());
}

} // namespace

/// What a pool of whereabouts has given, blocks would give again. A pool of another length has the same addresses,
/// unless they are unique in their range only. Store "whereabouts" gives nothing from a marked pool, also on a node
/// that may not read AddressRanges. Such a node makes its pool first, then looks for marks. So the range has a marked
/// pool of its own before the others are listed.
std::vector<Interval> RangePools::take(const Deadline& deadline) {
    std::vector<Interval> held;
    require_namespace(deadline);
    if (!range_.is_moving()) // before anything is marked
        for (const PoolHead& pool : list(deadline)) (void)find(pool.name, deadline);
    if (!make_marked(deadline)) return held;
    std::set<std::string> marked;
    for (const PoolHead& pool : list(deadline)) {
        append(held, mark(pool.name, deadline));
        marked.insert(pool.name);
    }
    if (range_.is_moving()) append(held, look_beside(marked, deadline));
    return ipam::merged(std::move(held));
}

/// All pools were marked before the move was confirmed, and those that were made since give nothing to a node that does
/// not look at the AddressRange.
std::vector<Interval> RangePools::look(const Deadline& deadline) {
    require_namespace(deadline);
    return ipam::merged(look_beside({}, deadline));
}

/// A node that is gone may register again, and its pods have their addresses all the time. What looks like its slice
/// may be another network's pool, so it is not marked.
std::vector<Interval> RangePools::look_beside(const std::set<std::string>& seen, const Deadline& deadline) {
    std::vector<Interval> held;
    for (const PoolHead& listed : list(deadline, Slices::all)) {
        if (seen.contains(listed.name)) continue;
        if (const auto pool = find(listed.name, deadline)) append(held, addresses_in(*pool));
    }
    return held;
}

/// A node makes its pool before the AddressRange. Without one, this user looks into another namespace than nodes do.
void RangePools::require_namespace(const Deadline& deadline) {
    const bool had_pools = std::find(range_.from.begin(), range_.from.end(), kInPools) != range_.from.end();
    if ((!had_pools && range_.store != kInPools) || !list(deadline).empty()) return;
    throw StoreError(StoreError::Kind::permanent,
                     fmt::format("range {} comes from store \"whereabouts\", and namespace {} has no IPPool of it: "
                                 "run `rdmanet ipam migrate` with the --namespace that has the pools",
                                 range_.subnet, base::quoted(api_.name_space())));
}

/// The name of a node's slice does not say where the name of the network ends and that of the node begins, so the
/// cluster is asked for its nodes. A marked pool may have records: those of a range that was deleted while it moved.
std::vector<PoolHead> RangePools::list(const Deadline& deadline, Slices which) {
    std::optional<std::set<std::string>> nodes;
    const auto is_of_node = [&](const NodeSlice& slice) {
        if (!overlap(slice.subnet, range_.subnet)) return false;
        if (which == Slices::all) return true;
        if (!nodes) nodes = api_.list_node_names(deadline);
        return nodes->contains(slice.node);
    };
    std::vector<PoolHead> pools = api_.list_pools(deadline);
    std::erase_if(pools, [&](const PoolHead& pool) {
        const auto subnet = subnet_of_pool(range_.space, pool.name);
        if (subnet) return !has_addresses_of(range_, *subnet);
        const std::vector<NodeSlice> slices = slices_of_pool(range_.space, pool.name);
        return std::none_of(slices.begin(), slices.end(), is_of_node);
    });
    return pools;
}

std::vector<Interval> RangePools::addresses_in(const PoolHead& pool) const {
    std::vector<Interval> addresses;
    for (const base::IpAddress& address : pool.addresses)
        if (range_.subnet.contains(address)) addresses.push_back({address.value(), address.value()});
    return addresses;
}

/// False if nobody can have pools.
bool RangePools::make_marked(const Deadline& deadline) {
    // The API server takes no such name, so store "whereabouts" refuses the range.
    if (pool_name({.space = range_.space, .subnet = range_.subnet}).starts_with('-')) return true;
    try {
        for (int attempt = 0; attempt < kMostMarkings; ++attempt)
            if (api_.create_marked_pool(range_.space, range_.subnet, mark_of_pools(range_), deadline).done !=
                WriteOutcome::Done::unknown)
                return true;
    } catch (const MissingKind&) {
        return false; // whereabouts is not installed
    }
    throw StoreError(StoreError::Kind::temporary,
                     fmt::format("lease store: no answer says whether the IPPool of range {} was made", range_.subnet));
}

std::optional<PoolHead> RangePools::find(const std::string& name, const Deadline& deadline) {
    auto pool = api_.find_pool(name, deadline);
    if (pool && pool->records != 0 && !range_.is_moving())
        throw StoreError(StoreError::Kind::permanent,
                         fmt::format("range {} has {} in whereabouts' IPPool {}, which blocks would give again: run "
                                     "`rdmanet ipam migrate`, set \"store\": \"whereabouts\", or delete those pods",
                                     range_.subnet, base::counted(pool->records, "lease", "leases"), name));
    if (pool && pool->records != pool->addresses.size())
        throw StoreError(StoreError::Kind::permanent,
                         fmt::format("IPPool {} has {} that cannot be read as an address of its range: remove those "
                                     "whose pods are gone, and delete the pods of the others",
                                     name, base::counted(pool->records - pool->addresses.size(), "record", "records")));
    return pool;
}

std::vector<Interval> RangePools::mark(const std::string& name, const Deadline& deadline) {
    const std::string mark = mark_of_pools(range_);
    for (int attempt = 0; attempt < kMostMarkings; ++attempt) {
        const auto pool = find(name, deadline);
        if (!pool) return {};
        // Claims test the mark, so a pool that was marked before it was read gets no more records.
        if (pool->mark == mark) return addresses_in(*pool);
        const WriteOutcome marked = api_.mark_pool(*pool, mark, deadline);
        if (marked.done == WriteOutcome::Done::yes) return addresses_in(*pool); // it was as it was read
    }
    throw StoreError(StoreError::Kind::temporary,
                     fmt::format("lease store: other nodes change IPPool {}: try again", name));
}

} // namespace rdmanet::cluster
