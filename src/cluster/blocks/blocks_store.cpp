#include <rdmanet/cluster/blocks_store.hpp>

#include "../tried.hpp"
#include "left_alone.hpp"
#include "node_blocks.hpp"

#include <rdmanet/base/boot_memory.hpp>
#include <rdmanet/base/file.hpp>
#include <rdmanet/base/file_lock.hpp>
#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>

#include <algorithm>
#include <map>
#include <utility>
#include <variant>

namespace rdmanet::cluster {

using ipam::Claim;
using ipam::Exhausted;
using ipam::Lease;
using ipam::Owner;
using ipam::OwnerKey;
using ipam::StoreError;

class BlocksStore::Impl {
public:
    Impl(std::shared_ptr<ipam::BlockFile> file, Options options)
        : its_file_(std::move(file)), file_(*its_file_), options_(std::move(options)) {}

    ipam::ReserveOutcome reserve(const Owner& owner, const std::vector<Claim>& claims, const base::Deadline& deadline) {
        const http::Stopwatch watch;
        std::optional<base::FileLock> lock;
        for (;;) {
            ipam::ReserveOutcome outcome = file_.reserve(owner, claims, deadline);
            const auto* none = std::get_if<Exhausted>(&outcome);
            if (none == nullptr) return outcome;
            if (const auto searched = searched_.find(none->claim); searched != searched_.end())
                return found_none(claims, searched->second);
            if (deadline.passed())
                throw base::TimeoutError(fmt::format("waited for a block of addresses, for which other nodes compete{}",
                                                     tried_at(options_.api().server(), watch)));
            if (!lock) { // perhaps another process of this node gets a block just now
                const std::int64_t since = ipam::system_time().boot;
                lock = lock_requests(deadline);
                heard_ = silence_since(since, watch);
            } else {
                search(claims, none->claim, deadline);
            }
        }
    }

    void settle(std::chrono::seconds idle, const base::Deadline& deadline) {
        const std::vector<ipam::BlockRange> ranges = file_.ranges(deadline);
        // One for a request whose ADD was killed, or has not come to its lease yet: the lock tells which.
        const auto may_be_abandoned = [&](const ipam::Block& block) {
            return block.leases == 0 && std::any_of(ranges.begin(), ranges.end(), [&](const ipam::BlockRange& range) {
                       return range.space == block.space && range.subnet == block.range &&
                              range.is_on_request(block.prefix);
                   });
        };
        // The first call of a boot that has time for it: an ADD does not look.
        const auto is_of_this_cluster = [&](const ipam::BlockRange& range) {
            return range.kubeconfig == options_.kubeconfig && range.node_name == options_.node_name;
        };
        const bool has_to_look = std::any_of(ranges.begin(), ranges.end(), is_of_this_cluster) &&
                                 !file_.has_looked(options_.kubeconfig, options_.node_name, deadline);
        const auto is_owed = [&](const ipam::Block& block) {
            return block.state == ipam::BlockState::closed || block.state == ipam::BlockState::claiming ||
                   NodeBlocks::is_due(block, file_.now()) || may_be_abandoned(block);
        };
        (void)file_.close_idle(idle, deadline);
        const std::vector<ipam::Block> blocks = file_.blocks(deadline);
        if (!has_to_look && std::none_of(blocks.begin(), blocks.end(), is_owed)) return;
        const base::FileLock lock = lock_requests(deadline);
        BlocksApi api(options_.api());
        NodeBlocks node(api, file_, options_);
        node.settle(deadline);
        if (has_to_look) (void)node.look_for_earlier(deadline);
    }

    bool tidy(const base::Deadline& deadline, const FindUse& find_use) try {
        base::make_directories(options_.state_directory);
        const base::FileLock lock = lock_requests(deadline);
        BlocksApi api(options_.api());
        NodeBlocks node(api, file_, options_);
        // A process that was killed may have left a block, which keeps a range, and no row of the file says so.
        const std::vector<RangeObject> ranges = api.list_all_ranges(deadline);
        const bool is_one_going =
            std::any_of(ranges.begin(), ranges.end(), [](const RangeObject& range) { return range.is_going; });
        const bool looks_again = is_one_going || (find_use && LeftAlone(options_).since());
        bool has_looked = !looks_again && file_.has_looked(options_.kubeconfig, options_.node_name, deadline);
        if (!has_looked) has_looked = node.look_for_earlier(deadline, find_use);
        node.finish_removals(ranges, deadline);
        return has_looked;
    } catch (const MissingKind&) { // nobody can have blocks
        return true;
    } catch (const MissingRight&) { // by this kubeconfig, this node has none
        if (!file_.ranges(deadline).empty()) throw;
        return true;
    }

    std::vector<ipam::Regained> regain(const std::vector<Lease>& leases, const base::Deadline& deadline) {
        const base::FileLock lock = lock_requests(deadline);
        BlocksApi api(options_.api());
        NodeBlocks blocks(api, file_, options_);
        std::vector<ipam::Regained> all;
        for (const Lease& lease : leases) {
            ipam::Regained regained = blocks.regain_block_of(lease, deadline);
            if (regained.refused.empty()) {
                ipam::Regained in_file = file_.regain({lease}, deadline).front();
                regained.made.insert(regained.made.end(), in_file.made.begin(), in_file.made.end());
                regained.refused = std::move(in_file.refused);
            }
            all.push_back(std::move(regained));
        }
        return all;
    }

