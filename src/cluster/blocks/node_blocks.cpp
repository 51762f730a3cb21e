#include "node_blocks.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/hash.hpp>
#include <rdmanet/base/rollback.hpp>
#include <rdmanet/base/text.hpp>

#include <algorithm>
#include <ctime>
#include <exception>
#include <map>
#include <utility>

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
constexpr int kMostMarked = 16;    // blocks of nodes that are gone, by one call
constexpr std::size_t kMostNodesNamed = 5;
constexpr std::size_t kMostBlocksNamed = 5;
constexpr std::size_t kMostNodesAsked = 4; // one by one
// A mark that is older was made when the node was gone an earlier time.
constexpr std::chrono::minutes kOldMark{10};

Interval interval_of(const IpPrefix& block) {
    return {block.network().value(), block.last().value()};
}

bool is_useful(const IpPrefix& block, const std::vector<Interval>& usable) {
    const Interval its = interval_of(block);
    return std::any_of(usable.begin(), usable.end(), [&](const Interval& interval) {
        return interval.first <= its.last && its.first <= interval.last;
    });
}

std::string time_text() {
    const std::time_t now = std::time(nullptr);
    std::tm utc{};
    char text[32] = "";
    (void)::gmtime_r(&now, &utc);
    (void)std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
    return text;
}

[[noreturn]] void not_known(std::string_view what, const std::string& name) {
    throw StoreError(StoreError::Kind::temporary,
                     fmt::format("lease store: no answer says whether the {} of AddressBlock {} was done", what, name));
}

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

const std::string& NodeBlocks::file_id(const Deadline& deadline) {
    if (file_id_.empty()) file_id_ = file_.id(deadline);
    return file_id_;
}

bool NodeBlocks::is_ours(const BlockObject& object, const Deadline& deadline) {
    return object.lease_file == file_id(deadline);
}

/// What this node writes into the cluster for a block of its own.
BlockObject NodeBlocks::object_of(const Block& block) const {
    return {.space = block.space,
            .range = block.range,
            .block = block.prefix,
            .node = {.name = options_.node_name,
                     .uid = node_uid_.empty() ? block.node_uid : node_uid_,
                     .machine_id = options_.machine_id,
                     .boot_id = options_.boot_id},
            .lease_file = file_id_,
            .in_use = block.leases,
            .in_use_at = time_text()};
}

Block NodeBlocks::block_of(const BlockObject& object, BlockState state) const {
    return {.space = object.space,
            .prefix = object.block,
            .range = object.range,
            .state = state,
            .version = object.version,
            .node_uid = object.node.uid,
            .boot_id = object.node.boot_id};
}

NodeBlocks::Search NodeBlocks::acquire(const ipam::Claim& claim, const Deadline& deadline) {
    (void)file_id(deadline);
    const BlockRange range = range_of(claim, deadline);
    const ipam::BlockCut cut(range.subnet, range.block_size, range.requestable);
    const auto is_of_range = [&](const Block& block) {
        return block.space == range.space && block.range == range.subnet;
    };
    bool has_found = false;
    for (const Block& block : file_.blocks(deadline)) {
        if (!is_of_range(block)) continue;
        if (block.state == BlockState::claiming && find_out(block, deadline)) has_found = true;
        if (block.state == BlockState::lost && regain_lost(block, deadline)) has_found = true;
    }
    if (has_found) return {.found = true};
    look_for_earlier(range, deadline);
    if (claim.wanted) return acquire_block(range, cut.block_of(*claim.wanted), *claim.wanted, deadline);
    const std::vector<Interval> usable = cut.without_requestable(claim.usable);
    for (const Block& block : file_.blocks(deadline)) {
        const bool is_settled = block.state == BlockState::claiming || block.state == BlockState::lost;
        if (!is_of_range(block) || is_in_use(block) || is_settled) continue;
        if (is_useful(block.prefix, usable) && reopen(block, deadline)) return {.found = true};
    }
    if (claim_new(range, cut, claim, deadline)) return {.found = true};
    return search_among_others(range, cut, claim, deadline);
}

