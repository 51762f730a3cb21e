// What this machine has had in an earlier boot, by another lease file or as another Node object.
#include "left_alone.hpp"
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

bool has_lease_in(const BlockObject& object, const std::vector<ipam::Lease>& leases) {
    return std::any_of(leases.begin(), leases.end(), [&](const ipam::Lease& lease) {
        return lease.space == object.space && object.block.contains(lease.address.address());
    });
}

} // namespace

/// When many nodes start, a list for each takes the server as long as there are blocks. So ADD goes without: it comes
/// upon a block of an earlier boot where the name of the node says, or when the range has no other.
bool NodeBlocks::look_for_earlier(const Deadline& deadline, const BlocksStore::FindUse& find_use) {
    const std::vector<BlockObject> objects = api_.list_blocks_of(options_.node_name, deadline);
    if (objects.empty() && file_.ranges(deadline).empty()) return true; // without a file
    const std::string& own = file_id(deadline);
    if (!std::all_of(objects.begin(), objects.end(), [&](const BlockObject& one) { return one.lease_file == own; }))
        (void)learn_node_uid(deadline);
    const std::vector<ipam::Lease> leases = file_.list_all(deadline);
    std::vector<std::string> left_alone;
    bool has_seen_all = true;
    for (const BlockObject& object : objects) {
        const Block earlier = block_of(object, BlockState::earlier);
        const bool is_known = find_known(object.space, object.block, deadline).has_value();
        if (is_known && knows_range_of(earlier, deadline)) continue;
        Verdict verdict = judge(object, leases);
        if (verdict == Verdict::left_alone) {
            const std::string why = find_use ? why_in_use(object, find_use) : std::string();
            if (find_use && why.empty())
                verdict = Verdict::ours;
            else
                left_alone.push_back(why.empty() ? object.name() : fmt::format("{} ({})", object.name(), why));
        }
        if (verdict != Verdict::ours) continue;
        // The list is from the server's memory, which may still have what this file has just given back.
        if (object.lease_file == own && !is_known && !api_.find_block(object.name(), deadline)) continue;
        if (knows_range_of(earlier, deadline)) {
            file_.add(earlier, deadline);
            continue;
        }
        const auto recorded = api_.find_range(object_name(object.space, object.range), deadline);
        const bool is_of_blocks = recorded && gives_from_blocks(*recorded);
        const bool goes_back_later = !is_of_blocks && has_lease_in(object, leases); // after its last lease
        if (goes_back_later || (recorded && !recorded->is_confirmed)) {
            has_seen_all = false;
        } else if (is_of_blocks) {
            (void)put_range(*recorded, deadline);
            file_.add(earlier, deadline);
        } else if (!is_known) {
            // Nothing is given from a block without a range. This file may have forgotten it half given back.
            give_back(earlier, deadline);
        }
    }
    if (has_seen_all) file_.set_looked(options_.kubeconfig, options_.node_name, deadline);
    if (left_alone.empty())
        LeftAlone(options_).forget();
    else
        leave_alone(left_alone);
    return has_seen_all && left_alone.empty();
}

/// A block that another file of this very place had in this boot: two files can't be there at once, so that one is
/// gone. What it had given away must still be seen, on the node itself.
std::string NodeBlocks::why_in_use(const BlockObject& object, const BlocksStore::FindUse& find_use) const {
    if (!ipam::BlockFile::are_of_one_place(object.lease_file, file_id_))
        return "another state directory of this node may have its leases";
    const auto since = LeftAlone(options_).since();
    const std::int64_t now = file_.now().boot;
    if (!since || now < *since || now - *since < std::chrono::seconds(kOngoingAdd).count())
        return "an ADD of before may still be running: run `rdmanet gc` again in two minutes";
    return find_use(object.block);
}

void NodeBlocks::leave_alone(const std::vector<std::string>& left_alone) const {
    LeftAlone(options_).note(file_.now().boot);
    if (!options_.warn) return;
    const std::size_t named = std::min(left_alone.size(), kMostBlocksNamed);
    options_.warn(
        fmt::format("{} of this node may have leases that this state directory does not know, or whose records "
                    "cannot be read. They are left alone until the node reboots, or until `rdmanet gc` finds that "
                    "nothing on the node has one of their addresses: {}{}",
                    base::counted(left_alone.size(), "block", "blocks"),
                    base::join({left_alone.begin(), left_alone.begin() + static_cast<std::ptrdiff_t>(named)}),
                    named < left_alone.size() ? " and others" : ""));
}

bool NodeBlocks::knows_range_of(const Block& block, const Deadline& deadline) {
    const std::vector<BlockRange> ranges = file_.ranges(deadline);
    return std::any_of(ranges.begin(), ranges.end(), [&](const BlockRange& range) {
        return range.space == block.space && range.subnet == block.range;
    });
}

bool NodeBlocks::may_go_on_with(const BlockObject& object, const Deadline& deadline) {
    const Verdict verdict = judge(object, file_.list_all(deadline));
    if (verdict == Verdict::left_alone) leave_alone({object.name()});
    return verdict == Verdict::ours;
}

/// Whether the block is this machine's, and nothing is in use that this file doesn't know. After a reboot nothing is.
/// If the file is a new one in the same boot, the journal must show leases in the block: then it shows all of them.
NodeBlocks::Verdict NodeBlocks::judge(const BlockObject& object, const std::vector<ipam::Lease>& leases) const {
    if (object.lease_file == file_id_) return Verdict::ours; // its answer may have been lost for long
    const NodeMark self{
        .name = options_.node_name, .uid = node_uid_, .machine_id = options_.machine_id, .boot_id = options_.boot_id};
    if (!is_same_machine(object.node, self)) return Verdict::anothers;
    if (object.node.boot_id != options_.boot_id) return Verdict::ours;
    const bool is_whole =
        has_lease_in(object, leases) && !(options_.has_unreadable_records && options_.has_unreadable_records());
    return is_whole ? Verdict::ours : Verdict::left_alone;
}

/// The UID of this node's Node object now. If it was registered anew, its blocks say so from now on.
const std::string& NodeBlocks::learn_node_uid(const Deadline& deadline) {
    if (!node_uid_.empty()) return node_uid_;
    if (!base::is_name_of_object(options_.node_name)) // a configured one was checked before
        throw StoreError(StoreError::Kind::permanent,
                         fmt::format("lease store: this host's name, {}, cannot be the name of a Node: set "
                                     "\"nodeName\" to the name of this node, in the node's rdmanet.conf",
                                     base::quoted(options_.node_name)));
    // A Node that reports this boot is not outdated. If it is registered anew this very moment, its blocks have the boot,
    // and so they are not those of a node that is gone.
    auto node = api_.recall_node(options_.node_name, deadline);
    if (!node || node->boot_id != options_.boot_id) node = api_.find_node(options_.node_name, deadline);
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
    if (node->boot_id.empty())
        throw StoreError(StoreError::Kind::temporary,
                         fmt::format("lease store: Node {} does not report its boot yet: wait until kubelet has "
                                     "reported",
                                     options_.node_name));
    // Of two machines with one name and one machine id, kubelet's reports name the boot of one.
    if (node->boot_id != options_.boot_id)
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
