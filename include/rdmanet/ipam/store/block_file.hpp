// The leases of a node in its blocks: one small file, STATE_DIR/blocks, with the ranges that the cluster cuts into blocks,
// this node's blocks, and the leases in them. It gives addresses only from blocks that are open and confirmed, and knows
// nothing of how the cluster gives and confirms them.
#pragma once

#include <rdmanet/ipam/store.hpp>
#include <rdmanet/ipam/store/lease_file.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace rdmanet::ipam {

/// An AddressRange, as this node has last seen it.
struct BlockRange {
    std::string uid;
    std::string name; // of the object
    std::string space;
    base::IpPrefix subnet;
    unsigned block_size = 16;
    std::optional<base::IpPrefix> requestable{}; // never cut: each address is a block of one
    std::chrono::seconds gone_after{3600};
    bool is_gone = false;   // the cluster has it no more: nothing is given, and its blocks go back as pods end
    bool is_fenced = false; // the pools that it overlaps are marked, so it may be cut
    /// What had addresses of it when it was fenced, and is read again at each cut: pools ("NAMESPACE/NAME"), or blocks of
    /// other ranges (kOtherBlocks).
    std::vector<std::string> held_by{};
    // How this node reaches the cluster, for the calls that have no configuration.
    std::string kubeconfig{};
    std::string node_name{};
    /// Until then, in seconds of CLOCK_BOOTTIME, the cluster is not asked for a block again for the claim with that hash;
    /// and for how long.
    std::int64_t full_until = 0;
    std::int64_t full_for = 0;
    std::uint64_t full_claim = 0;

    /// A block of one that goes back to the cluster with its lease.
    [[nodiscard]] bool is_on_request(const base::IpPrefix& block) const;
    friend bool operator==(const BlockRange&, const BlockRange&) = default;
};
inline constexpr const char* kOtherBlocks = "blocks";

enum class BlockState : std::uint8_t {
    closed, // asked for, and no answer has said that it is this node's: nothing is given
    open,   // this node's: its own creation or change of the object has succeeded
    lost,   // the cluster says that it is another node's, and pods still have its addresses
    going,  // given back: nothing is given, and its object goes
};

struct Block {
    std::string range_uid;
    std::string space;
    base::IpPrefix prefix;
    BlockState state = BlockState::closed;
    std::string uid{}; // of the AddressBlock, and its version, as this node knows them
    std::string version{};
    std::string node_uid{}; // what the object says
    std::string boot_id{};
    /// When the request began that last found it as this node has written it, in seconds of CLOCK_BOOTTIME.
    std::optional<std::int64_t> confirmed{};
    std::int64_t since = 0; // when it was opened or became empty, in seconds of CLOCK_BOOTTIME
    std::string holder{};   // of a lost block: the node that has it
    std::uint64_t leases = 0;

    friend bool operator==(const Block&, const Block&) = default;
};

/// A younger confirmation needs no request.
inline constexpr std::chrono::seconds kFreshFor{120};

/// From which blocks addresses are given.
enum class Trust : std::uint8_t {
    fresh,   // confirmed within the last two minutes
    lasting, // confirmed within the range's `gone_after`: for when the cluster does not answer
};

class LeaseBook;

/// The rows of the file, in one change. By space and address.
class BlockRows {
public:
    BlockRows(LeaseBook& book, std::string boot_id, Time now) : book_(book), boot_id_(std::move(boot_id)), now_(now) {}

    [[nodiscard]] const std::vector<BlockRange>& ranges() const;
    [[nodiscard]] const BlockRange* find_range(const std::string& uid) const;
    /// The range that has the address and is not gone.
    [[nodiscard]] const BlockRange* find_range(const std::string& space, const base::IpAddress& address) const;
    /// Adds it, or replaces the one with its UID.
    void put_range(const BlockRange& range);
    /// Unless the node has blocks of it.
    void forget_range(const std::string& uid);

