// The blocks of other nodes, when the range has no free one.
#include "node_blocks.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace rdmanet::cluster {
namespace {

using ipam::Block;
using ipam::BlockState;
using ipam::Interval;

constexpr int kMostMarked = 16; // blocks of nodes that are gone, by one call
constexpr std::size_t kMostNodesNamed = 5;
constexpr std::size_t kMostNodesAsked = 4; // one by one
// A mark that is older was made when the node was gone an earlier time. Whoever looks while a node is there removes its
// mark, and so does the node when it writes its new UID. But few ask for some ranges, so the two looks may be far
// apart.
constexpr std::chrono::hours kOldMark{24};

} // namespace

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
    std::vector<Block> known = file_.blocks(deadline);
    std::erase_if(known, [&](const Block& block) { return block.space != range.space || block.range != range.subnet; });
    const auto is_known = [&](const BlockObject& object) {
        return std::any_of(known.begin(), known.end(), [&](const Block& block) {
            return block.space == object.space && block.prefix == object.block;
        });
    };
    const std::vector<ipam::Lease> leases = file_.list_all(deadline);
    for (const BlockObject& object : blocks) {
        const bool is_free = object.is_released || judge(object, leases) == Verdict::ours;
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
/// the file does not say that it was this node's: a call after one that was killed here would take or delete it. A
/// request without an answer stays written down, and the version says whether it may still apply.
bool NodeBlocks::take_once(BlockObject object, const Deadline& deadline) {
    Block known = block_of(object, BlockState::claiming);
    known.since = file_.now().boot;
    object.missing_since.reset();
    if (take(known, object, deadline)) return true;
    file_.remove(known, deadline);
    return false;
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

} // namespace rdmanet::cluster