NodeBlocks::Search NodeBlocks::acquire_block(const BlockRange& range, const IpPrefix& block,
                                             const base::IpAddress& wanted, const Deadline& deadline) {
    for (const Block& known : file_.blocks(deadline)) {
        if (known.space != range.space || known.prefix != block) continue;
        if (known.state == BlockState::claiming) not_known("creation", object_name(range.space, block));
        if (known.state != BlockState::lost && reopen(known, deadline)) return {.found = true};
    }
    (void)learn_node_uid(deadline);
    if (try_to_create(range, block, deadline)) return {.found = true};
    auto object = api_.find_block(object_name(range.space, block), deadline);
    if (!object)
        throw StoreError(
            StoreError::Kind::temporary,
            fmt::format("lease store: AddressBlock {} came and went: try again", object_name(range.space, block)));
    if (object->is_released || is_ours(*object, deadline))
        if (take(block_of(*object, BlockState::earlier), *object, deadline)) return {.found = true};
    throw ipam::RequestedAddressTaken(fmt::format(
        "requested address {} is in block {} of node {}: request an address of {}", wanted, block, object->node.name,
        range.requestable
            ? fmt::format("the requestable part, {}", *range.requestable)
            : std::string("another block, or set \"requestable\" for the range before it is first used")));
}

/// A request of unknown outcome. True if it has given us the block.
bool NodeBlocks::find_out(const Block& claiming, const Deadline& deadline) {
    const auto object = api_.find_block(object_name(claiming.space, claiming.prefix), deadline);
    if (object && is_ours(*object, deadline)) {
        if (object->is_released || object->node.boot_id != options_.boot_id) return take(claiming, *object, deadline);
        file_.open(block_of(*object, BlockState::open), deadline);
        return true;
    }
    const std::int64_t waited = file_.now().boot - claiming.since;
    // It may still apply. Then another look finds it.
    if (!object && waited >= 0 && waited < kSettled.count()) return false;
    file_.remove(claiming, deadline);
    return false;
}

