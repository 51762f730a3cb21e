// The tables of blocks.sqlite beyond those of leases: which ranges the cluster has recorded, and which blocks are this
// node's. The caller holds a transaction.
#pragma once

#include "database.hpp"

#include <rdmanet/ipam/store/block_file.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rdmanet::ipam {

/// Their SQL. The file's random name comes from SQLite, which gets it from the kernel.
extern const char* const kBlockTables;

class BlockTable {
public:
    BlockTable(Database& database, std::string boot_id, std::int64_t now)
        : database_(database), boot_id_(std::move(boot_id)), now_(now) {}

    [[nodiscard]] std::string file_id();

    [[nodiscard]] std::vector<BlockRange> ranges();
    /// The range that has the address.
    [[nodiscard]] std::optional<BlockRange> find_range(const std::string& space, const base::IpAddress& address);
    void put_range(const BlockRange& range);
    void forget_range(const BlockRange& range);
    [[nodiscard]] bool has_looked(const std::string& kubeconfig, const std::string& node_name);
    void set_looked(const std::string& kubeconfig, const std::string& node_name);
    void set_full(const Claim& claim);
    [[nodiscard]] bool is_full(const Claim& claim, std::int64_t within);

    [[nodiscard]] std::vector<Block> blocks();
    [[nodiscard]] std::vector<Block> lost();
    void add(const Block& block);
    void open(const Block& block);
    void set_written(const Block& block);
    void lose(const Block& block, const std::string& holder);
    [[nodiscard]] bool remove(const Block& block);
    bool close_idle(std::int64_t idle);
    void close_empty(const BlockRange& range);
    void close_abandoned();

    /// The part of `usable` that open blocks give without a request.
    [[nodiscard]] std::vector<Interval> open_part(const Claim& claim);
    /// Whether an open block has the address.
    [[nodiscard]] bool is_open(const std::string& space, const base::IpAddress& address);
    /// The address was released: closes its block if that was for one request, or notes since when it is empty.
    void note_release(const std::string& space, const base::IpAddress& address);

private:
    [[nodiscard]] bool has_held_table();
    [[nodiscard]] bool was_moving(const BlockRange& range);
    [[nodiscard]] Block block_in(Query& row);
    [[nodiscard]] std::uint64_t count_leases(const Block& block);
    void set_state(const Block& block, BlockState state);

    Database& database_;
    std::string boot_id_;
    std::int64_t now_;
};

} // namespace rdmanet::ipam
