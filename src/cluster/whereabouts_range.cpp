#include "whereabouts_range.hpp"

#include "range_records.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/ipam/errors.hpp>

#include <vector>

namespace rdmanet::cluster {
namespace {

using ipam::StoreError;

[[noreturn]] void refuse_marked(const Place& place, const std::string& pool, const std::string& store,
                                const std::string& by = {}) {
    throw StoreError(StoreError::Kind::permanent,
                     fmt::format("range {}: this network has \"store\" whereabouts, and IPPool {} says that its "
                                 "addresses are in store {}{}: use that, or a range of its own",
                                 place.subnet, pool, base::quoted(store), by));
}

/// Blocks that had the range before there were pools have marked none. A pool with records was there before them.
[[noreturn]] void refuse_to_begin(const Place& place, const MissingRight& missing) {
    throw MissingRight(StoreError::Kind::permanent,
                       fmt::format("range {} has no leases yet, and only an AddressRange can say that it is not in "
                                   "store \"blocks\": {}",
                                   place.subnet, missing.what()));
}

/// For a node that can't read AddressRanges. A store that takes a range marks its pools first, then those that it
/// finds in a list. This node has made its pool before it comes here, so one of both sees the other.
void require_no_marks(BlocksApi& api, const Place& place, const Pool& pool, const MissingRight& missing,
                      const base::Deadline& deadline) {
    if (!pool.store.empty()) refuse_marked(place, pool_name(place), pool.store);
    std::vector<PoolHead> others;
    try {
        others = api.list_pools(deadline);
    } catch (const MissingRight&) { // the other right is the better one
        throw MissingRight(missing);
    }
    for (const PoolHead& other : others) {
        const auto subnet = subnet_of_pool(place.space, other.name);
        if (subnet && has_reservations(place) && overlap(*subnet, place.subnet) && !other.store.empty())
            refuse_marked(place, other.name, other.store);
    }
}

} // namespace

bool WhereaboutsRange::is_ours(const Place& place, const Pool& pool, const base::Deadline& deadline) {
    if (pool.store.empty() && memory_.knows(place, pool.uid)) return true;
    BlocksApi api(api_);
    RangeObject wanted{.space = place.space, .subnet = place.subnet, .store = kInPools};
    wanted.recorded_by = node_name_;
    try {
        RangeRecords ranges(api);
        if (!pool.store.empty())
            if (const auto other = ranges.find_in_other_space(place.space, place.subnet, deadline))
                refuse_marked(place, pool_name(place), pool.store, fmt::format(", by AddressRange {}", other->name()));
        (void)ranges.record(
            wanted, [] {}, deadline);
        if (!pool.store.empty()) { // blocks had the range once
            if (const auto marked = api.find_pool(pool_name(place), deadline); marked && !marked->store.empty())
                (void)api.mark_pool(*marked, {}, deadline);
            return false;
        }
    } catch (const MissingKind&) { // nobody can have blocks
        if (!pool.store.empty()) refuse_marked(place, pool_name(place), pool.store);
    } catch (const MissingRight& missing) {
        require_no_marks(api, place, pool, missing, deadline);
        if (pool.records.empty() && api.knows_ranges(deadline)) refuse_to_begin(place, missing);
        if (warn_)
            warn_(fmt::format("{}; until then, only marks in the pools say which ranges other stores have",
                              missing.what()));
    }
    memory_.note(place, pool.uid);
    return true;
}

} // namespace rdmanet::cluster
