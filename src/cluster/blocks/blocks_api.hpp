// The requests of the store "blocks". Each write names what it expects to find.
#pragma once

#include "objects.hpp"

#include "../requests.hpp"

#include <rdmanet/base/deadline.hpp>
#include <rdmanet/ipam/errors.hpp>
#include <rdmanet/kube/api.hpp>

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace rdmanet::cluster {

/// One of whereabouts' pools, without who has its addresses.
struct PoolHead {
    std::string name;
    std::string mark; // see kStoreOfPool
    std::string version;
    bool has_annotations = false;
    std::size_t records = 0; // not in a list
};

/// Throws ipam::StoreError for what the server refuses, and for a server that does not answer a read. Reads that decide
/// something come from etcd itself.
class BlocksApi {
public:
    explicit BlocksApi(kube::Api& api) : requests_(api, "install rdmanet's CustomResourceDefinitions") {}

    [[nodiscard]] std::optional<RangeObject> find_range(const std::string& name, const base::Deadline& deadline);
    /// As the server has it in its memory, which may be out of date.
    [[nodiscard]] std::optional<RangeObject> recall_range(const std::string& name, const base::Deadline& deadline);
    [[nodiscard]] std::vector<RangeObject> list_ranges(const std::string& space, const base::Deadline& deadline);
    /// Of all spaces, without what is no AddressRange.
    [[nodiscard]] std::vector<RangeObject> list_all_ranges(const base::Deadline& deadline);
    /// Whether AddressRanges exist at all, which every user may ask.
    [[nodiscard]] bool knows_ranges(const base::Deadline& deadline);
    [[nodiscard]] WriteOutcome create(const RangeObject& range, const base::Deadline& deadline);
    /// Writes spec and finalizer.
    [[nodiscard]] WriteOutcome confirm(const RangeObject& range, const base::Deadline& deadline);
    [[nodiscard]] WriteOutcome remove(const RangeObject& range, const base::Deadline& deadline);
    /// Takes the finalizer away.
    [[nodiscard]] WriteOutcome let_go(const RangeObject& range, const base::Deadline& deadline);

    [[nodiscard]] std::optional<BlockObject> find_block(const std::string& name, const base::Deadline& deadline);
    [[nodiscard]] std::vector<BlockObject> list_blocks(const std::string& space, const base::IpPrefix& range,
                                                       const base::Deadline& deadline);
    /// Those that name the node, by its name, in all ranges.
    [[nodiscard]] std::vector<BlockObject> list_blocks_of(const std::string& node, const base::Deadline& deadline);
    /// A hint. `most` is how many there may be: if that is not much, the server answers from its memory.
    [[nodiscard]] std::set<std::string> list_block_names(const std::string& space, const base::IpPrefix& range,
                                                         base::Uint128 most, const base::Deadline& deadline);
    /// As etcd has them.
    [[nodiscard]] bool has_blocks(const RangeObject& range, const base::Deadline& deadline);
    /// Blocks that have addresses of the range and are not what it is cut into; of any store. As etcd has them.
    [[nodiscard]] std::vector<std::string> list_foreign_blocks(const RangeObject& range,
                                                               const base::Deadline& deadline);
    [[nodiscard]] WriteOutcome create(const BlockObject& block, const base::Deadline& deadline);
    enum class Finalizer : std::uint8_t { kept, gone };
    /// Writes all that the block says, if it is still as it was at `version`.
    [[nodiscard]] WriteOutcome write(const BlockObject& block, const std::string& version, Finalizer finalizer,
                                     const base::Deadline& deadline);
    [[nodiscard]] WriteOutcome remove(const BlockObject& block, const std::string& version,
                                      const base::Deadline& deadline);

    /// whereabouts' pools. None if the server does not know pools.
    [[nodiscard]] std::vector<PoolHead> list_pools(const base::Deadline& deadline);
    [[nodiscard]] std::optional<PoolHead> find_pool(const std::string& name, const base::Deadline& deadline);
    [[nodiscard]] const std::string& name_space() const;
    /// A pool from which store "whereabouts" gives nothing.
    [[nodiscard]] WriteOutcome create_marked_pool(const std::string& space, const base::IpPrefix& subnet,
                                                  const std::string& mark, const base::Deadline& deadline);
    /// Empty: its mark goes. Tests that the pool is as it was read.
    [[nodiscard]] WriteOutcome mark_pool(const PoolHead& pool, const std::string& mark, const base::Deadline& deadline);

    [[nodiscard]] std::optional<NodeObject> find_node(const std::string& name, const base::Deadline& deadline);
    /// The same from the server's memory, which may be a moment old.
    [[nodiscard]] std::optional<NodeObject> recall_node(const std::string& name, const base::Deadline& deadline);
    [[nodiscard]] std::set<std::string> list_node_names(const base::Deadline& deadline);
    [[nodiscard]] std::set<std::string> list_node_uids(const base::Deadline& deadline);
    /// What nodes report. Reads all of each Node object, which may have 50 KB.
    [[nodiscard]] std::set<std::string> list_boot_ids(const base::Deadline& deadline);

    /// The server's clock at its last answer, seconds since the epoch.
    [[nodiscard]] std::optional<std::int64_t> date() const { return requests_.date(); }

private:
    [[nodiscard]] std::string path_of_pools() const;
    [[nodiscard]] std::set<std::string> list_block_names_by(const std::string& labels, From source,
                                                            const base::Deadline& deadline);
    [[nodiscard]] std::set<std::string> list_of_nodes(std::string_view member, const base::Deadline& deadline);
    [[nodiscard]] std::vector<BlockObject> list_blocks_by(const std::string& labels, const base::Deadline& deadline);

    Requests requests_;
};

} // namespace rdmanet::cluster
