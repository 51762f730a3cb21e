#include <rdmanet/cluster/migrate.hpp>

#include "writers.hpp"

#include "../blocks/blocks_api.hpp"
#include "../blocks/range_pools.hpp"
#include "../range_records.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/ipam/block_cut.hpp>
#include <rdmanet/ipam/errors.hpp>
#include <rdmanet/json/reader.hpp>

#include <algorithm>
#include <utility>

namespace rdmanet::cluster {
namespace {

using ipam::Interval;
using ipam::StoreError;

class Migration {
public:
    Migration(kube::Api& api, const MigrateOptions& options, std::vector<MigratedRange>& moved,
              const base::Deadline& deadline)
        : server_(api), api_(api), ranges_(api_, options.outside), options_(options), moved_(moved),
          deadline_(deadline) {}

    void run() {
        std::vector<RangeObject> ranges;
        for (const Place& place : options_.places) ranges.push_back(look_at(place));
        for (const RangeObject& range : ranges) require_can_move(range);
        require_no_whereabouts_in(ranges);
        for (RangeObject& range : ranges) moved_.push_back(move(std::move(range)));
    }

private:
    /// As it is recorded, or as it would be: then it has no UID. Without a store if nothing has addresses of it.
    RangeObject look_at(const Place& place) {
        RangeObject range{.space = place.space, .subnet = place.subnet, .store = kInPools};
        if (auto recorded = api_.find_range(range.name(), deadline_)) return *std::move(recorded);
        if (!pools_of(range, RangePools::Slices::of_nodes).empty()) return range;
        range.store.clear();
        for (OutsideStore* outside : options_.outside)
            if (range.store.empty() && outside->has_range(place, deadline_)) range.store = outside->name();
        return range;
    }

    [[nodiscard]] bool is_to_move(const RangeObject& range) const {
        return !range.store.empty() && range.store != options_.to;
    }

    /// As it is when it has begun to move.
    [[nodiscard]] RangeObject wanted(const RangeObject& range) const {
        RangeObject wanted = range;
        wanted.store = options_.to;
        const auto requestable = requestable_in(range.subnet, options_.requestable);
        if (options_.to != kInBlocks) return wanted;
        if (range.block_size != 0) { // it has been cut before
            require_same_cut(range, options_.block_size, requestable);
            return wanted;
        }
        wanted.block_size = options_.block_size.value_or(ipam::kDefaultBlockSize);
        wanted.requestable = requestable;
        return wanted;
    }

    void require_can_move(const RangeObject& range) {
        if (range.store.empty()) return;
        // Of a wrong namespace nothing would be held.
        if (!range.uid.empty() && (is_to_move(range) || range.is_moving()))
            RangePools(api_, range).require_namespace(deadline_);
        require_one_store(range);
        if (!is_to_move(range)) return;
        require_may_begin(range);
        const RangeObject as_wanted = wanted(range);
        require_sources(as_wanted, range.store);
        require_can_be_read(as_wanted);
        ranges_.require_no_overlap(as_wanted, deadline_);
        if (!range.uid.empty()) require_keeps_held(range);
    }

    /// A range that somebody has deleted ends where it is. One between two stores may still go back.
    static void require_may_begin(const RangeObject& range) {
        if (!range.is_moving()) require_stays(range);
    }

    /// An outside store does not look at AddressRanges before it gives the first address of a range.
    void require_one_store(const RangeObject& range) {
        for (OutsideStore* outside : options_.outside) {
            const bool is_named = range.store == outside->name() ||
                                  std::find(range.from.begin(), range.from.end(), outside->name()) != range.from.end();
            if (range.uid.empty() || is_named || options_.to == outside->name()) continue;
            if (!outside->has_range({.space = range.space, .subnet = range.subnet}, deadline_)) continue;
            throw StoreError(
                StoreError::Kind::permanent,
                fmt::format("range {}: AddressRange {} says that it is in store \"{}\", and {} gives its "
                            "addresses as well: run `rdmanet ipam migrate --to {}`, which leaves out there "
                            "what others have, then run this command again; `rdmanet ipam check` lists "
                            "addresses that two pods have",
                            range.subnet, range.name(), range.store, outside->name(), outside->name()));
        }
    }

