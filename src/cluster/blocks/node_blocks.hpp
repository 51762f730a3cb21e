// The blocks of one node: how it cuts them from a range, confirms them and gives them back. The protocol, and the rules
// without which two pods would get one address, are explored by test/model.
//
// Every change is written into the node's file before it is sent, and each request tests the version that it is about,
// because the request of a call that was killed may arrive late. A block is closed, and gives nothing, until its own
// creation or change of the object has succeeded. The caller holds the lock that all requests of this node share.
#pragma once

#include "blocks_api.hpp"

#include <rdmanet/cluster/blocks_store.hpp>
#include <rdmanet/ipam/block_cut.hpp>

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace rdmanet::cluster {

class NodeBlocks {
public:
    /// Throws ipam::StoreError if the server cannot be asked.
    NodeBlocks(ipam::BlockFile& file, const BlocksStore::Options& options)
        : api_(options.api()), file_(file), options_(options) {}

    /// What became of a search for a block with an address that the claim can use.
    struct Search {
        bool found = false;
        std::string detail{}; // if not: who has the blocks
    };
    /// `was_full`: there was none a moment ago. Then no request is spent on guesses.
    [[nodiscard]] Search acquire(const ipam::Claim& claim, bool was_full, const base::Deadline& deadline);

    /// What the cluster says of this node's blocks. Nothing is confirmed while it has no Node of this machine: throws
    /// ipam::StoreError. The first answer is waited for until `first`.
    void confirm(const base::Deadline& first, const base::Deadline& deadline);

    /// Blocks that the cluster has for this node and the file lacks: those with addresses that the node still has are
    /// left alone, and the others go. In `gc`.
    void look_for_unknown(const base::Deadline& deadline);
    /// The same, once in a boot: when somebody else has the block that this node would take, when the range seems full,
    /// or at the first confirmation of an ADD. The server looks at the blocks of all nodes for it.
    void look_once(const base::Deadline& deadline);

    /// Gives back what is going, and looks at what is closed.
    void settle(const base::Deadline& deadline);

private:
    using Deadline = base::Deadline;
    using Block = ipam::Block;
    using BlockRange = ipam::BlockRange;
    using Rows = ipam::BlockRows;

    // cutting.cpp
    [[nodiscard]] const DeclaredRanges& recall_ranges(const Deadline& deadline);
    [[nodiscard]] const AddressRange* recall(const BlockRange& range, const Deadline& deadline);
    [[nodiscard]] BlockRange range_of(const ipam::Claim& claim, const Deadline& deadline);
    [[nodiscard]] std::optional<AddressRange> find_declared(const BlockRange& range, const Deadline& deadline);
    [[nodiscard]] bool is_noted_exclusive(const BlockRange& range, const Deadline& deadline);
    void fence(BlockRange& range, const Deadline& deadline);
    void note_fenced(BlockRange& range, const Deadline& deadline);
    enum class Opening : std::uint8_t { yes, held, range_gone };
    [[nodiscard]] Opening may_open(BlockRange& range, const base::IpPrefix& block, const Deadline& deadline);
    [[nodiscard]] std::vector<ipam::Interval> held_by_others(const BlockRange& range, const Deadline& deadline);
    [[nodiscard]] bool adopt_former(BlockRange& range, const Deadline& deadline);
    [[nodiscard]] bool claim_new(BlockRange& range, const ipam::Claim& claim, bool was_full, const Deadline& deadline);
    [[nodiscard]] Search claim_wanted(BlockRange& range, const base::IpAddress& wanted, const Deadline& deadline);
    enum class Cut : std::uint8_t { done, taken };
    [[nodiscard]] Cut take(BlockRange& range, const base::IpPrefix& block, const Deadline& deadline);
    [[nodiscard]] Cut cut(BlockRange& range, const base::IpPrefix& block, const Deadline& deadline);
    [[nodiscard]] std::string describe_holders(const BlockRange& range, const Deadline& deadline);

    // confirming.cpp
    [[nodiscard]] std::string require_this_node(const Deadline& deadline);
    void know_this_node(const Deadline& deadline);
    void follow_ranges(const DeclaredRanges& ranges, const Deadline& deadline);
    void confirm(Block block, std::int64_t begun, const Deadline& deadline);
    void make_again(Block block, std::int64_t begun, const Deadline& deadline);
    void write_anew(Block block, const BlockObject& object, std::int64_t begun, const Deadline& deadline);
    void lose(Block block, const std::string& holder, const Deadline& deadline);
    [[nodiscard]] std::string why_not_open(const Block& block) const;

    // giving_back.cpp
    void give_back(const Block& going, const Deadline& deadline);

    [[nodiscard]] bool is_of_this_cluster(const BlockRange& range) const;
    [[nodiscard]] NodeMark self() const;
    [[nodiscard]] BlockRange range_of(const AddressRange& declared) const;
    [[nodiscard]] std::optional<BlockRange> range_of(const Block& block);
    [[nodiscard]] std::optional<Block> find_row(const std::string& space, const base::IpPrefix& prefix);
    [[nodiscard]] BlockObject object_of(const Block& block, const BlockRange& range) const;
    [[nodiscard]] bool is_ours(const BlockObject& object) const;
    bool put(const Block& block, const Deadline& deadline);
    void forget(const Block& block, const Deadline& deadline);
    /// Whether it is open now.
    [[nodiscard]] bool open(Block block, const WriteOutcome& written, std::int64_t confirmed, const Deadline& deadline);
    [[nodiscard]] static std::string time_text();
    /// Throws if that is not known.
    [[nodiscard]] static bool is_done(std::string_view what, const Block& block, const WriteOutcome& written);
    [[nodiscard]] static bool touches(const base::IpPrefix& block, const std::vector<ipam::Interval>& intervals);
    void warn(const std::string& text) const;

    BlocksApi api_;
    ipam::BlockFile& file_;
    const BlocksStore::Options& options_;
    std::string node_uid_; // once it is known in this call
    std::optional<DeclaredRanges> recalled_;
    std::set<std::string> fenced_;  // ranges whose blocks are made again, by UID
    std::set<std::string> removed_; // blocks that look_for_unknown() has removed, by name
};

} // namespace rdmanet::cluster
