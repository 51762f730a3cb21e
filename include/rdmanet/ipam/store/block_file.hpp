// The leases of a node in its blocks: one small file, STATE_DIR/blocks, with the ranges that the cluster cuts into
// blocks, this node's blocks, and the leases in them. It gives addresses only from blocks that are open and confirmed,
// and knows nothing of how the cluster gives and confirms them.
#pragma once

#include <rdmanet/ipam/store.hpp>
#include <rdmanet/ipam/store/block.hpp>
#include <rdmanet/ipam/store/lease_file.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace rdmanet::ipam {

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

    /// Of the empty blocks of each range, all but the one used last go back if they are empty for that long. Empty blocks
    /// of a range that is gone or scarce go at once. Returns whether any block is going now.
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

private:
    [[nodiscard]] static bool goes_at_once(const Block& block, const BlockRange* range);
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

    /// Whether there is a file: without one this node has had no block in this boot.
    [[nodiscard]] bool is_there() const;
    [[nodiscard]] std::vector<BlockRange> ranges();
    [[nodiscard]] std::vector<Block> blocks();
    /// Runs `act` while no other process changes the file, which is made if it is absent.
    void change(const base::Deadline& deadline, const std::function<void(BlockRows&)>& act);

    [[nodiscard]] Time now() const;
    /// As LeaseFile's.
    void tidy(const base::Deadline& deadline);
    std::optional<std::string> repair(const base::Deadline& deadline);
    /// STATE_DIR/blocks
    [[nodiscard]] const std::string& path() const;

private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

} // namespace rdmanet::ipam
