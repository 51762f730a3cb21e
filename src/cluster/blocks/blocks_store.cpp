#include <rdmanet/cluster/blocks_store.hpp>

#include "../tries.hpp"
#include "node_blocks.hpp"

#include <rdmanet/base/boot_memory.hpp>
#include <rdmanet/base/file.hpp>
#include <rdmanet/base/file_lock.hpp>
#include <rdmanet/base/format.hpp>
#include <rdmanet/base/hash.hpp>
#include <rdmanet/base/text.hpp>

#include <algorithm>
#include <utility>

namespace rdmanet::cluster {

using ipam::Block;
using ipam::BlockState;
using ipam::Claim;
using ipam::Exhausted;
using ipam::Lease;
using ipam::StoreError;
using ipam::Trust;

namespace {

constexpr std::chrono::seconds kFirstAnswer{1}; // of a confirmation that an ADD waits for
constexpr std::chrono::seconds kWholeAnswer{10};
constexpr std::chrono::seconds kSilentFor{10}; // in which nobody asks again
/// A range that is full is looked at again after this time, then after twice as long. A look is three requests.
constexpr std::int64_t kFullFor = 30;
constexpr std::int64_t kLongestFullFor = 960;

std::uint64_t hash_of(const Claim& claim) {
    std::string usable;
    for (const ipam::Interval& interval : claim.usable) usable += to_text(claim.family, interval) + " ";
    return base::hash64(usable);
}

base::FileLock lock_requests(const BlocksStore::Options& options, const base::Deadline& deadline) {
    base::make_directories(options.state_directory);
    const http::Stopwatch watch;
    try {
        return {fmt::format("{}/blocks.lock", options.state_directory), 0, "the blocks of this node", deadline};
    } catch (const base::LockTimeout& error) {
        throw base::LockTimeout(
            fmt::format("{}, which asks for them{}", error.what(), tried_at(options.api().server(), watch)));
    }
}

/// When the API server did not answer a call of this node, in seconds of the boot.
base::BootMemory silence_of(const BlocksStore::Options& options) {
    return {options.state_directory, options.boot_id, "blocks-silent", options.kubeconfig};
}

/// An address that the configuration sets is in a range of the same network if one has it.
Claim in_its_range(const std::vector<Claim>& claims, std::size_t at) {
    Claim claim = claims[at];
    if (!claim.usable.empty()) return claim;
    for (const Claim& other : claims) {
        if (other.usable.empty() || other.space != claim.space || other.family != claim.family) continue;
        const base::IpAddress inside(other.family, other.usable.front().first);
        if (!base::IpPrefix::make(inside, other.prefix_length)->contains(*claim.wanted)) continue;
        claim.usable = other.usable;
        claim.prefix_length = other.prefix_length;
        break;
    }
    return claim;
}

/// Until when nobody asks for a block again for such a claim, for how long that is, and why.
struct Full {
    std::int64_t until = 0;
    std::int64_t lasts = 0;
    std::string detail{};
};

base::BootMemory memory_of_full(const BlocksStore::Options& options, const Claim& claim) {
    return {options.state_directory, options.boot_id, "blocks-full",
            fmt::format("{}\n{}\n{:x}", options.kubeconfig, claim.space, hash_of(claim))};
}

std::optional<Full> find_full(const base::BootMemory& memory) {
    const std::string noted = memory.find().value_or("");
    const auto first = noted.find(' ');
    const auto second = noted.find(' ', first + 1);
    if (first == std::string::npos || second == std::string::npos) return std::nullopt;
    const auto until = base::parse_integer<std::int64_t>(noted.substr(0, first));
    const auto lasts = base::parse_integer<std::int64_t>(noted.substr(first + 1, second - first - 1));
    if (!until || !lasts) return std::nullopt;
    return Full{.until = *until, .lasts = *lasts, .detail = noted.substr(second + 1)};
}

void note_full(const base::BootMemory& memory, const std::optional<Full>& before, std::int64_t now,
               const std::string& detail) {
    const std::int64_t lasts = before ? std::min(2 * before->lasts, kLongestFullFor) : kFullFor;
    memory.note(fmt::format("{} {} {}", now + lasts, lasts, detail));
}

} // namespace

ipam::ReserveOutcome BlocksStore::reserve(const ipam::Owner& owner, const std::vector<Claim>& claims,
                                          const base::Deadline& deadline) {
    const http::Stopwatch watch;
    std::optional<base::FileLock> lock;
    for (;;) {
        ipam::ReserveOutcome outcome = file_->reserve(owner, claims, trust_, deadline);
        const auto* none = std::get_if<Exhausted>(&outcome);
        if (none == nullptr) return outcome;
        if (const auto searched = searched_.find(none->claim); searched != searched_.end()) {
            const std::optional<StoreError>& refusal = searched->second.refusal;
            if (claims[none->claim].wanted && refusal) throw StoreError(*refusal);
            return searched->second;
        }
        if (deadline.passed())
            throw base::TimeoutError(fmt::format("waited for a block of addresses, for which other nodes compete{}",
                                                 tried_at(options_.api().server(), watch)));
        if (!lock) // perhaps another process of this node confirms its blocks, or gets one, just now
            lock = lock_requests(options_, deadline);
        else if (trust_ == Trust::fresh && !has_confirmed_ && is_unconfirmed(claims[none->claim]))
            confirm_soon(deadline);
        else
            search(claims, none->claim, deadline);
    }
}

void BlocksStore::settle(std::chrono::seconds idle, const base::Deadline& deadline) {
    if (file_->blocks().empty()) return;
    bool has_something = false;
    file_->change(deadline, [&](ipam::BlockRows& rows) { has_something = rows.close_idle(idle); });
    const std::vector<Block> blocks = file_->blocks();
    const bool has_closed = std::ranges::any_of(
        blocks, [](const Block& block) { return block.state == BlockState::closed && block.leases == 0; });
    if (!has_something && !has_closed) return;
    const base::FileLock lock = lock_requests(options_, deadline);
    NodeBlocks(*file_, options_).settle(deadline);
}

void BlocksStore::confirm(const base::Deadline& deadline) {
    const base::FileLock lock = lock_requests(options_, deadline);
    NodeBlocks blocks(*file_, options_);
    if (!file_->ranges().empty() || !file_->list_all().empty()) blocks.confirm(deadline, deadline);
    blocks.look_for_unknown(deadline);
    if (!file_->blocks().empty())
        file_->change(deadline, [](ipam::BlockRows& rows) { (void)rows.close_idle(kIdleBlock); });
    blocks.settle(deadline);
    silence_of(options_).forget();
}

std::vector<ipam::Regained> BlocksStore::regain(const std::vector<Lease>& leases, const base::Deadline& deadline) {
    const base::FileLock lock = lock_requests(options_, deadline);
    const std::vector<Block> before = file_->blocks();
    NodeBlocks(*file_, options_).confirm(deadline, deadline);
    std::vector<ipam::Regained> all = file_->regain(leases, deadline);
    for (ipam::Regained& each : all) explain(each, before);
    return all;
}

bool BlocksStore::has_free(const Claim& claim, const base::Deadline& /*deadline*/) {
    if (file_->has_free(claim)) return true;
    const auto full = find_full(memory_of_full(options_, claim));
    return !full || file_->now().boot >= full->until;
}

/// Whether a confirmation may give this call what it wants.
bool BlocksStore::is_unconfirmed(const Claim& claim) const {
    const std::vector<Block> blocks = file_->blocks();
    const std::int64_t oldest = file_->now().boot - ipam::kFreshFor.count();
    const bool may_give = std::ranges::any_of(blocks, [&](const Block& block) {
        const unsigned bits = base::address_bits(block.prefix.family()) - block.prefix.length();
        return block.state == BlockState::open && block.space == claim.space &&
               (bits >= 64 || block.leases < std::uint64_t{1} << bits) &&
               (!block.confirmed || *block.confirmed < oldest);
    });
    return may_give || (blocks.empty() && !file_->list_all().empty());
}

/// If nobody answers, what was confirmed earlier is trusted, as long as the range allows it.
void BlocksStore::confirm_soon(const base::Deadline& deadline) {
    has_confirmed_ = true;
    if (silence_of(options_).was_noted_within(kSilentFor, file_->now().boot)) {
        trust_ = Trust::lasting;
        return;
    }
    try {
        NodeBlocks blocks(*file_, options_);
        blocks.confirm(deadline.at_most(kFirstAnswer), deadline.at_most(kWholeAnswer));
        silence_of(options_).forget();
        try {
            blocks.look_once(deadline.at_most(kFirstAnswer));
        } catch (const base::Error&) { // the next confirmation looks, or `gc`
        }
    } catch (const StoreError& error) {
        if (error.unreachable()) silence_of(options_).note_time(file_->now().boot);
        trust_ = Trust::lasting;
    }
}

void BlocksStore::search(const std::vector<Claim>& claims, std::size_t at, const base::Deadline& deadline) {
    const Claim claim = in_its_range(claims, at);
    const base::BootMemory memory = memory_of_full(options_, claim);
    const auto full = claim.wanted ? std::nullopt : find_full(memory);
    if (full && file_->now().boot < full->until) {
        searched_[at] = Exhausted{.claim = at, .detail = full->detail};
        return;
    }
    if (silence_of(options_).was_noted_within(kSilentFor, file_->now().boot)) {
        const StoreError refusal(
            StoreError::Kind::unreachable,
            fmt::format("lease store: {} did not answer a moment ago, and this node has no address left in blocks "
                        "that were confirmed lately",
                        options_.api().server()));
        searched_[at] = Exhausted{.claim = at, .refusal = refusal};
        return;
    }
    try {
        NodeBlocks::Search search = NodeBlocks(*file_, options_).acquire(claim, full.has_value(), deadline);
        silence_of(options_).forget();
        if (search.found) {
            if (full) memory.forget();
            trust_ = Trust::fresh;
            return;
        }
        if (!claim.wanted) note_full(memory, full, file_->now().boot, search.detail);
        searched_[at] = Exhausted{.claim = at, .detail = std::move(search.detail)};
    } catch (const RangeMoved&) {
        throw;
    } catch (const StoreError& error) {
        if (error.unreachable()) silence_of(options_).note_time(file_->now().boot);
        // The node may still have addresses: those of dead pods, and those that rest.
        searched_[at] = Exhausted{.claim = at, .refusal = error};
    }
}

/// What the confirmation has done, and why it has not.
void BlocksStore::explain(ipam::Regained& regained, const std::vector<Block>& before) const {
    const auto has_it = [&](const Block& block) {
        return block.space == regained.lease.space && block.prefix.contains(regained.lease.address.address());
    };
    const std::vector<Block> blocks = file_->blocks();
    const auto block = std::ranges::find_if(blocks, has_it);
    if (block == blocks.end()) {
        regained.refused = fmt::format("the cluster has no AddressRange with {}: delete the pod, so that it gets "
                                       "another address",
                                       regained.lease.address.address());
        return;
    }
    const std::string name = object_name(block->space, block->prefix);
    if (block->state == BlockState::lost)
        regained.refused =
            fmt::format("AddressBlock {} {}: delete the pod, so that it gets another address", name,
                        block->holder.empty() ? "cannot be created again"
                                              : fmt::format("belongs to node {} by now", base::quoted(block->holder)));
    if (!regained.refused.empty()) return;
    const auto known = std::ranges::find_if(before, has_it);
    const bool was_whole = known != before.end() && known->state == BlockState::open && known->uid == block->uid;
    if (!was_whole) regained.made.insert(regained.made.begin(), fmt::format("AddressBlock {}", name));
}

} // namespace rdmanet::cluster
