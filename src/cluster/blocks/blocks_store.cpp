#include <rdmanet/cluster/blocks_store.hpp>

#include "../tried.hpp"
#include "node_blocks.hpp"

#include <rdmanet/base/boot_memory.hpp>
#include <rdmanet/base/file.hpp>
#include <rdmanet/base/file_lock.hpp>
#include <rdmanet/base/format.hpp>
#include <rdmanet/base/hash.hpp>
#include <rdmanet/base/text.hpp>

#include <algorithm>
#include <map>
#include <utility>

namespace rdmanet::cluster {

using ipam::Block;
using ipam::BlockState;
using ipam::Claim;
using ipam::Exhausted;
using ipam::Lease;
using ipam::Owner;
using ipam::OwnerKey;
using ipam::StoreError;
using ipam::Trust;

namespace {

constexpr std::chrono::seconds kFirstAnswer{1}; // of a confirmation that an ADD waits for
constexpr std::chrono::seconds kWholeAnswer{10};
constexpr std::int64_t kSilentFor = 10; // seconds in which nobody asks again
/// A range that is full is looked at again after this time, then after twice as long. A look is three requests.
constexpr std::int64_t kFullFor = 30;
constexpr std::int64_t kLongestFullFor = 960;

std::uint64_t hash_of(const Claim& claim) {
    std::string usable;
    for (const ipam::Interval& interval : claim.usable) usable += to_text(claim.family, interval) + " ";
    return base::hash64(usable);
}

} // namespace

class BlocksStore::Impl {
public:
    Impl(std::shared_ptr<ipam::BlockFile> file, Options options)
        : its_file_(std::move(file)), file_(*its_file_), options_(std::move(options)) {}

    ipam::ReserveOutcome reserve(const Owner& owner, const std::vector<Claim>& claims, const base::Deadline& deadline) {
        const http::Stopwatch watch;
        std::optional<base::FileLock> lock;
        for (;;) {
            ipam::ReserveOutcome outcome = file_.reserve(owner, claims, trust_, deadline);
            const auto* none = std::get_if<Exhausted>(&outcome);
            if (none == nullptr) return outcome;
            if (const auto searched = searched_.find(none->claim); searched != searched_.end())
                return found_none(claims, searched->second);
            if (deadline.passed())
                throw base::TimeoutError(fmt::format("waited for a block of addresses, for which other nodes compete{}",
                                                     tried_at(options_.api().server(), watch)));
            if (!lock) // perhaps another process of this node confirms its blocks, or gets one, just now
                lock = lock_requests(deadline);
            else if (trust_ == Trust::fresh && !has_confirmed_ && is_unconfirmed(claims[none->claim]))
                confirm_soon(deadline);
            else
                search(claims, none->claim, deadline);
        }
    }

    void settle(std::chrono::seconds idle, const base::Deadline& deadline) {
        if (file_.blocks().empty()) return;
        bool has_something = false;
        file_.change(deadline, [&](ipam::BlockRows& rows) { has_something = rows.close_idle(idle); });
        const std::vector<Block> blocks = file_.blocks();
        const bool has_closed = std::any_of(blocks.begin(), blocks.end(), [](const Block& block) {
            return block.state == BlockState::closed && block.leases == 0;
        });
        if (!has_something && !has_closed) return;
        const base::FileLock lock = lock_requests(deadline);
        BlocksApi api(options_.api());
        NodeBlocks(api, file_, options_).settle(deadline);
    }

    void confirm(const base::Deadline& deadline) {
        const base::FileLock lock = lock_requests(deadline);
        BlocksApi api(options_.api());
        NodeBlocks blocks(api, file_, options_);
        if (!file_.ranges().empty() || !file_.list_all().empty()) blocks.confirm(deadline, deadline);
        blocks.look_for_unknown(deadline);
        if (!file_.blocks().empty())
            file_.change(deadline, [](ipam::BlockRows& rows) { (void)rows.close_idle(kIdleBlock); });
        blocks.settle(deadline);
        silence().forget();
    }

    std::vector<ipam::Regained> regain(const std::vector<Lease>& leases, const base::Deadline& deadline) {
        const base::FileLock lock = lock_requests(deadline);
        BlocksApi api(options_.api());
        const std::vector<Block> before = file_.blocks();
        NodeBlocks(api, file_, options_).confirm(deadline, deadline);
        std::vector<ipam::Regained> all = file_.regain(leases, deadline);
        for (ipam::Regained& each : all) explain(each, before);
        return all;
    }

    [[nodiscard]] bool has_free(const Claim& claim) {
        if (file_.has_free(claim)) return true;
        const auto full = find_full(claim);
        return !full || file_.now().boot >= full->until;
    }

    [[nodiscard]] ipam::BlockFile& file() { return file_; }

private:
    [[nodiscard]] base::FileLock lock_requests(const base::Deadline& deadline) const {
        base::make_directories(options_.state_directory);
        const http::Stopwatch watch;
        try {
            return {fmt::format("{}/blocks.lock", options_.state_directory), 0, "the blocks of this node", deadline};
        } catch (const base::LockTimeout& error) {
            throw base::LockTimeout(
                fmt::format("{}, which asks for them{}", error.what(), tried_at(options_.api().server(), watch)));
        }
    }

