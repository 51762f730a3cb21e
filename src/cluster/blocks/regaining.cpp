// Blocks of this node whose objects somebody else has changed or deleted.
#include "node_blocks.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>

#include <algorithm>

namespace rdmanet::cluster {
namespace {

using ipam::Block;
using ipam::BlockState;

} // namespace

/// A block that addresses were given from until now, and whose object is not as this node has left it. Nothing is given
/// from it before the cluster says again that it is this node's.
bool NodeBlocks::regain(const Block& block, const std::optional<BlockObject>& object, const Deadline& deadline) {
    if (!object) return regain_absent(block, deadline);
    const bool is_own = is_ours(*object, deadline);
    if (is_own && !object->is_released && object->node.boot_id == options_.boot_id) {
        open(*object, deadline);
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
    if (made.done == WriteOutcome::Done::unknown) not_known("creation", object.name(), made.trouble);
    if (made.done == WriteOutcome::Done::no) {
        const auto found = api_.find_block(object.name(), deadline);
        return found && regain(block, found, deadline);
    }
    object.version = made.version;
    open(object, deadline);
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

} // namespace rdmanet::cluster