    /// Of a wrong server nothing would be held, and two servers would give the same addresses.
    void require_sources(RangeObject range, const std::string& store) {
        range.from.push_back(store);
        ranges_.require_sight(range);
        if (range.uid.empty()) return; // looked at just now
        for (const std::string& from : range.from)
            if (OutsideStore* outside = ranges_.find_outside(from))
                outside->require_range({.space = range.space, .subnet = range.subnet}, range.name(), deadline_);
    }

    /// Nobody could go on with an object that is none.
    static void require_can_be_read(RangeObject range) {
        range.version = range.uid = "none yet";
        try {
            const json::Document document = json::Document::parse(fmt::format(
                R"({{"metadata":{{"resourceVersion":"none","uid":"none"}},"spec":{}}})", range.spec_text()));
            (void)RangeObject::parse(document.root());
        } catch (const json::ValueError& error) {
            throw StoreError(StoreError::Kind::permanent, fmt::format("range {} cannot be in store \"{}\": {}",
                                                                      range.subnet, range.store, error.what()));
        }
    }

    void require_keeps_held(const RangeObject& range) {
        if (!api_.keeps_held(range, deadline_)) refuse_old_kind(range);
    }

    void require_no_whereabouts_in(const std::vector<RangeObject>& ranges) {
        std::vector<Place> from_pools;
        for (const RangeObject& range : ranges)
            if (is_to_move(range) && range.store == kInPools)
                from_pools.push_back({.space = range.space, .subnet = range.subnet});
        if (!from_pools.empty()) require_no_whereabouts(server_, options_, from_pools, deadline_);
    }

    MigratedRange move(RangeObject range) {
        MigratedRange result{.place = {.space = range.space, .subnet = range.subnet},
                             .object = range.name(),
                             .from = range.is_moving() ? range.from_text() : range.store};
        if (range.store.empty()) return result;
        if (options_.act == MigrateOptions::Act::moves) {
            const bool was_confirmed = !is_to_move(range) && range.is_confirmed;
            expect(range);
            if (is_to_move(range)) range = begin(std::move(range));
            result.from = range.is_moving() ? range.from_text() : result.from;
            if (range.uid.empty()) range = ranges_.record(range, deadline_);
            if (!range.is_confirmed) range = finish(range);
            if (was_confirmed && range.is_moving()) range = ranges_.shrink(std::move(range), deadline_);
            if (was_confirmed) ranges_.leave_out(range, deadline_);
        } else if (is_to_move(range)) {
            range.is_confirmed = false;
            range.from.push_back(range.store);
            std::erase(range.from, options_.to);
            range.store = options_.to;
            result.from = range.from_text();
        }
        result.is_moved = range.is_confirmed;
        result.is_going = range.is_going;
        describe_holders(range, result);
        return result;
    }

    /// An outside store has a record of each range whose AddressRange names it.
    void expect(const RangeObject& range) {
        const Place place{.space = range.space, .subnet = range.subnet};
        if (OutsideStore* to = ranges_.find_outside(options_.to); to != nullptr && is_to_move(range))
            to->expect(place, range.store, deadline_);
        if (OutsideStore* from = ranges_.find_outside(range.store); from != nullptr && range.uid.empty())
            from->expect(place, {}, deadline_);
    }

