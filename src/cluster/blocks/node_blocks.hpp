// The blocks of one node: how it gets them and gives them back. Every change is written into the node's file before it
// is sent. Its caller holds the lock that all requests of a node share, so what the file calls `claiming` was left by a
// process that was killed, or by an answer that was lost.
#pragma once

#include "blocks_api.hpp"

#include <rdmanet/cluster/blocks_store.hpp>
#include <rdmanet/http/pause.hpp>
#include <rdmanet/ipam/block_cut.hpp>

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace rdmanet::cluster {

/// Whether the block has an address of `usable`.
[[nodiscard]] bool is_useful(const base::IpPrefix& block, const std::vector<ipam::Interval>& usable);

/// Blocks give the addresses of the range.
[[nodiscard]] bool gives_from_blocks(const RangeObject& range);

/// Throws: the request has no answer. The next call finds out.
[[noreturn]] void not_known(std::string_view what, const std::string& name, std::string_view trouble = {});

/// The cluster has removed what this node knows of a range, or has recorded something else. A block of it that this
/// node has got is not given from, and goes back.
class RangeChanged : public ipam::StoreError {
public:
    using StoreError::StoreError;
};

class NodeBlocks {
public:
    NodeBlocks(BlocksApi& api, ipam::BlockFile& file, const BlocksStore::Options& options)
        : api_(api), file_(file), options_(options) {}

    /// What became of a search for a block with an address that the claim can use.
    struct Search {
        bool found = false;
        std::string detail{}; // if not: who has the blocks
    };
    [[nodiscard]] Search acquire(const ipam::Claim& claim, const base::Deadline& deadline);

    /// Looks at requests without an answer, and gives closed blocks back.
    void settle(const base::Deadline& deadline);

    /// Gives back what is empty of ranges that somebody removes, and lets those of them go that have no blocks.
    /// `ranges`: all that the cluster has.
    void finish_removals(const std::vector<RangeObject>& ranges, const base::Deadline& deadline);

    /// What a boot before this one has left, in all ranges: what this node uses no more goes back. False if that is not
    /// to be known of all yet. `find_use`: also goes on with blocks that an earlier file of this boot had, if it says that
    /// none of their addresses is in use.
    [[nodiscard]] bool look_for_earlier(const base::Deadline& deadline, const BlocksStore::FindUse& find_use = {});

    /// Makes sure that the block with this address is this node's, and that the cluster says so. The lease need not be in
    /// the file yet; its owner uses the address.
    [[nodiscard]] ipam::Regained regain_block_of(const ipam::Lease& lease, const base::Deadline& deadline);

    /// Whether a lost block is to be looked at again.
    [[nodiscard]] static bool is_due(const ipam::Block& block, const ipam::Time& now);

private:
    using Deadline = base::Deadline;
    using Block = ipam::Block;
    using BlockRange = ipam::BlockRange;

    // ranges.cpp
    [[nodiscard]] BlockRange range_of(const ipam::Claim& claim, const Deadline& deadline);
    [[nodiscard]] std::optional<BlockRange> recall_range(const ipam::Claim& claim, const Deadline& deadline);
    [[nodiscard]] BlockRange record_range(const ipam::Claim& claim, const Deadline& deadline);
    BlockRange put_range(const RangeObject& recorded, const Deadline& deadline);
    [[nodiscard]] bool is_as_known(const RangeObject& recorded, const Deadline& deadline);
    [[nodiscard]] bool follow_kubeconfig(BlockRange range, const Deadline& deadline);
    [[nodiscard]] bool agrees_with(const RangeObject& range) const;
    void require_agreement(const RangeObject& range) const;
    [[nodiscard]] bool is_of_this_cluster(const Block& block, const Deadline& deadline);

    // node_blocks.cpp
    [[nodiscard]] Search acquire_of(const BlockRange& range, const ipam::Claim& claim, const Deadline& deadline);
    [[nodiscard]] Search acquire_block(const BlockRange& range, const base::IpPrefix& block,
                                       const base::IpAddress& wanted, const Deadline& deadline);
    [[noreturn]] static void refuse_requested(const BlockRange& range, const BlockObject& holder,
                                              const base::IpAddress& wanted);
    [[nodiscard]] bool is_in_use(const Block& block) const;
    /// As this file knows it.
    [[nodiscard]] std::optional<Block> find_known(const std::string& space, const base::IpPrefix& prefix,
                                                  const Deadline& deadline);
    [[nodiscard]] BlockObject object_of(const Block& block) const;
    [[nodiscard]] Block block_of(const BlockObject& object, ipam::BlockState state) const;
    [[nodiscard]] bool is_ours(const BlockObject& object, const Deadline& deadline);
    [[nodiscard]] const std::string& file_id(const Deadline& deadline);

    // claiming.cpp
    [[nodiscard]] bool claim_new(const BlockRange& range, const ipam::BlockCut& cut, const ipam::Claim& claim,
                                 const Deadline& deadline);
    [[noreturn]] void has_lost_races(const BlockRange& range, const http::Stopwatch& watch) const;
    [[nodiscard]] bool try_to_create(const BlockRange& range, const base::IpPrefix& block, const Deadline& deadline);
    [[nodiscard]] bool go_on_with(const BlockRange& range, const base::IpPrefix& block, const Deadline& deadline);
    void open(const BlockObject& own, const Deadline& deadline);
    [[nodiscard]] bool find_out(const Block& claiming, const Deadline& deadline);
    [[nodiscard]] bool take(const Block& known, const BlockObject& object, const Deadline& deadline);
    [[nodiscard]] bool reopen(const Block& closed, const Deadline& deadline);

    // regaining.cpp
    [[nodiscard]] bool regain(const Block& block, const std::optional<BlockObject>& object, const Deadline& deadline);
    [[nodiscard]] bool regain_absent(const Block& block, const Deadline& deadline);
    [[nodiscard]] bool regain_lost(const Block& lost, const Deadline& deadline);
    void regain_missing(const std::vector<BlockObject>& all, const BlockRange& range, const Deadline& deadline);

    // repairing.cpp
    [[nodiscard]] std::optional<BlockRange> find_range_of(const ipam::Lease& lease, const Deadline& deadline);
    [[nodiscard]] bool regain_known(const Block& known, const std::optional<BlockObject>& object,
                                    const Deadline& deadline);
    [[nodiscard]] bool regain_unknown(const BlockRange& range, const base::IpPrefix& block,
                                      const std::optional<BlockObject>& object, const ipam::Lease& lease,
                                      const Deadline& deadline);

    // earlier.cpp
    [[nodiscard]] bool knows_range_of(const Block& block, const Deadline& deadline);
    enum class Verdict : std::uint8_t { ours, left_alone, anothers };
    [[nodiscard]] Verdict judge(const BlockObject& object, const std::vector<ipam::Lease>& leases) const;
    [[nodiscard]] bool may_go_on_with(const BlockObject& object, const Deadline& deadline);
    [[nodiscard]] std::string why_in_use(const BlockObject& object, const BlocksStore::FindUse& find_use) const;
    void leave_alone(const std::vector<std::string>& names) const;
    const std::string& learn_node_uid(const Deadline& deadline);
    void write_new_uid(const std::string& uid, const Deadline& deadline);

    // others.cpp
    [[nodiscard]] Search search_among_others(const BlockRange& range, const ipam::BlockCut& cut,
                                             const ipam::Claim& claim, const Deadline& deadline);
    [[nodiscard]] bool take_once(BlockObject object, const Deadline& deadline);
    void mark(BlockObject& object, std::optional<std::int64_t> missing_since, const Deadline& deadline);
    /// Of a block whose node has no Node object.
    enum class Sighting : std::uint8_t { first, too_early, due };
    [[nodiscard]] static Sighting sighting_of(const BlockObject& object, std::int64_t now);
    [[nodiscard]] std::set<std::string> find_boots(const std::vector<BlockObject*>& missing, const Deadline& deadline);
    [[nodiscard]] bool take_from_the_gone(std::vector<BlockObject>& others, const Deadline& deadline);
    [[nodiscard]] std::string describe_holders(const std::vector<Block>& own,
                                               const std::vector<BlockObject>& others) const;

    // giving_back.cpp
    void close_removed_ranges(const Deadline& deadline);
    void give_back(const Block& closed, const Deadline& deadline);
    void remove_released(const Block& released, const BlockObject& object, const Deadline& deadline);

    BlocksApi& api_;
    ipam::BlockFile& file_;
    const BlocksStore::Options& options_;
    std::string file_id_;
    std::string node_uid_;
};

} // namespace rdmanet::cluster
