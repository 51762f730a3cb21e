#include "whereabouts_range.hpp"

#include "range_records.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/ipam/errors.hpp>

#include <vector>

namespace rdmanet::cluster {
namespace {

using ipam::StoreError;

[[noreturn]] void refuse_marked(const Place& place, const std::string& pool, const std::string& mark,
                                const std::string& by = {}) {
    throw StoreError(StoreError::Kind::permanent,
                     fmt::format("range {}: this network has \"store\" whereabouts, and IPPool {} says that its "
                                 "addresses are in store {}{}: use that, or a range of its own",
                                 place.subnet, pool, base::quoted(mark), by));
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
    if (pool.mark == kInPools) throw MissingRight(missing); // of an earlier version: others may have its addresses
    if (!pool.mark.empty()) refuse_marked(place, pool_name(place), pool.mark);
    std::vector<PoolHead> others;
    try {
        others = api.list_pools(deadline);
    } catch (const MissingRight&) { // the other right is the better one
        throw MissingRight(missing);
    }
    for (const PoolHead& other : others) {
        const auto subnet = subnet_of_pool(place.space, other.name);
        const bool has_its_addresses = subnet && has_reservations(place) && overlap(*subnet, place.subnet);
        if (has_its_addresses && !other.mark.empty() && other.mark != kInPools)
            refuse_marked(place, other.name, other.mark);
    }
}

/// Two spaces may share one pool. The mark is that of one AddressRange.
void require_none_in_other_space(RangeRecords& ranges, const Place& place, const base::Deadline& deadline) {
    const auto other = ranges.find_in_other_space(place.space, place.subnet, deadline);
    if (!other) return;
    refuse_marked(place, pool_name(place), other->store, fmt::format(", by AddressRange {}", other->name()));
}

} // namespace

bool WhereaboutsRange::may_give(const Place& place, const Pool& pool, const base::Deadline& deadline) {
    if (pool.mark.empty() && memory_.knows(place, pool.uid)) return true;
    BlocksApi api(api_);
    try {
        return record(place, pool, api, deadline);
    } catch (const MissingKind&) { // nobody can have blocks
        if (!pool.mark.empty()) refuse_marked(place, pool_name(place), pool.mark);
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

void WhereaboutsRange::require_own(const Place& place, const Pool* pool, const base::Deadline& deadline) const {
    if (pool != nullptr && pool->mark.empty()) return;
    const RangeObject wanted{.space = place.space, .subnet = place.subnet, .store = kInPools};
    try {
        if (const auto recorded = BlocksApi(api_).find_range(wanted.name(), deadline))
            return require_same_store(*recorded, wanted);
    } catch (const MissingKind&) { // then the mark says what is known
    } catch (const MissingRight&) {
    }
    if (pool != nullptr && pool->mark != kInPools) refuse_marked(place, pool_name(place), pool->mark);
}

/// The pool is read before the range, and a mark is written only into the pool as it was read. So an older mark never
/// replaces a newer one.
bool WhereaboutsRange::record(const Place& place, const Pool& pool, BlocksApi& api, const base::Deadline& deadline) {
    RangeRecords ranges(api);
    const bool is_anothers = !pool.mark.empty() && pool.mark != kInPools;
    if (is_anothers) require_none_in_other_space(ranges, place, deadline); // before anything is recorded
    RangeObject wanted{.space = place.space, .subnet = place.subnet, .store = kInPools};
    wanted.recorded_by = node_name_;
    const RangeObject recorded = ranges.record(wanted, deadline);
    if (pool.mark.empty()) {
        memory_.note(place, pool.uid);
        return true;
    }
    if (is_anothers)
        ranges.require_no_overlap(recorded, deadline); // whose mark it may be
    else
        require_none_in_other_space(ranges, place, deadline);
    const PoolHead as_read{
        .name = pool_name(place), .mark = pool.mark, .version = pool.version, .has_annotations = pool.has_annotations};
    (void)api.mark_pool(as_read, {}, deadline);
    return false;
}

} // namespace rdmanet::cluster
