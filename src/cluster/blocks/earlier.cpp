// What this machine has had in an earlier boot, by another lease file or as another Node object.
#include "node_blocks.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>

#include <algorithm>

namespace rdmanet::cluster {
namespace {

using ipam::Block;
using ipam::BlockState;
using ipam::StoreError;

constexpr std::size_t kMostBlocksNamed = 5;

} // namespace

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

} // namespace rdmanet::cluster