    [[nodiscard]] std::vector<Block> blocks() const;
    [[nodiscard]] std::optional<Block> find(const std::string& space, const base::IpPrefix& prefix) const;
    /// Adds it, or replaces the one with its addresses.
    void put(const Block& block);
    /// With what rests in it.
    void remove(const Block& block);
    /// All blocks of a range are of another one from now on: it was applied again with equal content.
    void set_range(const std::string& uid, const BlockRange& range);

    /// Of the empty blocks of each range, all but the one used last go back if they are empty for that long. Empty blocks
    /// of a range that is gone go at once. Returns whether any block is going now.
    bool close_idle(std::chrono::seconds idle);

    /// The part of `claim.usable` that blocks give.
    [[nodiscard]] std::vector<Interval> open_part(const Claim& claim, Trust trust) const;
    [[nodiscard]] bool is_open(const std::string& space, const base::IpAddress& address, Trust trust) const;
    /// An address was released: its block may be empty now.
    void note_release(const std::string& space, const base::IpAddress& address);

    /// Leases in no block of this file: those of a file that was made again from the journal.
    [[nodiscard]] std::vector<Lease> leases_without_block() const;

    [[nodiscard]] const std::string& boot_id() const { return boot_id_; }
    [[nodiscard]] Time now() const { return now_; }
    [[nodiscard]] LeaseBook& book() { return book_; }

private:
    [[nodiscard]] bool gives(const Block& block, const BlockRange& range, Trust trust) const;
    [[nodiscard]] bool has_leases(const Block& block) const;

    LeaseBook& book_;
    std::string boot_id_;
    Time now_;
};

class BlockFile {
public:
    struct Options {
        std::string state_directory;
        std::string boot_id;
        /// As LeaseFile's: for a file made new.
        std::function<std::vector<Lease>()> known_leases;
        std::function<Time()> clock = system_time;
    };

    explicit BlockFile(Options options);
    ~BlockFile();

    /// As Store::reserve(). `Exhausted` also means that no block that is trusted has the wanted address.
    [[nodiscard]] ReserveOutcome reserve(const Owner& owner, const std::vector<Claim>& claims, Trust trust,
                                         const base::Deadline& deadline);
    std::vector<Lease> withdraw(const OwnerKey& key, const std::vector<Lease>& unused, const base::Deadline& deadline);
    std::vector<Lease> reclaim(const std::vector<Lease>& leases, const base::Deadline& deadline);
    /// Addresses of a lost block have no heirs: another node may have given them.
    std::vector<Lease> adopt(const std::vector<Lease>& leases, const Owner& heir, const base::Deadline& deadline);
    /// Only in open blocks.
    [[nodiscard]] std::vector<Regained> regain(const std::vector<Lease>& leases, const base::Deadline& deadline);
    [[nodiscard]] std::vector<Lease> find(const OwnerKey& key);
    [[nodiscard]] std::vector<Lease> find_predecessors(const Owner& owner);
    [[nodiscard]] std::vector<Lease> list(const Claim& claim, const std::optional<base::IpAddress>& after,
                                          std::size_t most);
    [[nodiscard]] std::vector<Lease> list_all();
    /// In blocks that may still be trusted.
    [[nodiscard]] bool has_free(const Claim& claim);
    [[nodiscard]] Usage usage(const Claim& claim);
    [[nodiscard]] std::vector<Rival> find_rivals();

    [[nodiscard]] std::vector<BlockRange> ranges();
    [[nodiscard]] std::vector<Block> blocks();
    /// Runs `act` while no other process changes the file, which is made if it is absent.
    void change(const base::Deadline& deadline, const std::function<void(BlockRows&)>& act);

    [[nodiscard]] Time now() const;
    /// As LeaseFile's.
    std::optional<std::string> repair(const base::Deadline& deadline);
    /// STATE_DIR/blocks
    [[nodiscard]] const std::string& path() const;

private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

} // namespace rdmanet::ipam
