// How a node gets a new block of a range.
#include "node_blocks.hpp"

#include "../tries.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/hash.hpp>
#include <rdmanet/base/text.hpp>

#include <algorithm>
#include <set>

namespace rdmanet::cluster {
namespace {

using base::IpAddress;
using base::IpPrefix;
using base::Uint128;
using ipam::Block;
using ipam::BlockState;
using ipam::Interval;
using ipam::StoreError;

constexpr int kBlindTries = 4;     // before the cluster is asked which blocks are taken
constexpr int kInformedTries = 16; // other nodes have the same answer
constexpr int kMostMarkings = 5;
/// The names of so many blocks are no burden for a server, however many nodes ask for them again and again.
constexpr Uint128 kMostNames = 1000;

/// Blocks by number, of which some are taken.
class Candidates {
public:
    explicit Candidates(std::vector<Interval> parts) : parts_(std::move(parts)) {
        for (const Interval& part : parts_) count_ += part.last - part.first + 1;
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

bool has_equal_content(const ipam::BlockRange& a, const ipam::BlockRange& b) {
    return a.space == b.space && a.subnet == b.subnet && a.block_size == b.block_size &&
           a.requestable == b.requestable && a.kubeconfig == b.kubeconfig;
}

Place wanted_place(const ipam::Claim& claim) {
    const IpAddress inside(claim.family, claim.usable.empty() ? claim.wanted->value() : claim.usable.front().first);
    const unsigned length = claim.usable.empty() ? base::address_bits(claim.family) : claim.prefix_length;
    const IpPrefix prefix = *IpPrefix::make(inside, length);
    return {.space = claim.space, .subnet = *IpPrefix::make(prefix.network(), length)};
}

} // namespace

const DeclaredRanges& NodeBlocks::recall_ranges(const Deadline& deadline) {
    if (!recalled_) recalled_ = options_.recalled ? *options_.recalled : api_.list_ranges(From::memory, deadline);
    return *recalled_;
}

/// nullptr says nothing: the server's memory may be out of date.
const AddressRange* NodeBlocks::recall(const BlockRange& range, const Deadline& deadline) {
    const std::vector<AddressRange>& all = recall_ranges(deadline).declared;
    const auto found = std::ranges::find_if(all, [&](const auto& one) { return one.uid == range.uid; });
    return found == all.end() ? nullptr : &*found;
}

/// As this file knows it, else from the server's memory: whoever cuts looks again afterwards.
ipam::BlockRange NodeBlocks::range_of(const ipam::Claim& claim, const Deadline& deadline) {
    const Place place = wanted_place(claim);
    for (BlockRange& known : file_.ranges())
        if (!known.is_gone && is_of_this_cluster(known) && known.space == place.space &&
            covers(known.subnet, place.subnet))
            return std::move(known);
    const AddressRange* const cover = find_cover(recall_ranges(deadline), place);
    if (cover == nullptr)
        throw RangeMoved(fmt::format("lease store: no AddressRange has range {} any more: try again", place.subnet));
    if (cover->is_going)
        throw StoreError(StoreError::Kind::temporary,
                         fmt::format("lease store: somebody has deleted AddressRange {}, and its finalizers keep it: "
                                     "wait until it is gone, then apply it again or use another range",
                                     cover->name));
    BlockRange range = range_of(*cover);
    file_.change(deadline, [&](Rows& rows) { rows.put_range(range); });
    return range;
}

NodeBlocks::Search NodeBlocks::acquire(const ipam::Claim& claim, bool was_full, const Deadline& deadline) {
    BlockRange range = range_of(claim, deadline);
    if (!range.is_fenced && !is_noted_exclusive(range, deadline)) {
        know_this_node(deadline);
        fence(range, deadline);
    }
    if (adopt_former(range, deadline)) return {.found = true};
    if (claim.wanted) return claim_wanted(range, *claim.wanted, deadline);
    if (claim_new(range, claim, was_full, deadline)) return {.found = true};
    return {.found = false, .detail = describe_holders(range, deadline)};
}

/// Reconcile has looked for what has addresses of the range. Its note may be from the server's memory: may_open() reads
/// it from etcd.
bool NodeBlocks::is_noted_exclusive(const BlockRange& range, const Deadline& deadline) {
    const AddressRange* const declared = recall(range, deadline);
    return declared != nullptr && declared->is_exclusive;
}

/// Once for each range and boot, before its first block is opened. A claim in a pool tests in its PATCH that there is
/// no mark, and a node that starts to use a pool looks for ranges after the pool was made: so one of both sees the
/// other.
void NodeBlocks::fence(BlockRange& range, const Deadline& deadline) {
    range.held_by.clear();
    const auto pools = api_.list_pools(deadline).value_or(std::vector<PoolName>());
    for (const PoolName& name : api_.pools_with(pools, range.space, range.subnet, deadline)) {
        const std::string text = fmt::format("{}/{}", name.name_space, name.name);
        bool is_marked = false;
        for (int attempt = 0; attempt < kMostMarkings && !is_marked; ++attempt) {
            const auto pool = api_.find_pool(name, deadline);
            if (!pool) {
                is_marked = true; // it is gone
                break;
            }
            if (!pool->unreadable.empty())
                throw StoreError(
                    StoreError::Kind::permanent,
                    fmt::format("IPPool {} has {} that cannot be read as an address of its range, which AddressRange "
                                "{} covers: remove those whose pods are gone, and delete the pods of the others",
                                text, base::counted(pool->unreadable.size(), "record", "records"), range.name));
            is_marked = pool->mark == range.uid ||
                        api_.mark_pool(name, *pool, range.uid, deadline).done == WriteOutcome::Done::yes;
            if (is_marked && !pool->records.empty()) range.held_by.push_back(text);
        }
        if (!is_marked)
            throw StoreError(StoreError::Kind::temporary,
                             fmt::format("lease store: other nodes change IPPool {}: try again", text));
    }
    // Blocks of ranges that don't overlap this one are not asked for: there may be many.
    std::vector<std::string> but_of = {range.uid};
    for (const AddressRange& other : recall_ranges(deadline).declared)
        if (other.space != range.space || !overlap(other.subnet, range.subnet)) but_of.push_back(other.uid);
    if (!api_.list_other_blocks(range.space, range.subnet, but_of, deadline).empty())
        range.held_by.emplace_back(ipam::kOtherBlocks);
    note_fenced(range, deadline);
}

void NodeBlocks::note_fenced(BlockRange& range, const Deadline& deadline) {
    range.is_fenced = true;
    file_.change(deadline, [&](Rows& rows) { rows.put_range(range); });
}

/// After the block was made: whoever has deleted or replaced the range before etcd is read here has the block in view.
NodeBlocks::Opening NodeBlocks::may_open(BlockRange& range, const IpPrefix& block, const Deadline& deadline) {
    const auto declared = find_declared(range, deadline);
    if (!declared) return Opening::range_gone;
    if (!range.is_fenced && declared->is_exclusive)
        note_fenced(range, deadline);
    else if (!range.is_fenced)
        fence(range, deadline);
    return touches(block, held_by_others(range, deadline)) ? Opening::held : Opening::yes;
}

/// What had addresses of the range when it was fenced gives no more of them, so it only gets less.
std::vector<Interval> NodeBlocks::held_by_others(const BlockRange& range, const Deadline& deadline) {
    std::vector<Interval> held;
    for (const std::string& holder : range.held_by) {
        if (holder == ipam::kOtherBlocks) {
            for (const IpPrefix& block : api_.list_other_blocks(range.space, range.subnet, {range.uid}, deadline))
                held.push_back({block.network().value(), block.last().value()});
            continue;
        }
        const auto slash = holder.find('/');
        const auto pool = api_.find_pool({holder.substr(0, slash), holder.substr(slash + 1)}, deadline);
        if (!pool) continue;
        for (const PoolRecord& record : pool->records)
            if (range.subnet.contains(record.address)) held.push_back({record.address.value(), record.address.value()});
    }
    return ipam::merged(std::move(held));
}

/// Blocks that this node had of a range that was deleted, and applied again with equal content: if they were open, they
/// have fenced the pools all the time. A closed one may have been made by a late request after a pool was used.
bool NodeBlocks::adopt_former(BlockRange& range, const Deadline& deadline) {
    bool has_adopted = false;
    for (const BlockRange& former : file_.ranges()) {
        if (former.uid == range.uid || !former.is_gone || !has_equal_content(former, range)) continue;
        know_this_node(deadline);
        for (Block block : file_.blocks()) {
            if (block.range_uid != former.uid || block.state != BlockState::open) continue;
            const std::int64_t begun = file_.now().boot;
            const auto object = api_.find_block(object_name(block.space, block.prefix), deadline);
            if (!object || !is_ours(*object)) continue;
            const WriteOutcome written = api_.write(object_of(block, range), object->version, deadline);
            if (!is_done("change", block, written)) continue;
            if (may_open(range, block.prefix, deadline) != Opening::yes) continue;
            block.range_uid = range.uid;
            block.state = BlockState::closed;
            if (open(std::move(block), written, begun, deadline)) has_adopted = true;
        }
        file_.change(deadline, [&](Rows& rows) { rows.forget_range(former.uid); });
    }
    return has_adopted;
}

/// Creating an object is the lock. The search goes on behind the node's own blocks, so that they lie together, or
/// begins where the node's name says, so that nodes which start together don't meet.
bool NodeBlocks::claim_new(BlockRange& range, const ipam::Claim& claim, bool was_full, const Deadline& deadline) {
    const http::Stopwatch watch;
    const ipam::BlockCut cut_of(range.subnet, range.block_size, range.requestable);
    const Candidates candidates(cut_of.blocks_with(claim.usable));
    const Uint128 count = candidates.count();
    if (count == 0) return false;
    std::optional<std::vector<Interval>> held; // by others, once a candidate is found
    std::set<std::string> taken;
    std::optional<IpPrefix> last_own;
    for (const Block& block : file_.blocks()) {
        if (block.range_uid != range.uid) continue;
        taken.insert(object_name(block.space, block.prefix));
        last_own = block.prefix;
    }
    const auto name_at = [&](const IpPrefix& block) { return object_name(range.space, block); };
    const auto is_out = [&](const IpPrefix& block) {
        if (taken.contains(name_at(block))) return true;
        if (!held) held = held_by_others(range, deadline);
        return touches(block, *held);
    };
    const auto try_to_cut = [&](const IpPrefix& block) {
        taken.insert(name_at(block));
        return take(range, block, deadline) == Cut::done;
    };
    const std::uint64_t seed = base::hash64(fmt::format("{} {}", options_.node_name, range.subnet));
    const Uint128 start = last_own ? candidates.place_from(cut_of.index_of(last_own->address()) + 1) : seed % count;
    for (int attempt = 0; attempt < kBlindTries && !was_full; ++attempt) {
        Uint128 place = attempt == 0 ? start : base::hash64(fmt::format("{} {}", seed, attempt)) % count;
        for (Uint128 step = 0; step < std::min<Uint128>(count, taken.size() + 1); ++step) {
            if (!is_out(cut_of.at(candidates.at(place)))) break;
            place = (place + 1) % count;
        }
        const IpPrefix block = cut_of.at(candidates.at(place));
        if (!is_out(block) && try_to_cut(block)) return true;
    }
    look_once(deadline);
    if (was_full && count > kMostNames) {
        const AddressRange* const declared = recall(range, deadline);
        if (declared != nullptr && declared->blocks && *declared->blocks >= count_of_blocks(*declared)) return false;
    }
    taken.merge(api_.recall_names(range.uid, deadline));
    for (const std::string& name : removed_) taken.erase(name); // the server's memory may still have them
    int tries = 0;
    // Each step but these tries is over a block that is taken.
    for (Uint128 step = 0; step < count; ++step) {
        const IpPrefix block = cut_of.at(candidates.at((start + step) % count));
        if (is_out(block)) continue;
        if (tries++ == kInformedTries) // the range may have free blocks, so it is not full
            throw StoreError(StoreError::Kind::temporary,
                             fmt::format("lease store: other nodes were faster {} times to take a block of range {}{}",
                                         kInformedTries, range.subnet, tried_at(api_.server(), watch)));
        if (try_to_cut(block)) return true;
    }
    return false;
}

/// Who has the block may be this node itself, before it has booted.
NodeBlocks::Cut NodeBlocks::take(BlockRange& range, const IpPrefix& prefix, const Deadline& deadline) {
    if (cut(range, prefix, deadline) == Cut::done) return Cut::done;
    look_once(deadline);
    return removed_.contains(object_name(range.space, prefix)) ? cut(range, prefix, deadline) : Cut::taken;
}

/// The row comes first and gives nothing. It is opened only after the answer, and after the range was read again from
/// etcd.
NodeBlocks::Cut NodeBlocks::cut(BlockRange& range, const IpPrefix& prefix, const Deadline& deadline) {
    know_this_node(deadline);
    const std::int64_t begun = file_.now().boot;
    Block block{.range_uid = range.uid,
                .space = range.space,
                .prefix = prefix,
                .node_uid = node_uid_,
                .boot_id = options_.boot_id,
                .since = begun};
    file_.change(deadline, [&](Rows& rows) { rows.put(block); });
    WriteOutcome made;
    try {
        made = api_.create(object_of(block, range), deadline);
    } catch (const StoreError&) { // the server has refused, or was not reached
        forget(block, deadline);
        throw;
    }
    if (made.done == WriteOutcome::Done::unknown) {
        const auto object = api_.find_block(object_name(block.space, block.prefix), deadline);
        if (object && is_ours(*object))
            made = api_.write(object_of(block, range), object->version, deadline);
        else if (object) // otherwise it may still come
            made.done = WriteOutcome::Done::no;
    }
    if (!is_done("creation", block, made)) {
        forget(block, deadline);
        return Cut::taken;
    }
    const Opening opening = may_open(range, prefix, deadline);
    if (opening != Opening::yes) {
        block.state = BlockState::going;
        block.uid = made.uid;
        block.version = made.version;
        range.is_gone = opening == Opening::range_gone;
        file_.change(deadline, [&](Rows& rows) {
            rows.put(block);
            rows.put_range(range);
        });
        give_back(block, deadline);
        throw RangeMoved(fmt::format("lease store: AddressRange {} is not what it was when this node took a block of "
                                     "it: try again",
                                     range.name));
    }
    return open(std::move(block), made, begun, deadline) ? Cut::done : Cut::taken;
}

NodeBlocks::Search NodeBlocks::claim_wanted(BlockRange& range, const IpAddress& wanted, const Deadline& deadline) {
    const IpPrefix prefix = ipam::BlockCut(range.subnet, range.block_size, range.requestable).block_of(wanted);
    if (touches(prefix, held_by_others(range, deadline)))
        throw ipam::RequestedAddressTaken(
            fmt::format("requested address {} is in block {}, of which another store still has addresses: request an "
                        "address of another block, or delete those pods",
                        wanted, prefix));
    const std::string name = object_name(range.space, prefix);
    if (const auto known = find_row(range.space, prefix)) {
        know_this_node(deadline);
        if (known->state == BlockState::going)
            give_back(*known, deadline);
        else
            confirm(*known, file_.now().boot, deadline); // a call before may have got no answer
        if (auto changed = range_of(*known)) range = *std::move(changed);
    }
    if (const auto row = find_row(range.space, prefix)) {
        if (row->state == BlockState::open) return {.found = true};
        throw ipam::RequestedAddressTaken(
            fmt::format("requested address {} is in block {} of this node, from which nothing is given now: run "
                        "`rdmanet gc`",
                        wanted, prefix));
    }
    if (take(range, prefix, deadline) == Cut::done) return {.found = true};
    const auto holder = api_.find_block(name, deadline);
    if (!holder)
        throw StoreError(StoreError::Kind::temporary,
                         fmt::format("lease store: AddressBlock {} came and went: try again", name));
    const std::string has =
        fmt::format("requested address {} is in block {} of node {}", wanted, holder->block, holder->node.name);
    // A block of one is another pod's, or was and has not gone back yet.
    if (range.is_on_request(prefix))
        throw ipam::RequestedAddressTaken(
            fmt::format("{}: if no pod there has it, run `rdmanet gc` on that node, which gives it back", has));
    throw ipam::RequestedAddressTaken(
        fmt::format("{}: request an address of {}", has,
                    range.requestable ? fmt::format("the requestable part, {}", *range.requestable)
                                      : "another block, or declare the range with a \"requestable\" part"));
}

/// Asks for nothing that grows with the number of nodes: reconcile has counted the blocks.
std::string NodeBlocks::describe_holders(const BlockRange& range, const Deadline& deadline) {
    std::size_t own = 0;
    std::size_t own_empty = 0;
    for (const Block& block : file_.blocks()) {
        if (block.range_uid != range.uid || range.is_on_request(block.prefix)) continue;
        ++own;
        if (block.leases == 0) ++own_empty;
    }
    const AddressRange* const declared = recall(range, deadline);
    const std::uint64_t empty = declared == nullptr ? 0 : declared->empty_blocks.value_or(0);
    return fmt::format(
        "; this node has {} of AddressRange {}, and other nodes have the others{}{}",
        base::counted(own, "block", "blocks"), range.name,
        empty <= own_empty
            ? ""
            : fmt::format(", of which {} lay empty when `rdmanet ipam reconcile` last ran", empty - own_empty),
        range.held_by.empty() ? "" : fmt::format("; {} still have addresses of it", base::join(range.held_by)));
}

} // namespace rdmanet::cluster