    [[nodiscard]] ipam::BlockFile& file() { return file_; }

private:
    [[nodiscard]] base::FileLock lock_requests(const base::Deadline& deadline) const {
        const http::Stopwatch watch;
        try {
            return {fmt::format("{}/blocks.lock", options_.state_directory), 0, "the blocks of this node", deadline};
        } catch (const base::LockTimeout& error) {
            throw base::LockTimeout(
                fmt::format("{}, which asks for them{}", error.what(), tried_at(options_.api().server(), watch)));
        }
    }

    /// Of the API server, as a call of this node has found it: when, in seconds of the boot, and the error.
    [[nodiscard]] base::BootMemory silence() const {
        return {options_.state_directory, options_.boot_id, "blocks-silent", options_.kubeconfig};
    }

    /// What the calls before this one, which it has waited for, have found. It would wait as long for the same server.
    [[nodiscard]] std::optional<StoreError> silence_since(std::int64_t since, const http::Stopwatch& watch) const {
        const auto noted = silence().find();
        if (!noted) return std::nullopt;
        const std::size_t space = std::min(noted->find(' '), noted->size());
        const auto when = base::parse_integer<std::int64_t>(noted->substr(0, space));
        if (!when || *when <= since) return std::nullopt;
        return StoreError(StoreError::Kind::unreachable,
                          fmt::format("{}, as another call of this node has found; this one has waited for it for {}",
                                      noted->substr(std::min(space + 1, noted->size())), watch.text()));
    }

    void note_silence(const StoreError& error, std::int64_t begun) const {
        const std::int64_t now = ipam::system_time().boot;
        if (error.unreachable() && now - begun > 1) silence().note(fmt::format("{} {}", now, error.what()));
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
        // A full range is asked for at every ADD of every node, and each answer has all its blocks.
        if (!claims[at].wanted && file_.is_full(claims[at], ipam::kFullForAdd, deadline)) {
            searched_[at] = Exhausted{.claim = at, .detail = "; a moment ago other nodes had all other blocks of it"};
            return;
        }
        const std::int64_t begun = ipam::system_time().boot;
        try {
            if (heard_) throw StoreError(*heard_);
            BlocksApi api(options_.api());
            NodeBlocks::Search search = NodeBlocks(api, file_, options_).acquire(in_its_range(claims, at), deadline);
            silence().forget(); // whoever waits for this call need not take it for silent
            if (!search.found) file_.set_full(claims[at], deadline);
            if (!search.found) searched_[at] = Exhausted{.claim = at, .detail = std::move(search.detail)};
        } catch (const StoreError& error) {
            if (!heard_) note_silence(error, begun);
            // The node may still have addresses: those of dead pods, and those that rest.
            searched_[at] = Exhausted{.claim = at, .detail = {}, .refusal = error};
        }
    }

    static ipam::ReserveOutcome found_none(const std::vector<Claim>& claims, const Exhausted& none) {
        if (claims[none.claim].wanted && none.refusal) throw StoreError(*none.refusal);
        return none;
    }

    std::shared_ptr<ipam::BlockFile> its_file_;
    ipam::BlockFile& file_;
    Options options_;
    std::optional<StoreError> heard_;           // of the server, by calls that this one has waited for
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
    return impl_->file().release(key, deadline);
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

std::vector<ipam::Regained> BlocksStore::regain(const std::vector<Lease>& leases, const base::Deadline& deadline) {
    return impl_->regain(leases, deadline);
}

std::vector<Lease> BlocksStore::find(const OwnerKey& key, const base::Deadline& deadline) {
    return impl_->file().find(key, deadline);
}

std::vector<Lease> BlocksStore::find_predecessors(const Owner& owner, const base::Deadline& deadline) {
    return impl_->file().find_predecessors(owner, deadline);
}

std::vector<Lease> BlocksStore::list(const Claim& claim, const std::optional<base::IpAddress>& after, std::size_t most,
                                     const base::Deadline& deadline) {
    return impl_->file().list(claim, after, most, deadline);
}

std::vector<Lease> BlocksStore::list_all(const base::Deadline& deadline) {
    return impl_->file().list_all(deadline);
}

bool BlocksStore::has_free(const Claim& claim, const base::Deadline& deadline) {
    return impl_->file().has_free(claim, deadline) || !impl_->file().is_full(claim, ipam::kFullFor, deadline);
}

ipam::Usage BlocksStore::usage(const Claim& claim, const base::Deadline& deadline) {
    return impl_->file().usage(claim, deadline);
}

std::vector<ipam::Rival> BlocksStore::find_rivals(const base::Deadline& deadline) {
    return impl_->file().find_rivals(deadline);
}

void BlocksStore::settle(std::chrono::seconds idle, const base::Deadline& deadline) {
    impl_->settle(idle, deadline);
}

bool BlocksStore::tidy(const base::Deadline& deadline, const FindUse& find_use) {
    return impl_->tidy(deadline, find_use);
}

} // namespace rdmanet::cluster