    /// When the API server did not answer a call of this node, in seconds of the boot.
    [[nodiscard]] base::BootMemory silence() const {
        return {options_.state_directory, options_.boot_id, "blocks-silent", options_.kubeconfig};
    }
    [[nodiscard]] bool is_silent() const {
        const auto noted = silence().find();
        const auto since = noted ? base::parse_integer<std::int64_t>(*noted) : std::nullopt;
        const std::int64_t now = file_.now().boot;
        return since && *since <= now && now - *since < kSilentFor;
    }

    /// Whether a confirmation may give this call what it wants.
    [[nodiscard]] bool is_unconfirmed(const Claim& claim) const {
        const std::vector<Block> blocks = file_.blocks();
        const std::int64_t oldest = file_.now().boot - ipam::kFreshFor.count();
        const bool may_give = std::any_of(blocks.begin(), blocks.end(), [&](const Block& block) {
            const unsigned bits = base::address_bits(block.prefix.family()) - block.prefix.length();
            return block.state == BlockState::open && block.space == claim.space &&
                   (bits >= 64 || block.leases < std::uint64_t{1} << bits) &&
                   (!block.confirmed || *block.confirmed < oldest);
        });
        return may_give || (blocks.empty() && !file_.list_all().empty());
    }

    /// If nobody answers, what was confirmed earlier is trusted, as long as the range allows it.
    void confirm_soon(const base::Deadline& deadline) {
        has_confirmed_ = true;
        if (is_silent()) {
            trust_ = Trust::lasting;
            return;
        }
        try {
            BlocksApi api(options_.api());
            NodeBlocks(api, file_, options_).confirm(deadline.at_most(kFirstAnswer), deadline.at_most(kWholeAnswer));
            silence().forget();
        } catch (const StoreError& error) {
            if (error.unreachable()) silence().note(fmt::format("{}", file_.now().boot));
            trust_ = Trust::lasting;
        }
    }

