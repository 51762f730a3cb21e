// How a node gets a block: a new one, or one that it has had.
#include "node_blocks.hpp"

#include "../tried.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/hash.hpp>

#include <algorithm>
#include <set>

namespace rdmanet::cluster {
namespace {

using base::IpPrefix;
using base::Uint128;
using ipam::Block;
using ipam::BlockState;
using ipam::Interval;
using ipam::StoreError;

constexpr int kBlindTries = 4;     // before the cluster is asked which blocks are taken
constexpr int kInformedTries = 16; // other nodes have the same answer

/// Blocks by number, of which some are taken.
class Candidates {
public:
    /// Those of `all` from `first` to `last`.
    Candidates(const std::vector<Interval>& all, Uint128 first, Uint128 last) {
        for (const Interval& one : all) {
            const Interval part{std::max(one.first, first), std::min(one.last, last)};
            if (part.first > part.last) continue;
            count_ += part.last - part.first + 1;
            parts_.push_back(part);
        }
    }
    [[nodiscard]] Uint128 count() const { return count_; }
    /// The place of the first candidate from `index` on, or of the first of all.
    [[nodiscard]] Uint128 place_from(Uint128 index) const {
        Uint128 before = 0;
        for (const Interval& part : parts_) {
            if (index <= part.last) return before + (index < part.first ? 0 : index - part.first);
            before += part.last - part.first + 1;
        }
        return 0;
    }
    [[nodiscard]] Uint128 at(Uint128 place) const {
        for (const Interval& part : parts_) {
            const Uint128 size = part.last - part.first + 1;
            if (place < size) return part.first + place;
            place -= size;
        }
        return 0; // unreachable: `place` is below count()
    }

private:
    std::vector<Interval> parts_;
    Uint128 count_ = 0;
};

} // namespace

/// Creating an object is the lock. The search goes on behind the node's own blocks, so that they lie together, or
/// begins where the node's name says, so that nodes which start together don't meet.
bool NodeBlocks::claim_new(const BlockRange& range, const ipam::BlockCut& cut, const ipam::Claim& claim,
                           const Deadline& deadline) {
    const http::Stopwatch watch;
    (void)learn_node_uid(deadline);
    const std::vector<Interval> all = cut.blocks_with(claim.usable);
    const Uint128 largest = cut.count_of_largest();
    std::set<std::string> taken;
    std::optional<IpPrefix> last_own;
    for (const Block& block : file_.blocks(deadline)) {
        if (block.space != range.space || block.range != range.subnet) continue;
        taken.insert(object_name(block.space, block.prefix));
        last_own = block.prefix;
    }
    const auto is_taken = [&](Uint128 index) { return taken.contains(object_name(range.space, cut.at(index))); };
    const std::uint64_t seed = base::hash64(fmt::format("{} {}", options_.node_name, range.subnet));
    bool is_informed = false;
    int tries = 0;
    // Small blocks are for the time when no others are left.
    for (const Candidates& candidates : {Candidates(all, 0, largest - 1), Candidates(all, largest, ~Uint128{0})}) {
        const Uint128 count = candidates.count();
        if (count == 0) continue;
        Uint128 start = last_own ? candidates.place_from(cut.index_of(last_own->address()) + 1) : seed % count;
        for (std::size_t own = taken.size(); own != 0 && is_taken(candidates.at(start)); --own)
            start = (start + 1) % count;
        if (!is_informed) {
            for (int attempt = 0; attempt < kBlindTries; ++attempt) {
                Uint128 place =
                    attempt == 0 ? start : base::hash64(fmt::format("{} {} {}", seed, attempt, file_id_)) % count;
                const auto is_own = [&] {
                    return taken.contains(object_name(range.space, cut.at(candidates.at(place))));
                };
                for (Uint128 step = 0; step < count && is_own(); ++step) place = (place + 1) % count;
                const IpPrefix block = cut.at(candidates.at(place));
                if (!taken.insert(object_name(range.space, block)).second) continue;
                if (try_to_create(range, block, deadline)) return true;
                if (attempt == 0 && go_on_with(range, block, deadline)) return true;
            }
            taken.merge(api_.list_block_names(range.space, range.subnet, largest, deadline));
            is_informed = true;
        }
        // Each step but these tries is over a block that is taken.
        for (Uint128 step = 0; step < count; ++step) {
            const IpPrefix block = cut.at(candidates.at((start + step) % count));
            if (!taken.insert(object_name(range.space, block)).second) continue;
            if (tries++ == kInformedTries) has_lost_races(range, watch);
            if (try_to_create(range, block, deadline)) return true;
        }
    }
    return false;
}

/// Throws: the range may have free blocks, so it is not full.
void NodeBlocks::has_lost_races(const BlockRange& range, const http::Stopwatch& watch) const {
    throw StoreError(StoreError::Kind::temporary,
                     fmt::format("lease store: other nodes were faster {} times to take a block of range {}{}",
                                 kInformedTries, range.subnet, tried_at(options_.api().server(), watch)));
}

bool NodeBlocks::try_to_create(const BlockRange& range, const IpPrefix& block, const Deadline& deadline) {
    Block claiming{.space = range.space,
                   .prefix = block,
                   .range = range.subnet,
                   .state = BlockState::claiming,
                   .node_uid = node_uid_,
                   .boot_id = options_.boot_id,
                   .since = file_.now().boot};
    file_.add(claiming, deadline);
    BlockObject object = object_of(claiming);
    object.in_use = 1; // this is for an address that is wanted now
    WriteOutcome made;
    try {
        made = api_.create(object, deadline);
    } catch (const StoreError&) { // the server has refused, or was not reached
        file_.remove(claiming, deadline);
        throw;
    }
    if (made.done == WriteOutcome::Done::no) {
        file_.remove(claiming, deadline);
        return false;
    }
    if (made.done == WriteOutcome::Done::unknown) {
        if (find_out(claiming, deadline)) return true;
        not_known("creation", object.name(), made.trouble);
    }
    object.version = made.version;
    open(object, deadline);
    return true;
}

/// The block that this machine may have had in an earlier boot, if its name is taken. Most nodes have one block of a
/// range, which the name of the node finds again without a list.
bool NodeBlocks::go_on_with(const BlockRange& range, const IpPrefix& block, const Deadline& deadline) {
    if (file_.has_looked(options_.kubeconfig, options_.node_name, deadline)) return false;
    const auto object = api_.find_block(object_name(range.space, block), deadline);
    return object && object->range == range.subnet && may_go_on_with(*object, deadline) &&
           take(block_of(*object, BlockState::earlier), *object, deadline);
}

/// The cluster says that the block is this node's. That counts if the range is still recorded as this node knows it.
/// Whoever records a range anew looks at all blocks after the earlier record has gone. A block that was there by then
/// keeps the new record away, and a later one finds the earlier record gone here.
void NodeBlocks::open(const BlockObject& own, const Deadline& deadline) {
    const Block block = block_of(own, BlockState::open);
    const auto recorded = api_.find_range(object_name(own.space, own.range), deadline);
    if (recorded && is_as_known(*recorded, deadline)) return file_.open(block, deadline);
    file_.lose(block, {}, deadline);
    if (const auto known = find_known(block.space, block.prefix, deadline); known && known->state == BlockState::closed)
        give_back(*known, deadline);
    throw RangeChanged(StoreError::Kind::temporary,
                       fmt::format("lease store: AddressRange {} is not what it was when this node took a block of it: "
                                   "try again",
                                   object_name(own.space, own.range)));
}

/// A request of unknown outcome. True if it has given us the block.
bool NodeBlocks::find_out(const Block& claiming, const Deadline& deadline) {
    const auto object = api_.find_block(object_name(claiming.space, claiming.prefix), deadline);
    if (object && is_ours(*object, deadline)) {
        if (object->is_released || object->node.boot_id != options_.boot_id) return take(claiming, *object, deadline);
        open(*object, deadline);
        return true;
    }
    const std::int64_t waited = file_.now().boot - claiming.since;
    // It may still apply: a creation while there is none, a change while the version is what it tests. Then another look
    // finds it.
    const bool may_apply = claiming.version.empty() ? !object : object && object->version == claiming.version;
    if (may_apply && waited >= 0 && waited < kSettled.count()) return false;
    file_.remove(claiming, deadline);
    return false;
}

/// Makes it this node's, of this boot and this file, by one write that names what it expects.
bool NodeBlocks::take(const Block& known, const BlockObject& object, const Deadline& deadline) {
    (void)learn_node_uid(deadline);
    file_.add(known, deadline);
    BlockObject own = object_of(known);
    const WriteOutcome written = api_.write(own, object.version, BlocksApi::Finalizer::kept, deadline);
    if (written.done == WriteOutcome::Done::unknown) not_known("change", object.name(), written.trouble);
    if (written.done == WriteOutcome::Done::no) return false;
    own.version = written.version;
    open(own, deadline);
    return true;
}

/// A block that was this node's: closed, or of an earlier boot.
bool NodeBlocks::reopen(const Block& closed, const Deadline& deadline) {
    BlockObject expected = object_of(closed);
    expected.version = closed.version;
    if (!closed.version.empty() && take(closed, expected, deadline)) return true;
    const auto object = api_.find_block(expected.name(), deadline);
    const bool is_free = object && (object->is_released || is_ours(*object, deadline));
    if (is_free && take(closed, *object, deadline)) return true;
    file_.remove(closed, deadline);
    return false;
}

} // namespace rdmanet::cluster
