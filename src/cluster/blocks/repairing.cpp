// `rdmanet ipam check --repair`: the block of an address that a living pod of this node has.
#include "node_blocks.hpp"

#include "../regain.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>

#include <algorithm>
#include <utility>

namespace rdmanet::cluster {

using ipam::Block;
using ipam::BlockState;

ipam::Regained NodeBlocks::regain_block_of(const ipam::Lease& lease, const Deadline& deadline) {
    ipam::Regained regained{.lease = lease};
    (void)file_id(deadline);
    const auto range = find_range_of(lease, deadline);
    if (!range) {
        regained.refused = fmt::format("the cluster has no AddressRange of store \"blocks\" with {}: {}",
                                       lease.address.address(), kTakeAnother);
        return regained;
    }
    (void)learn_node_uid(deadline);
    const ipam::BlockCut cut(range->subnet, range->block_size, range->requestable);
    const base::IpPrefix block = cut.block_of(lease.address.address());
    const std::string name = object_name(range->space, block);
    const auto object = api_.find_block(name, deadline);
    const auto known = find_known(range->space, block, deadline);
    const bool is_whole = known && is_in_use(*known) && object && is_ours(*object, deadline) && !object->is_released &&
                          object->node.boot_id == options_.boot_id;
    if (is_whole) return regained;
    const bool was_known = known && regain_known(*known, object, deadline);
    const bool is_forgotten = !was_known && !find_known(range->space, block, deadline);
    const bool has_it = was_known || (is_forgotten && regain_unknown(*range, block, object, lease, deadline));
    if (has_it) {
        regained.made.push_back(object ? fmt::format("AddressBlock {} is this node's", name)
                                       : fmt::format("AddressBlock {}", name));
        return regained;
    }
    const auto holder = api_.find_block(name, deadline);
    if (!holder)
        regained.refused = fmt::format("AddressBlock {} cannot be created again: {}", name, kTakeAnother);
    else if (is_ours(*holder, deadline) || holder->node.name != options_.node_name)
        regained.refused = fmt::format("AddressBlock {} belongs to node {} by now: {}", name,
                                       base::quoted(holder->node.name), kTakeAnother);
    else
        regained.refused =
            fmt::format("AddressBlock {} belongs to this node by another file of leases: {}", name, kTakeAnother);
    return regained;
}

/// As this file knows it, else as the cluster has it.
std::optional<ipam::BlockRange> NodeBlocks::find_range_of(const ipam::Lease& lease, const Deadline& deadline) {
    const base::IpAddress address = lease.address.address();
    for (const BlockRange& range : file_.ranges(deadline))
        if (range.space == lease.space && range.subnet.contains(address)) return range;
    for (const RangeObject& range : api_.list_ranges(lease.space, deadline))
        if (gives_from_blocks(range) && range.subnet.contains(address)) return put_range(range, deadline);
    return std::nullopt;
}

bool NodeBlocks::regain_known(const Block& known, const std::optional<BlockObject>& object, const Deadline& deadline) {
    if (known.state == BlockState::claiming) return find_out(known, deadline);
    if (is_in_use(known) || known.state == BlockState::lost) {
        Block block = known;
        block.leases = std::max<std::uint64_t>(block.leases, 1); // of the lease that is missing, too
        return regain(block, object, deadline);
    }
    if (object) return reopen(known, deadline);
    file_.remove(known, deadline);
    return false;
}

/// The file has forgotten the block, or is a new one. Of another file of this machine it is taken only if the journal
/// shows all leases of this boot.
bool NodeBlocks::regain_unknown(const BlockRange& range, const base::IpPrefix& block,
                                const std::optional<BlockObject>& object, const ipam::Lease& lease,
                                const Deadline& deadline) {
    if (!object) return try_to_create(range, block, deadline);
    const bool is_free = object->is_released || judge(*object, {lease}) == Verdict::ours;
    return is_free && take(block_of(*object, BlockState::earlier), *object, deadline);
}

} // namespace rdmanet::cluster