/// Makes it this node's, of this boot and this file, by one write that names what it expects.
bool NodeBlocks::take(const Block& known, const BlockObject& object, const Deadline& deadline) {
    (void)learn_node_uid(deadline);
    file_.add(known, deadline);
    BlockObject own = object_of(known);
    const WriteOutcome written = api_.write(own, object.version, BlocksApi::Finalizer::kept, deadline);
    if (written.done == WriteOutcome::Done::unknown) not_known("change", object.name());
    if (written.done == WriteOutcome::Done::no) return false;
    own.version = written.version;
    file_.open(block_of(own, BlockState::open), deadline);
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

bool NodeBlocks::is_in_use(const Block& block) const {
    return block.state == BlockState::open && block.boot_id == options_.boot_id;
}

bool NodeBlocks::is_due(const Block& block, const ipam::Time& now) {
    const std::int64_t waited = now.boot - block.since;
    return block.state == BlockState::lost && (waited < 0 || waited >= kSettled.count());
}

/// A block that addresses were given from until now, and whose object is not as this node has left it. Nothing is given
/// from it before the cluster says again that it is this node's.
bool NodeBlocks::regain(const Block& block, const std::optional<BlockObject>& object, const Deadline& deadline) {
    if (!object) return regain_absent(block, deadline);
    const bool is_own = is_ours(*object, deadline);
    if (is_own && !object->is_released && object->node.boot_id == options_.boot_id) {
        file_.open(block_of(*object, BlockState::open), deadline);
        return true;
    }
    file_.lose(block, object->node.name, deadline);
    if ((is_own || object->is_released) && take(block, *object, deadline)) return true;
    if (options_.report)
        options_.report(fmt::format("block {} of this node has become node {}'s, which may give the addresses of this "
                                    "node's pods again: delete this node's pods with addresses of {}, which `rdmanet "
                                    "state` shows (AddressBlock {})",
                                    block.prefix, base::quoted(object->node.name), block.prefix, object->name()));
    return false;
}

/// Its object is gone, though only its node takes the finalizer away. Creating it is the lock, as for a new one.
bool NodeBlocks::regain_absent(const Block& block, const Deadline& deadline) {
    file_.lose(block, {}, deadline);
    if (block.leases == 0) return false; // then any other block is as good
    BlockObject object = object_of(block);
    const WriteOutcome made = api_.create(object, deadline);
    if (made.done == WriteOutcome::Done::unknown) not_known("creation", object.name());
    if (made.done == WriteOutcome::Done::no) {
        const auto found = api_.find_block(object.name(), deadline);
        return found && regain(block, found, deadline);
    }
    object.version = made.version;
    file_.open(block_of(object, BlockState::open), deadline);
    if (options_.warn)
        options_.warn(fmt::format("AddressBlock {} of this node was gone, and is created again: find out who deletes "
                                  "it and its finalizer",
                                  object.name()));
    return true;
}

bool NodeBlocks::regain_lost(const Block& lost, const Deadline& deadline) {
    (void)learn_node_uid(deadline);
    return regain(lost, api_.find_block(object_name(lost.space, lost.prefix), deadline), deadline);
}

/// `all` are the blocks of the range. Those of this node are looked at one by one if the list says something else than
/// the file.
void NodeBlocks::regain_missing(const std::vector<BlockObject>& all, const BlockRange& range,
                                const Deadline& deadline) {
    for (const Block& block : file_.blocks(deadline)) {
        if (!is_in_use(block) || block.space != range.space || block.range != range.subnet) continue;
        const auto listed =
            std::find_if(all.begin(), all.end(), [&](const BlockObject& one) { return one.block == block.prefix; });
        if (listed == all.end() || !is_ours(*listed, deadline) || listed->is_released)
            (void)regain_lost(block, deadline);
    }
}

/// What a boot before this one has left, in all ranges: those that this node uses no more go back. Once for each boot.
void NodeBlocks::look_for_earlier(const BlockRange& range, const Deadline& deadline) {
    if (file_.has_looked(range, deadline)) return;
    (void)learn_node_uid(deadline);
    const std::vector<ipam::Lease> leases = file_.list_all(deadline);
    std::vector<std::string> left_alone;
    for (const BlockObject& object : api_.list_blocks_of(options_.node_name, deadline)) {
        if (may_go_on_with(object, leases, left_alone) && knows_range_of(object, deadline))
            file_.add(block_of(object, BlockState::earlier), deadline);
    }
    file_.set_looked(range, deadline);
    if (left_alone.empty() || !options_.warn) return;
    const std::size_t named = std::min(left_alone.size(), kMostBlocksNamed);
    options_.warn(
        fmt::format("{} of this node may have leases that this state directory does not know, or whose records "
                    "cannot be read. They are left alone until the node reboots: {}{}",
                    base::counted(left_alone.size(), "block", "blocks"),
                    base::join({left_alone.begin(), left_alone.begin() + static_cast<std::ptrdiff_t>(named)}),
                    named < left_alone.size() ? " and others" : ""));
}

/// Whoever uses or gives back the block needs what the cluster has recorded for its range.
bool NodeBlocks::knows_range_of(const BlockObject& object, const Deadline& deadline) {
    const std::vector<BlockRange> ranges = file_.ranges(deadline);
    if (std::any_of(ranges.begin(), ranges.end(), [&](const BlockRange& range) {
            return range.space == object.space && range.subnet == object.range;
        }))
        return true;
    const auto recorded = api_.find_range(object_name(object.space, object.range), deadline);
    if (!recorded || !recorded->is_confirmed || recorded->store != kInBlocks) return false;
    put_range(*recorded, deadline);
    return true;
}

/// Whether the block is this machine's, and nothing is in use that this file doesn't know. After a reboot nothing is.
/// If the file is a new one in the same boot, the journal must show leases in the block: then it shows all of them.
bool NodeBlocks::may_go_on_with(const BlockObject& object, const std::vector<ipam::Lease>& leases,
                                std::vector<std::string>& left_alone) const {
    if (object.lease_file == file_id_) return true;
    const bool is_same_machine =
        object.node.uid == node_uid_ || (object.node.name == options_.node_name && !options_.machine_id.empty() &&
                                         object.node.machine_id == options_.machine_id);
    if (!is_same_machine) return false;
    if (object.node.boot_id != options_.boot_id) return true;
    const bool is_in_journal = std::any_of(leases.begin(), leases.end(), [&](const ipam::Lease& lease) {
        return lease.space == object.space && object.block.contains(lease.address.address());
    });
    const bool is_whole = is_in_journal && !(options_.has_unreadable_records && options_.has_unreadable_records());
    if (!is_whole) left_alone.push_back(object.name());
    return is_whole;
}

/// The UID of this node's Node object now. If it was registered anew, its blocks say so from now on.
const std::string& NodeBlocks::learn_node_uid(const Deadline& deadline) {
    if (!node_uid_.empty()) return node_uid_;
    if (!base::is_name_of_object(options_.node_name)) // a configured one was checked before
        throw StoreError(StoreError::Kind::permanent,
                         fmt::format("lease store: this host's name, {}, cannot be the name of a Node: set "
                                     "\"nodeName\" to the name of this node, in the node's rdmanet.conf",
                                     base::quoted(options_.node_name)));
    const auto node = api_.find_node(options_.node_name, deadline);
    if (!node)
        throw StoreError(StoreError::Kind::temporary, // kubelet registers a new machine, or registers one anew
                         fmt::format("lease store: the cluster has no Node {}: set \"nodeName\" to the name of this "
                                     "node, in {}",
                                     base::quoted(options_.node_name), "the node's rdmanet.conf"));
    if (!node->machine_id.empty() && !options_.machine_id.empty() && node->machine_id != options_.machine_id)
        throw StoreError(
            StoreError::Kind::permanent,
            fmt::format("lease store: Node {} is the machine {}, and this one is {} (/etc/machine-id): set "
                        "\"nodeName\" to the name of this node",
                        options_.node_name, node->machine_id, options_.machine_id));
    // Of two machines with one name and one machine id, kubelet's reports name the boot of one.
    if (!node->boot_id.empty() && node->boot_id != options_.boot_id)
        throw StoreError(
            StoreError::Kind::temporary,
            fmt::format("lease store: Node {} reports boot {}, and this machine's boot is {}: wait until kubelet has "
                        "reported; if that does not help, another machine has this name: set \"nodeName\" to the "
                        "name of this node",
                        options_.node_name, node->boot_id, options_.boot_id));
    node_uid_ = node->uid;
    write_new_uid(node->uid, deadline);
    return node_uid_;
}

void NodeBlocks::write_new_uid(const std::string& uid, const Deadline& deadline) {
    (void)file_id(deadline);
    for (Block& block : file_.blocks(deadline)) {
        if (!is_in_use(block) || block.node_uid == uid) continue;
        block.node_uid = uid;
        for (int attempt = 0; attempt < 2; ++attempt) {
            const WriteOutcome written =
                api_.write(object_of(block), block.version, BlocksApi::Finalizer::kept, deadline);
            if (written.done == WriteOutcome::Done::yes) {
                block.version = written.version;
                file_.set_written(block, deadline);
                break;
            }
            const auto object = api_.find_block(object_name(block.space, block.prefix), deadline);
            if (!object || !is_ours(*object, deadline)) {
                (void)regain(block, object, deadline);
                break;
            }
            block.version = object->version;
        }
    }
}

/// Creating an object is the lock. The search goes on behind the node's own blocks, so that they lie together, or
/// begins where the node's name says, so that nodes which start together don't meet.
bool NodeBlocks::claim_new(const BlockRange& range, const ipam::BlockCut& cut, const ipam::Claim& claim,
                           const Deadline& deadline) {
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
    const std::uint64_t seed = base::hash64(fmt::format("{} {}", options_.node_name, range.subnet));
    bool is_informed = false;
    int tries = 0;
    // Small blocks are for the time when no others are left.
    for (const Candidates& candidates : {Candidates(all, 0, largest - 1), Candidates(all, largest, ~Uint128{0})}) {
        const Uint128 count = candidates.count();
        if (count == 0) continue;
        const Uint128 start = last_own ? candidates.place_from(cut.index_of(last_own->address()) + 1) : seed % count;
        if (!is_informed) {
            for (int attempt = 0; attempt < kBlindTries; ++attempt) {
                const Uint128 place =
                    attempt == 0 ? start : base::hash64(fmt::format("{} {} {}", seed, attempt, file_id_)) % count;
                const IpPrefix block = cut.at(candidates.at(place));
                if (!taken.insert(object_name(range.space, block)).second) continue;
                if (try_to_create(range, block, deadline)) return true;
            }
            taken.merge(api_.list_block_names(range.space, range.subnet, largest, deadline));
            is_informed = true;
        }
        // Each step but these tries is over a block that is taken.
        for (Uint128 step = 0; step < count && tries < kInformedTries; ++step) {
            const IpPrefix block = cut.at(candidates.at((start + step) % count));
            if (!taken.insert(object_name(range.space, block)).second) continue;
            ++tries;
            if (try_to_create(range, block, deadline)) return true;
        }
    }
    return false;
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
    try {
        const WriteOutcome made = api_.create(object, deadline);
        if (made.done == WriteOutcome::Done::yes) {
            object.version = made.version;
            file_.open(block_of(object, BlockState::open), deadline);
            return true;
        }
        if (made.done == WriteOutcome::Done::no) {
            file_.remove(claiming, deadline);
            return false;
        }
    } catch (const StoreError&) { // the server has refused, or was not reached
        file_.remove(claiming, deadline);
        throw;
    }
    if (find_out(claiming, deadline)) return true;
    not_known("creation", object.name());
}

/// The range has no free block: one that its node has given up, or whose node is gone for good.
NodeBlocks::Search NodeBlocks::search_among_others(const BlockRange& range, const ipam::BlockCut& cut,
                                                   const ipam::Claim& claim, const Deadline& deadline) {
    const std::vector<Interval> usable = cut.without_requestable(claim.usable);
    std::vector<BlockObject> blocks = api_.list_blocks(range.space, range.subnet, deadline);
    std::erase_if(blocks, [&](const BlockObject& object) { return object.space != range.space; });
    regain_missing(blocks, range, deadline);
    std::erase_if(blocks, [&](const BlockObject& object) {
        return object.space != range.space || object.range != range.subnet || !is_useful(object.block, usable);
    });
    const std::vector<Block> known = file_.blocks(deadline);
    const auto is_known = [&](const BlockObject& object) {
        return std::any_of(known.begin(), known.end(), [&](const Block& block) {
            return block.space == object.space && block.prefix == object.block;
        });
    };
    for (const BlockObject& object : blocks) {
        const bool is_free = object.is_released || is_ours(object, deadline); // ours: its answer was lost for long
        if (is_free && !is_known(object) && take(block_of(object, BlockState::earlier), object, deadline))
            return {.found = true};
    }
    std::erase_if(blocks, is_known);
    const bool has_found = take_from_the_gone(blocks, deadline);
    return {.found = has_found, .detail = has_found ? "" : describe_holders(known, blocks)};
}

/// A node is gone when no Node object has its UID and none reports its boot: one that was registered anew has another
/// UID, and its pods go on. It must be seen twice, because the objects of a cluster may be restored from a backup.
/// Leaves the blocks that are not taken in `others`.
bool NodeBlocks::take_from_the_gone(std::vector<BlockObject>& others, const Deadline& deadline) {
    const std::set<std::string> uids = api_.list_node_uids(deadline);
    const std::int64_t now = api_.date().value_or(0);
    int marked = 0;
    std::vector<BlockObject*> missing;
    for (BlockObject& object : others) {
        if (!uids.contains(object.node.uid)) {
            if (now != 0 && sighting_of(object, now) != Sighting::too_early) missing.push_back(&object);
        } else if (object.missing_since && marked++ < kMostMarked) { // whoever missed it was wrong, or it is back
            mark(object, std::nullopt, deadline);
        }
    }
    if (missing.empty()) return false;
    const std::set<std::string> boots = find_boots(missing, deadline);
    for (BlockObject* object : missing) {
        const bool is_due = sighting_of(*object, now) == Sighting::due;
        if (boots.contains(object->node.boot_id)) {
            if (object->missing_since && marked++ < kMostMarked) mark(*object, std::nullopt, deadline);
        } else if (is_due) {
            if (take_once(*object, deadline)) return true;
        } else if (marked++ < kMostMarked) {
            mark(*object, now, deadline);
        }
    }
    return false;
}

NodeBlocks::Sighting NodeBlocks::sighting_of(const BlockObject& object, std::int64_t now) {
    const std::int64_t seen_for = now - object.missing_since.value_or(now);
    const bool is_old = seen_for < 0 || seen_for > std::chrono::seconds(kOldMark).count();
    if (!object.missing_since || is_old) return Sighting::first;
    return seen_for >= std::chrono::seconds(kGoneTwice).count() ? Sighting::due : Sighting::too_early;
}

/// Boots that nodes report, of which those of the blocks matter. A node that was registered anew mostly has its old
/// name. Only if the nodes of these names do not report the boots, all nodes are asked.
std::set<std::string> NodeBlocks::find_boots(const std::vector<BlockObject*>& missing, const Deadline& deadline) {
    std::set<std::string> boots;
    std::set<std::string> names;
    for (const BlockObject* object : missing)
        if (names.size() < kMostNodesAsked && names.insert(object->node.name).second)
            if (const auto node = api_.find_node(object->node.name, deadline)) boots.insert(node->boot_id);
    const bool is_done = std::all_of(missing.begin(), missing.end(),
                                     [&](const BlockObject* object) { return boots.contains(object->node.boot_id); });
    return is_done ? boots : api_.list_boot_ids(deadline);
}

void NodeBlocks::mark(BlockObject& object, std::optional<std::int64_t> missing_since, const Deadline& deadline) {
    object.missing_since = missing_since;
    if (api_.write(object, object.version, BlocksApi::Finalizer::kept, deadline).done != WriteOutcome::Done::yes)
        object.missing_since.reset(); // somebody else has changed it
}

/// Its node is gone as of this version, and may be back at a later time: what is not taken now must be judged anew. So
/// the file does not say that it was this node's: a call after one that was killed here would take or delete it.
bool NodeBlocks::take_once(BlockObject object, const Deadline& deadline) {
    const Block known = block_of(object, BlockState::claiming);
    base::Rollback rollback([](const std::string&, const char*) {});
    rollback.on_failure("forget the block", [&] { file_.remove(known, deadline); });
    object.missing_since.reset();
    if (!take(known, object, deadline)) return false;
    rollback.commit();
    return true;
}

std::string NodeBlocks::describe_holders(const std::vector<Block>& own, const std::vector<BlockObject>& others) const {
    std::map<std::string, std::size_t> count_of;
    std::size_t of_the_gone = 0;
    for (const BlockObject& object : others) {
        ++count_of[object.node.name];
        if (object.missing_since) ++of_the_gone;
    }
    std::vector<std::pair<std::size_t, std::string>> holders;
    holders.reserve(count_of.size());
    for (const auto& [name, count] : count_of) holders.emplace_back(count, name);
    std::sort(holders.rbegin(), holders.rend());
    std::string text = fmt::format("; this node holds {}", base::counted(own.size(), "block", "blocks"));
    for (std::size_t at = 0; at < holders.size() && at < kMostNodesNamed; ++at)
        text += fmt::format(", node {} {}", holders[at].second, holders[at].first);
    if (holders.size() > kMostNodesNamed)
        text += fmt::format(", and {} other nodes the rest", holders.size() - kMostNodesNamed);
    if (of_the_gone != 0)
        text += fmt::format("; {} of nodes that are gone can be taken five minutes after that was first seen",
                            base::counted(of_the_gone, "block", "blocks"));
    return text;
}

/// Two writes, both conditional: the block says that nothing is given from it any more, then it goes. In between any
/// node may take it.
void NodeBlocks::give_back(const Block& closed, const Deadline& deadline) {
    BlockObject object = object_of(closed);
    object.is_released = true;
    std::string version = closed.version;
    for (int attempt = 0; attempt < 2; ++attempt) {
        if (version.empty() || attempt != 0) {
            const auto found = api_.find_block(object.name(), deadline);
            if (!found || !is_ours(*found, deadline)) return file_.remove(closed, deadline);
            version = found->version;
        }
        const WriteOutcome written = api_.write(object, version, BlocksApi::Finalizer::gone, deadline);
        if (written.done == WriteOutcome::Done::unknown) not_known("release", object.name());
        if (written.done == WriteOutcome::Done::no) continue;
        // One that somebody has deleted went with its finalizer.
        if (written.is_going) return file_.remove(closed, deadline);
        Block released = closed;
        released.version = written.version;
        file_.set_written(released, deadline);
        object.uid = written.uid;
        return remove_released(released, object, deadline);
    }
}

void NodeBlocks::remove_released(const Block& released, const BlockObject& object, const Deadline& deadline) {
    const WriteOutcome removed = api_.remove(object, released.version, deadline);
    if (removed.done == WriteOutcome::Done::unknown) not_known("removal", object.name());
    if (removed.done == WriteOutcome::Done::no) {
        const auto found = api_.find_block(object.name(), deadline);
        if (found && is_ours(*found, deadline)) return; // the next call tries again, with its version by then
    }
    file_.remove(released, deadline);
}

void NodeBlocks::settle(const Deadline& deadline) {
    (void)file_id(deadline);
    for (const BlockRange& range : file_.ranges(deadline)) follow_kubeconfig(range, deadline);
    const std::vector<BlockRange> ranges = file_.ranges(deadline);
    const auto is_of_this_cluster = [&](const Block& block) {
        return std::any_of(ranges.begin(), ranges.end(), [&](const BlockRange& range) {
            return range.space == block.space && range.subnet == block.range && range.kubeconfig == options_.kubeconfig;
        });
    };
    // What the cluster refuses for one block does not keep the others.
    std::exception_ptr first_failure;
    const auto for_each_block = [&](const auto& act) {
        for (const Block& block : file_.blocks(deadline)) {
            if (!is_of_this_cluster(block)) continue;
            try {
                act(block);
            } catch (const StoreError& error) {
                if (error.unreachable()) throw; // the others would wait for the same server
                if (!first_failure) first_failure = std::current_exception();
            }
        }
    };
    for_each_block([&](const Block& block) {
        if (block.state == BlockState::claiming) (void)find_out(block, deadline);
    });
    file_.close_abandoned(deadline);
    for_each_block([&](const Block& block) {
        if (block.state == BlockState::closed) give_back(block, deadline);
    });
    for_each_block([&](const Block& block) {
        if (is_due(block, file_.now())) (void)regain_lost(block, deadline);
    });
    if (first_failure) std::rethrow_exception(first_failure);
}

} // namespace rdmanet::cluster