    /// The object says that it moves, and no longer that it is confirmed.
    RangeObject begin(RangeObject range) {
        if (range.uid.empty()) {
            range = ranges_.record(range, deadline_);
            require_keeps_held(range);
        }
        const auto checked = [&](const RangeObject& now) { // it may have changed while whereabouts was watched
            require_may_begin(now);
            RangeObject as_wanted = wanted(now);
            ranges_.require_no_overlap(as_wanted, deadline_);
            return as_wanted;
        };
        return ranges_.begin(std::move(range), options_.to, checked, deadline_);
    }

    /// False if nobody can say it now.
    bool is_moved_by_others(const RangeObject& range) try {
        const auto now = api_.find_range(range.name(), deadline_);
        return now && now->moves != range.moves;
    } catch (const base::Error&) {
        return false;
    }

    RangeObject finish(const RangeObject& range) {
        try {
            return ranges_.finish(range, deadline_);
        } catch (const base::Error& error) { // a store that is not asked through the API server may throw any
            if (!range.is_moving()) throw;
            if (is_moved_by_others(range))
                throw StoreError(StoreError::Kind::temporary,
                                 fmt::format("others move AddressRange {} to another store: when they are done, run "
                                             "this command again if it shall be in store \"{}\"",
                                             range.name(), range.store));
            throw StoreError(
                StoreError::Kind::permanent,
                fmt::format("{}; AddressRange {} is between two stores, \"{}\", and gives nothing: remove the cause "
                            "and run this command again, or go back with `--to {}`",
                            error.what(), range.name(), range.store_text(), range.from.front()));
        }
    }

    /// With records, or their number is not 0.
    std::vector<PoolHead> pools_of(const RangeObject& range, RangePools::Slices slices) {
        std::vector<PoolHead> pools;
        for (const PoolHead& listed : RangePools(api_, range).list(deadline_, slices))
            if (auto pool = api_.find_pool(listed.name, deadline_); pool && pool->records != 0)
                pools.push_back(*std::move(pool));
        return pools;
    }

    void describe_pools(const RangeObject& range, MigratedRange& result) {
        for (const PoolHead& pool : pools_of(range, RangePools::Slices::all)) {
            const auto addresses = RangePools(api_, range).addresses_in(pool);
            if (addresses.empty()) continue;
            result.held.insert(result.held.end(), addresses.begin(), addresses.end());
            result.holders.push_back(fmt::format("IPPool {}/{}: {}", api_.name_space(), pool.name,
                                                 base::counted(addresses.size(), "lease", "leases")));
        }
    }

    void describe_blocks(const RangeObject& range, MigratedRange& result) {
        for (const BlockObject& block : api_.list_blocks(range.space, range.subnet, deadline_)) {
            if (block.space != range.space) continue;
            result.held.push_back({block.block.network().value(), block.block.last().value()});
            result.holders.push_back(fmt::format("AddressBlock {} of node {}", block.name(), block.node.name));
        }
    }

    void describe_holders(const RangeObject& range, MigratedRange& result) {
        for (const std::string& store : range.from) {
            if (store == kInPools) describe_pools(range, result);
            if (store == kInBlocks) describe_blocks(range, result);
            for (OutsideStore* outside : options_.outside)
                if (outside->name() == store)
                    for (OutsideStore::Holder& holder : outside->describe(result.place, deadline_)) {
                        result.held.insert(result.held.end(), holder.addresses.begin(), holder.addresses.end());
                        result.holders.push_back(std::move(holder.text));
                    }
        }
        // What is written counts; nobody has written it yet if this only looks.
        if (range.is_confirmed) result.held = range.held;
        result.held = ipam::merged(std::move(result.held));
    }

    kube::Api& server_;
    BlocksApi api_;
    RangeRecords ranges_;
    const MigrateOptions& options_;
    std::vector<MigratedRange>& moved_;
    const base::Deadline& deadline_;
};

} // namespace

void migrate(kube::Api& api, const MigrateOptions& options, std::vector<MigratedRange>& moved,
             const base::Deadline& deadline) {
    Migration(api, options, moved, deadline).run();
}

} // namespace rdmanet::cluster
