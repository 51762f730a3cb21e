#include "range_pools.hpp"

#include "../range_records.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/cluster/whereabouts_store.hpp>

#include <algorithm>
#include <set>

namespace rdmanet::cluster {
namespace {

using base::Deadline;
using ipam::StoreError;

constexpr int kMostMarkings = 5;

} // namespace

/// What a pool of whereabouts has given, blocks would give again. A pool of another length has the same addresses,
/// unless they are unique in their range only. Store "whereabouts" gives nothing from a marked pool, also on a node
/// that may not read AddressRanges. Such a node makes its pool first, then looks for marks. So the range has a marked
/// pool of its own before the others are listed.
void RangePools::take(const Deadline& deadline) {
    for (const PoolHead& pool : list(deadline)) (void)find_empty(pool.name, deadline); // before anything is marked
    if (!make_marked(deadline)) return;
    for (const PoolHead& pool : list(deadline)) mark(pool.name, deadline);
}

/// The name of a node's slice does not say where the name of the network ends and that of the node begins, so the
/// cluster is asked for its nodes.
std::vector<PoolHead> RangePools::list(const Deadline& deadline) {
    std::optional<std::set<std::string>> nodes;
    const auto is_of_node = [&](const NodeSlice& slice) {
        if (!overlap(slice.subnet, range_.subnet)) return false;
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

/// False if nobody can have pools.
bool RangePools::make_marked(const Deadline& deadline) {
    // The API server takes no such name, so store "whereabouts" refuses the range.
    if (pool_name({.space = range_.space, .subnet = range_.subnet}).starts_with('-')) return true;
    try {
        for (int attempt = 0; attempt < kMostMarkings; ++attempt)
            if (api_.create_marked_pool(range_.space, range_.subnet, range_.store, deadline).done !=
                WriteOutcome::Done::unknown)
                return true;
    } catch (const MissingKind&) {
        return false; // whereabouts is not installed
    }
    throw StoreError(StoreError::Kind::temporary,
                     fmt::format("lease store: no answer says whether the IPPool of range {} was made", range_.subnet));
}

std::optional<PoolHead> RangePools::find_empty(const std::string& name, const Deadline& deadline) {
    auto pool = api_.find_pool(name, deadline);
    if (pool && pool->records != 0)
        throw StoreError(StoreError::Kind::permanent,
                         fmt::format("range {} has {} in whereabouts' IPPool {}, which blocks would give again: set "
                                     "\"store\": \"whereabouts\", or delete those pods first",
                                     range_.subnet, base::counted(pool->records, "lease", "leases"), name));
    return pool;
}

void RangePools::mark(const std::string& name, const Deadline& deadline) {
    for (int attempt = 0; attempt < kMostMarkings; ++attempt) {
        const auto pool = find_empty(name, deadline);
        // Claims test the mark, so a pool that was marked before it was read gets no more records.
        if (!pool || pool->mark == range_.store) return;
        if (api_.mark_pool(*pool, range_.store, deadline).done == WriteOutcome::Done::yes)
            return; // it was as it was read
    }
    throw StoreError(StoreError::Kind::temporary,
                     fmt::format("lease store: other nodes change IPPool {}: try again", name));
}

} // namespace rdmanet::cluster
