// How blocks go back to the cluster.
#include "../tries.hpp"
#include "node_blocks.hpp"

#include <rdmanet/base/boot_memory.hpp>
#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>

#include <chrono>
#include <span>

namespace rdmanet::cluster {
namespace {

constexpr std::size_t kMostBlocksNamed = 5;
/// After how long a request of unknown outcome is looked at again: by then no server works on it any more.
constexpr std::chrono::seconds kSettled{60};

} // namespace

void NodeBlocks::settle(const Deadline& deadline) {
    FirstFailure failure;
    for (const ipam::Block& block : file_.blocks()) {
        const auto range = range_of(block);
        if (!range || !is_of_this_cluster(*range)) continue;
        const std::int64_t waited = file_.now().boot - block.since;
        const bool is_abandoned =
            block.state == ipam::BlockState::closed && block.leases == 0 && (waited < 0 || waited >= kSettled.count());
        if (block.state == ipam::BlockState::going || is_abandoned)
            failure.attempt([&] { give_back(block, deadline); });
    }
    failure.rethrow();
}

void NodeBlocks::give_back(const ipam::Block& going, const Deadline& deadline) {
    const std::string name = object_name(going.space, going.prefix);
    std::string uid = going.uid;
    std::string version = going.version;
    for (int attempt = 0; attempt < 2; ++attempt) {
        if (version.empty() || !going.confirmed || attempt != 0) {
            const auto found = api_.find_block(name, deadline);
            if (!found || !is_ours(*found)) return forget(going, deadline);
            if (!why_not_open(going).empty()) return; // a network namespace still has one of its addresses
            uid = found->uid;
            version = found->version;
        }
        const WriteOutcome removed = api_.remove(name, uid, version, deadline);
        if (is_done("removal", going, removed)) return forget(going, deadline);
    }
}

void NodeBlocks::look_once(const Deadline& deadline) {
    const base::BootMemory has_looked(options_.state_directory, options_.boot_id, "cluster-blocks",
                                      fmt::format("{}\n{}", options_.kubeconfig, options_.node_name));
    if (has_looked.find()) return;
    look_for_unknown(deadline);
    has_looked.note("looked");
}

void NodeBlocks::look_for_unknown(const Deadline& deadline) {
    know_this_node(deadline);
    std::vector<std::string> left_alone;
    for (const BlockObject& listed : api_.recall_blocks_of(options_.node_name, deadline)) {
        if (find_row(listed.space, listed.block) || !is_ours(listed)) continue;
        const auto object = api_.find_block(listed.name, deadline); // the list may be out of date
        if (!object || !is_ours(*object)) continue;
        std::string why = options_.find_use ? options_.find_use(object->block, {}) : std::string();
        if (why.empty() && options_.find_doubt) why = options_.find_doubt();
        if (why.empty()) {
            const WriteOutcome removed = api_.remove(object->name, object->uid, object->version, deadline);
            if (removed.done == WriteOutcome::Done::yes) removed_.insert(object->name);
            continue;
        }
        left_alone.push_back(fmt::format("{} ({})", object->name, why));
        BlockObject own = *object; // so that reconcile does not take it for one of a node that is gone
        own.node = self();
        own.gone.reset();
        if (!(own.node == object->node) || object->gone) (void)api_.write(own, object->version, deadline);
    }
    if (left_alone.empty()) return;
    const std::size_t named = std::min(left_alone.size(), kMostBlocksNamed);
    warn(fmt::format("{} of this node that its state directory does not know are left alone until nothing on the node "
                     "has one of their addresses: {}{}",
                     base::counted(left_alone.size(), "block", "blocks"),
                     base::join(std::span(left_alone).first(named)), named < left_alone.size() ? " and others" : ""));
}

} // namespace rdmanet::cluster
