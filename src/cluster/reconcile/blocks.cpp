#include "../tries.hpp"
#include "reconciled.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/json/writer.hpp>

#include <algorithm>
#include <optional>

namespace rdmanet::cluster {
namespace {

using Act = ReconcileOptions::Act;

constexpr const char* kAllBlocks = "/apis/rdmanet.cni/v1alpha1/addressblocks";
constexpr const char* kAllRanges = "/apis/rdmanet.cni/v1alpha1/addressranges";
constexpr const char* kChanged = "somebody else has changed it meanwhile";
constexpr const char* kNotKnown = "no answer says whether it was changed: run this again";

/// nullopt: somebody else made it.
std::optional<BlockObject> parse_block(const json::Reader& object) try {
    BlockObject block = BlockObject::parse(object);
    return base::is_name_of_object(block.node.name) ? std::optional(std::move(block)) : std::nullopt;
} catch (const json::ValueError&) {
    return std::nullopt;
}

Left left_of(const BlockObject& block) {
    return {.kind = "AddressBlock", .object = block.name, .address = block.block.to_string(), .node = block.node.name};
}

bool is_marked(const BlockObject& block, NodeFate fate) {
    return block.gone && block.gone->why == word_of(fate);
}

/// How long it stays marked. Its node has not confirmed it since, because that would have taken the mark away, and
/// gives nothing from it when that is `goneAfter` ago.
std::int64_t wait_of(const BlockObject& block, NodeFate fate) {
    return (fate == NodeFate::gone ? block.gone_after + kGoneMargin : kOver).count();
}

std::int64_t left_to_wait(const BlockObject& block, NodeFate fate, std::int64_t now) {
    return block.gone->since + wait_of(block, fate) - now;
}

std::string describe_wait(const BlockObject& block, NodeFate fate, std::int64_t wait) {
    return fmt::format("{}: a run in {} s or later frees it", describe(fate, block.node), wait);
}

} // namespace

ReconciledBlocks::ReconciledBlocks(kube::Api& api, Act act, Reconciled& into)
    : api_(api), requests_(api, "install rdmanet's CustomResourceDefinitions"), act_(act), into_(into) {}

void ReconciledBlocks::run(ClusterView& view, const base::Deadline& deadline) {
    using Parsed = std::optional<BlockObject>;
    std::vector<AddressRange> ranges; // before the blocks, see is_exclusive()
    if (act_ == Act::frees) ranges = api_.list_ranges(From::etcd, deadline).declared;
    const auto listed = requests_.list_if_served<Parsed>(
        {.path = kAllBlocks}, deadline, [](const json::Reader& object) { return std::optional(parse_block(object)); });
    into_.seen.blocks = {.is_served = listed.has_value(), .count = listed ? listed->size() : 0};
    if (!listed) return;
    std::vector<BlockObject> staying;
    std::size_t unreadable = 0;
    for (const Parsed& block : *listed)
        if (!block)
            ++unreadable;
        else if (judge(*block, view, deadline) == Outcome::stays)
            staying.push_back(*block);
    into_.unreadable += unreadable;
    if (act_ == Act::only_looks) return;
    FirstFailure failure;
    if (unreadable == 0) failure.attempt([&] { pools_ = api_.list_pools(deadline); });
    write_status(ranges, staying, deadline);
    failure.rethrow();
}

/// The list only says which blocks are to be looked at.
ReconciledBlocks::Outcome ReconciledBlocks::judge(const BlockObject& listed, ClusterView& view,
                                                  const base::Deadline& deadline) {
    const NodeFate seen = view.fate_of(listed.node, deadline);
    if (seen == NodeFate::there) {
        ++into_.needed;
        return Outcome::stays;
    }
    const std::int64_t begun = requests_.date().value_or(0);
    if (is_marked(listed, seen) && left_to_wait(listed, seen, begun) > 0)
        return keep(listed, describe_wait(listed, seen, left_to_wait(listed, seen, begun)));
    const auto block = api_.find_block(listed.name, deadline);
    if (!block) return Outcome::goes;
    const auto [fate, now] = view.fate_now(block->node, deadline);
    if (fate == NodeFate::there) return Outcome::stays;
    if (!is_marked(*block, fate)) return mark(*block, {.since = now, .why = word_of(fate)}, fate, deadline);
    const std::int64_t left = left_to_wait(*block, fate, now);
    return left > 0 ? keep(*block, describe_wait(*block, fate, left)) : free(*block, fate, deadline);
}

ReconciledBlocks::Outcome ReconciledBlocks::mark(BlockObject block, const GoneMark& mark, NodeFate fate,
                                                 const base::Deadline& deadline) {
    block.gone = mark;
    if (act_ == Act::frees) {
        const WriteOutcome written = api_.write(block, block.version, deadline);
        if (written.done == WriteOutcome::Done::no) return keep(block, kChanged);
        if (written.done == WriteOutcome::Done::unknown) return keep(block, kNotKnown);
    }
    return keep(block, describe_wait(block, fate, wait_of(block, fate)));
}

ReconciledBlocks::Outcome ReconciledBlocks::free(const BlockObject& block, NodeFate fate,
                                                 const base::Deadline& deadline) {
    if (act_ == Act::frees) {
        const WriteOutcome removed = api_.remove(block.name, block.uid, block.version, deadline);
        if (removed.done == WriteOutcome::Done::no) return keep(block, kChanged);
        if (removed.done == WriteOutcome::Done::unknown) return keep(block, kNotKnown);
    }
    into_.freed.push_back(left_of(block));
    into_.freed.back().rule = fmt::format("node-{}", word_of(fate));
    into_.freed.back().why = describe(fate, block.node);
    return Outcome::goes;
}

ReconciledBlocks::Outcome ReconciledBlocks::keep(const BlockObject& block, std::string why) {
    into_.kept.push_back(left_of(block));
    into_.kept.back().why = std::move(why);
    return Outcome::stays;
}

/// Both lists are newer than the range, and only names count. A node that makes a pool later sees the range
/// (WhereaboutsStore), and blocks of other ranges are opened only where it is not (NodeBlocks::may_open()). whereabouts
/// makes pools as well, so each run looks again.
bool ReconciledBlocks::is_exclusive(const AddressRange& range, const std::vector<BlockObject>& blocks) const {
    const auto is_other = [&](const BlockObject& block) {
        const auto addresses = block_of_name(range.space, block.name);
        return block.range_uid != range.uid && addresses && overlap(*addresses, range.subnet);
    };
    const auto may_be_of_range = [&](const PoolName& pool) {
        return is_pool_of(range.space, range.subnet, pool.name, [](const std::string& /*node*/) { return true; });
    };
    return pools_ && std::ranges::none_of(blocks, is_other) && std::ranges::none_of(*pools_, may_be_of_range);
}

/// The counts are without the requestable part.
void ReconciledBlocks::write_status(const std::vector<AddressRange>& ranges, const std::vector<BlockObject>& blocks,
                                    const base::Deadline& deadline) {
    for (const AddressRange& range : ranges) {
        std::uint64_t count = 0;
        std::uint64_t empty = 0;
        for (const BlockObject& block : blocks) {
            const bool is_requestable = range.requestable && range.requestable->contains(block.block.address());
            if (block.range_uid != range.uid || is_requestable) continue;
            ++count;
            if (block.in_use == 0) ++empty;
        }
        const bool exclusive = is_exclusive(range, blocks);
        if (count == range.blocks.value_or(0) && empty == range.empty_blocks.value_or(0) &&
            exclusive == range.is_exclusive)
            continue;
        json::Writer status;
        status.begin_object().member("blocks", count).member("emptyBlocks", empty);
        if (exclusive) status.member("exclusiveUID", range.uid);
        status.end_object();
        (void)requests_.patch(
            path_to(kAllRanges, range.name) + "/status",
            std::move(Changes().test("/metadata/uid", quoted_json(range.uid)).set("/status", status.to_text())),
            deadline);
    }
}

} // namespace rdmanet::cluster
