// The leases of a node in its blocks: one small file, STATE_DIR/blocks, like that of LeaseFile. It gives addresses
// only from blocks that are open, and knows nothing of the cluster, which gives the blocks.
#pragma once

#include <rdmanet/ipam/store.hpp>
#include <rdmanet/ipam/store/lease_file.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rdmanet::ipam {

/// A range as the cluster has recorded it. The ranges of a space don't overlap.
struct BlockRange {
    std::string space;
    base::IpPrefix subnet;
    unsigned block_size = 16;
    std::optional<base::IpPrefix> requestable; // never cut: each address is a block of one

    // How this node reaches the cluster, for the calls that have no configuration.
    std::string kubeconfig;
    std::string node_name;

    /// A block of one that goes back to the cluster with its lease.
    [[nodiscard]] bool is_on_request(const base::IpPrefix& block) const;
    friend bool operator==(const BlockRange&, const BlockRange&) = default;
};

enum class BlockState : std::uint8_t {
    claiming, // this node may be about to get it, or has got it without knowing: a request is or was on its way
    open,     // addresses are given from it, during the boot that it names
    closed,   // it goes back to the cluster
    earlier,  // the cluster says that it was this node's in an earlier boot, or by a lease file that is lost
    lost,     // the cluster says that it is another node's, or nobody's, and pods still have its addresses
};

struct Block {
    std::string space;
    base::IpPrefix prefix;
    base::IpPrefix range; // the subnet
    BlockState state = BlockState::claiming;
    std::string version;    // of the cluster's object, as this node knows it
    std::string node_uid;   // of the Node object that the cluster's object names
    std::string boot_id;    // as in the cluster's object
    std::int64_t since = 0; // seconds since boot: when it was claimed, opened, closed or became empty
    std::uint64_t leases = 0;
    std::string holder{}; // of a lost block: the node that has it; empty: none

    friend bool operator==(const Block&, const Block&) = default;
};

/// How long STATUS, and how long an ADD believes that the cluster has no block left for a claim.
inline constexpr std::chrono::seconds kFullFor{60};
inline constexpr std::chrono::seconds kFullForAdd{10};

class BlockFile final : public Store {
public:
    struct Options {
        std::string state_directory;
        std::string boot_id;
        /// As LeaseFile's: for a file made new.
        std::function<std::vector<Lease>()> known_leases;
        std::function<Time()> clock = system_time;
    };

    /// Whether files of these names were made as the same entry of the same directory: one of them is gone.
    [[nodiscard]] static bool are_of_one_place(std::string_view id, std::string_view other);

    explicit BlockFile(const Options& options);
    ~BlockFile() override;

    /// `Exhausted` also means that no open block has the wanted address.
    [[nodiscard]] ReserveOutcome reserve(const Owner& owner, const std::vector<Claim>& claims,
                                         const base::Deadline& deadline) override;
    /// Closes, in the same write, the blocks of one that only a request gets.
    std::vector<Lease> release(const OwnerKey& key, const base::Deadline& deadline) override;
    std::vector<Lease> withdraw(const OwnerKey& key, const std::vector<Lease>& unused,
                                const base::Deadline& deadline) override;
    std::vector<Lease> reclaim(const std::vector<Lease>& leases, const base::Deadline& deadline) override;
    std::vector<Lease> adopt(const std::vector<Lease>& leases, const Owner& heir,
                             const base::Deadline& deadline) override;
    /// Only in open blocks.
    [[nodiscard]] std::vector<Regained> regain(const std::vector<Lease>& leases,
                                               const base::Deadline& deadline) override;
    [[nodiscard]] std::vector<Lease> find(const OwnerKey& key, const base::Deadline& deadline) override;
    [[nodiscard]] std::vector<Lease> find_predecessors(const Owner& owner, const base::Deadline& deadline) override;
    [[nodiscard]] std::vector<Lease> list(const Claim& claim, const std::optional<base::IpAddress>& after,
                                          std::size_t most, const base::Deadline& deadline) override;
    [[nodiscard]] std::vector<Lease> list_all(const base::Deadline& deadline) override;
    /// In open blocks.
    [[nodiscard]] bool has_free(const Claim& claim, const base::Deadline& deadline) override;
    [[nodiscard]] Usage usage(const Claim& claim, const base::Deadline& deadline) override;
    [[nodiscard]] std::vector<Rival> find_rivals(const base::Deadline& deadline) override;

    /// The random name of this file, by which blocks in the cluster say who manages them. Makes the file.
    [[nodiscard]] std::string id(const base::Deadline& deadline);

    [[nodiscard]] std::vector<BlockRange> ranges(const base::Deadline& deadline);
    void put_range(const BlockRange& range, const base::Deadline& deadline);
    /// Forgets what the cluster had recorded, unless the node has blocks of the range.
    void forget_range(const BlockRange& range, const base::Deadline& deadline);
    /// Whether, in this boot, the cluster was asked which blocks the node had before.
    [[nodiscard]] bool has_looked(const std::string& kubeconfig, const std::string& node_name,
                                  const base::Deadline& deadline);
    /// Remembered as long as a range of that cluster is known.
    void set_looked(const std::string& kubeconfig, const std::string& node_name, const base::Deadline& deadline);
    /// The cluster has no block left that has a part of the claim. Later this may have changed. So it has when an
    /// address of the range is released here.
    void set_full(const Claim& claim, const base::Deadline& deadline);
    [[nodiscard]] bool is_full(const Claim& claim, std::chrono::seconds within, const base::Deadline& deadline);

    /// By space and address.
    [[nodiscard]] std::vector<Block> blocks(const base::Deadline& deadline);
    /// Writes down a block that is not open, unless it is known.
    void add(const Block& block, const base::Deadline& deadline);
    /// After the cluster's answer: addresses may be given from it.
    void open(const Block& block, const base::Deadline& deadline);
    /// What the cluster's object says by now. The state stays.
    void set_written(const Block& block, const base::Deadline& deadline);
    /// The cluster says that the open block is not this node's, but `holder`'s, or nobody's. Nothing more is given from
    /// it. What pods have of it stays leased; without them, the block is closed.
    void lose(const Block& block, const std::string& holder, const base::Deadline& deadline);
    /// The block is not this node's. One that is open or lost stays.
    void remove(const Block& block, const base::Deadline& deadline);

    /// Closes, of the empty blocks of each range, all but the one used last, if they are empty for that long. Returns
    /// whether any block is closed now.
    bool close_idle(std::chrono::seconds idle, const base::Deadline& deadline);

    /// Closes all empty blocks of the range, also the one used last.
    void close_empty(const BlockRange& range, const base::Deadline& deadline);

    /// Closes blocks of one that were for a request whose ADD was killed. The caller has made sure that no ADD has just
    /// got one.
    void close_abandoned(const base::Deadline& deadline);

    [[nodiscard]] Time now() const;
    /// As LeaseFile's.
    std::optional<std::string> repair(const base::Deadline& deadline);
    /// As LeaseFile's.
    [[nodiscard]] bool is_there() const;
    /// STATE_DIR/blocks
    [[nodiscard]] const std::string& path() const;

private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

} // namespace rdmanet::ipam
