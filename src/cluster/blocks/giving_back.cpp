// How blocks go back to the cluster.
#include "node_blocks.hpp"

#include <algorithm>
#include <exception>

namespace rdmanet::cluster {
namespace {

using ipam::Block;
using ipam::BlockState;
using ipam::StoreError;

} // namespace

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
        if (written.done == WriteOutcome::Done::unknown) not_known("release", object.name(), written.trouble);
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
    if (removed.done == WriteOutcome::Done::unknown) not_known("removal", object.name(), removed.trouble);
    if (removed.done == WriteOutcome::Done::no) {
        const auto found = api_.find_block(object.name(), deadline);
        if (found && is_ours(*found, deadline)) return; // the next call tries again, with its version by then
    }
    file_.remove(released, deadline);
}

void NodeBlocks::settle(const Deadline& deadline) {
    (void)file_id(deadline);
    for (const BlockRange& range : file_.ranges(deadline)) (void)follow_kubeconfig(range, deadline);
    // What the cluster refuses for one block does not keep the others.
    std::exception_ptr first_failure;
    const auto for_each_block = [&](const auto& act) {
        for (const Block& block : file_.blocks(deadline)) {
            if (!is_of_this_cluster(block, deadline)) continue;
            try {
                act(block);
            } catch (const RangeChanged&) { // what is closed by now goes below
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

/// A node keeps an empty block for good. Of a range that nobody shall use any more it does not.
void NodeBlocks::close_removed_ranges(const Deadline& deadline) {
    const std::vector<Block> blocks = file_.blocks(deadline);
    for (const BlockRange& range : file_.ranges(deadline)) {
        const auto is_empty = [&](const Block& block) {
            return block.space == range.space && block.range == range.subnet && block.leases == 0;
        };
        if (range.kubeconfig != options_.kubeconfig || std::none_of(blocks.begin(), blocks.end(), is_empty)) continue;
        const auto recorded = api_.find_range(object_name(range.space, range.subnet), deadline);
        if (!recorded || !is_as_known(*recorded, deadline)) file_.close_empty(range, deadline);
    }
}

void NodeBlocks::finish_removals(const std::vector<RangeObject>& ranges, const Deadline& deadline) {
    if (!file_.ranges(deadline).empty()) {
        close_removed_ranges(deadline);
        settle(deadline);
    }
    for (const RangeObject& range : ranges)
        // A node that gets a block from now on sees that the range is going, and gives it back.
        if (range.is_going && !api_.has_blocks(range, deadline)) (void)api_.let_go(range, deadline);
}

} // namespace rdmanet::cluster