    /// An address that the configuration sets is in a range of the same network if one has it.
    static Claim in_its_range(const std::vector<Claim>& claims, std::size_t at) {
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

    void search(const std::vector<Claim>& claims, std::size_t at, const base::Deadline& deadline) {
        const Claim claim = in_its_range(claims, at);
        const auto full = claim.wanted ? std::nullopt : find_full(claim);
        if (full && file_.now().boot < full->until) {
            searched_[at] = Exhausted{.claim = at, .detail = full->detail};
            return;
        }
        if (is_silent()) {
            const StoreError refusal(
                StoreError::Kind::unreachable,
                fmt::format("lease store: {} did not answer a moment ago, and this node has no address left in blocks "
                            "that were confirmed lately",
                            options_.api().server()));
            searched_[at] = Exhausted{.claim = at, .detail = {}, .refusal = refusal};
            return;
        }
        try {
            BlocksApi api(options_.api());
            NodeBlocks::Search search = NodeBlocks(api, file_, options_).acquire(claim, full.has_value(), deadline);
            silence().forget();
            if (search.found) {
                if (full) memory_of_full(claim).forget();
                trust_ = Trust::fresh;
                return;
            }
            if (!claim.wanted) note_full(claim, full, search.detail);
            searched_[at] = Exhausted{.claim = at, .detail = std::move(search.detail)};
        } catch (const RangeMoved&) {
            throw;
        } catch (const StoreError& error) {
            if (error.unreachable()) silence().note(fmt::format("{}", file_.now().boot));
            // The node may still have addresses: those of dead pods, and those that rest.
            searched_[at] = Exhausted{.claim = at, .detail = {}, .refusal = error};
        }
    }

    /// Until when nobody asks for a block again for such a claim, for how long that is, and why.
    struct Full {
        std::int64_t until = 0;
        std::int64_t lasts = 0;
        std::string detail{};
    };
    [[nodiscard]] base::BootMemory memory_of_full(const Claim& claim) const {
        return {options_.state_directory, options_.boot_id, "blocks-full",
                fmt::format("{}\n{}\n{:x}", options_.kubeconfig, claim.space, hash_of(claim))};
    }
    [[nodiscard]] std::optional<Full> find_full(const Claim& claim) const {
        const std::string noted = memory_of_full(claim).find().value_or("");
        const auto first = noted.find(' ');
        const auto second = noted.find(' ', first + 1);
        if (first == std::string::npos || second == std::string::npos) return std::nullopt;
        const auto until = base::parse_integer<std::int64_t>(noted.substr(0, first));
        const auto lasts = base::parse_integer<std::int64_t>(noted.substr(first + 1, second - first - 1));
        if (!until || !lasts) return std::nullopt;
        return Full{.until = *until, .lasts = *lasts, .detail = noted.substr(second + 1)};
    }
    void note_full(const Claim& claim, const std::optional<Full>& before, const std::string& detail) const {
        const std::int64_t lasts = before ? std::min(2 * before->lasts, kLongestFullFor) : kFullFor;
        memory_of_full(claim).note(fmt::format("{} {} {}", file_.now().boot + lasts, lasts, detail));
    }

    static ipam::ReserveOutcome found_none(const std::vector<Claim>& claims, const Exhausted& none) {
        if (claims[none.claim].wanted && none.refusal) throw StoreError(*none.refusal);
        return none;
    }

    /// What the confirmation has done, and why it has not.
    void explain(ipam::Regained& regained, const std::vector<Block>& before) const {
        const auto has_it = [&](const Block& block) {
            return block.space == regained.lease.space && block.prefix.contains(regained.lease.address.address());
        };
        const std::vector<Block> blocks = file_.blocks();
        const auto block = std::find_if(blocks.begin(), blocks.end(), has_it);
        if (block == blocks.end()) {
            regained.refused = fmt::format("the cluster has no AddressRange with {}: delete the pod, so that it gets "
                                           "another address",
                                           regained.lease.address.address());
            return;
        }
        const std::string name = object_name(block->space, block->prefix);
        if (block->state == BlockState::lost)
            regained.refused =
                block->holder.empty()
                    ? fmt::format("AddressBlock {} cannot be created again: delete the pod, so that it gets another "
                                  "address",
                                  name)
                    : fmt::format("AddressBlock {} belongs to node {} by now: delete the pod, so that it gets another "
                                  "address",
                                  name, base::quoted(block->holder));
        if (!regained.refused.empty()) return;
        const auto known = std::find_if(before.begin(), before.end(), has_it);
        const bool was_whole = known != before.end() && known->state == BlockState::open && known->uid == block->uid;
        if (!was_whole) regained.made.insert(regained.made.begin(), fmt::format("AddressBlock {}", name));
    }

    std::shared_ptr<ipam::BlockFile> its_file_;
    ipam::BlockFile& file_;
    Options options_;
    Trust trust_ = Trust::fresh;
    bool has_confirmed_ = false;
    std::map<std::size_t, Exhausted> searched_; // by claim: one search of the cluster is enough for one ADD
};

BlocksStore::BlocksStore(std::shared_ptr<ipam::BlockFile> file, Options options)
    : impl_(std::make_unique<Impl>(std::move(file), std::move(options))) {}
BlocksStore::~BlocksStore() = default;

ipam::ReserveOutcome BlocksStore::reserve(const Owner& owner, const std::vector<Claim>& claims,
                                          const base::Deadline& deadline) {
    return impl_->reserve(owner, claims, deadline);
}

std::vector<Lease> BlocksStore::release(const OwnerKey& key, const base::Deadline& deadline) {
    return impl_->file().withdraw(key, {}, deadline);
}

std::vector<Lease> BlocksStore::withdraw(const OwnerKey& key, const std::vector<Lease>& unused,
                                         const base::Deadline& deadline) {
    return impl_->file().withdraw(key, unused, deadline);
}

std::vector<Lease> BlocksStore::reclaim(const std::vector<Lease>& leases, const base::Deadline& deadline) {
    return impl_->file().reclaim(leases, deadline);
}

std::vector<Lease> BlocksStore::adopt(const std::vector<Lease>& leases, const Owner& heir,
                                      const base::Deadline& deadline) {
    return impl_->file().adopt(leases, heir, deadline);
}

std::vector<Lease> BlocksStore::find(const OwnerKey& key, const base::Deadline& /*deadline*/) {
    return impl_->file().find(key);
}

std::vector<Lease> BlocksStore::find_predecessors(const Owner& owner, const base::Deadline& /*deadline*/) {
    return impl_->file().find_predecessors(owner);
}

std::vector<Lease> BlocksStore::list(const Claim& claim, const std::optional<base::IpAddress>& after, std::size_t most,
                                     const base::Deadline& /*deadline*/) {
    return impl_->file().list(claim, after, most);
}

std::vector<Lease> BlocksStore::list_all(const base::Deadline& /*deadline*/) {
    return impl_->file().list_all();
}

bool BlocksStore::has_free(const Claim& claim, const base::Deadline& /*deadline*/) {
    return impl_->has_free(claim);
}

ipam::Usage BlocksStore::usage(const Claim& claim, const base::Deadline& /*deadline*/) {
    return impl_->file().usage(claim);
}

std::vector<ipam::Rival> BlocksStore::find_rivals(const base::Deadline& /*deadline*/) {
    return impl_->file().find_rivals();
}

std::vector<ipam::Regained> BlocksStore::regain(const std::vector<Lease>& leases, const base::Deadline& deadline) {
    return impl_->regain(leases, deadline);
}

void BlocksStore::settle(std::chrono::seconds idle, const base::Deadline& deadline) {
    impl_->settle(idle, deadline);
}

void BlocksStore::confirm(const base::Deadline& deadline) {
    impl_->confirm(deadline);
}

} // namespace rdmanet::cluster
