// The ranges that the cluster has recorded, and which blocks are this node's: rows of a LeaseBook.
#pragma once

#include "lease_book.hpp"

#include <rdmanet/ipam/store/block_file.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rdmanet::ipam {

class BlockTable {
public:
    BlockTable(LeaseBook& book, std::string boot_id, std::int64_t now)
        : book_(book), boot_id_(std::move(boot_id)), now_(now) {}

    [[nodiscard]] std::vector<BlockRange> ranges() const;
    /// The range that has the address.
    [[nodiscard]] std::optional<BlockRange> find_range(const std::string& space, const base::IpAddress& address) const;
    void put_range(const BlockRange& range);
    void forget_range(const BlockRange& range);
    [[nodiscard]] bool has_looked(const std::string& kubeconfig, const std::string& node_name) const;
    void set_looked(const std::string& kubeconfig, const std::string& node_name);
    void set_full(const Claim& claim);
    [[nodiscard]] bool is_full(const Claim& claim, std::int64_t within) const;

    [[nodiscard]] std::vector<Block> blocks() const;
    [[nodiscard]] std::vector<Block> lost() const;
    void add(const Block& block);
    void open(const Block& block);
    void set_written(const Block& block);
    void lose(const Block& block, const std::string& holder);
    [[nodiscard]] bool remove(const Block& block);
    bool close_idle(std::int64_t idle);
    void close_empty(const BlockRange& range);
    void close_abandoned();

    /// The part of `usable` that open blocks give without a request.
    [[nodiscard]] std::vector<Interval> open_part(const Claim& claim) const;
    /// Whether an open block has the address.
    [[nodiscard]] bool is_open(const std::string& space, const base::IpAddress& address) const;
    /// The address was released: closes its block if that was for one request, or notes since when it is empty.
    void note_release(const std::string& space, const base::IpAddress& address);

private:
    [[nodiscard]] RangeRow* find_row(const std::string& space, const base::IpAddress& address) const;
    [[nodiscard]] Block* find(const Block& block) const;
    [[nodiscard]] std::uint64_t count_leases(const Block& block) const;
    [[nodiscard]] bool gives(const Block& block) const;
    void set_state(Block& block, BlockState state);

    LeaseBook& book_;
    std::string boot_id_;
    std::int64_t now_;
};

} // namespace rdmanet::ipam
