// The requests about AddressRanges, AddressBlocks, and the pools that a range overlaps.
#pragma once

#include "../pools/pool.hpp"
#include "../requests.hpp"
#include "objects.hpp"

#include <rdmanet/base/deadline.hpp>
#include <rdmanet/cluster/ranges.hpp>
#include <rdmanet/kube/api.hpp>

#include <optional>
#include <set>
#include <string>
#include <vector>

namespace rdmanet::cluster {

/// One of whereabouts' pools, in any namespace.
struct PoolName {
    std::string name_space;
    std::string name;
};

/// Each call throws ipam::StoreError.
class BlocksApi {
public:
    explicit BlocksApi(kube::Api& api);

    [[nodiscard]] DeclaredRanges list_ranges(From source, const base::Deadline& deadline);

    [[nodiscard]] std::optional<BlockObject> find_block(const std::string& name, const base::Deadline& deadline);
    /// Those that name the node, by its name. From memory: whatever is done with one tests its version.
    [[nodiscard]] std::vector<BlockObject> recall_blocks_of(const std::string& node, const base::Deadline& deadline);
    /// The names of those of the range, from memory: a hint for whoever looks for a free one.
    [[nodiscard]] std::set<std::string> recall_names(const std::string& range_uid, const base::Deadline& deadline);
    /// Blocks with addresses of the space and subnet, but for those of the ranges with these UIDs: what an earlier
    /// range has left. From etcd. None if the server does not know the kind.
    [[nodiscard]] std::vector<base::IpPrefix> list_other_blocks(const std::string& space, const base::IpPrefix& subnet,
                                                                std::vector<std::string> but_of_ranges,
                                                                const base::Deadline& deadline);
    [[nodiscard]] WriteOutcome create(const BlockObject& block, const base::Deadline& deadline);
    /// Writes all that the block says, if it is still as it was at `version`.
    [[nodiscard]] WriteOutcome write(const BlockObject& block, const std::string& version,
                                     const base::Deadline& deadline);
    /// The finalizer goes, then the object: both only if it is as it was at `version`. In between anybody may delete it.
    [[nodiscard]] WriteOutcome remove(const std::string& name, const std::string& uid, const std::string& version,
                                      const base::Deadline& deadline);

    /// The pools of all namespaces, from etcd. nullopt: the server does not know pools.
    [[nodiscard]] std::optional<std::vector<PoolName>> list_pools(const base::Deadline& deadline);
    /// Those whose names say that they have addresses of the subnet: those of the range's network, whole or cut into
    /// slices of nodes.
    [[nodiscard]] std::vector<PoolName> pools_with(std::vector<PoolName> pools, const std::string& space,
                                                   const base::IpPrefix& subnet, const base::Deadline& deadline);
    [[nodiscard]] std::optional<Pool> find_pool(const PoolName& name, const base::Deadline& deadline);
    /// Tests that the pool is as it was read. An empty mark takes the present one away.
    [[nodiscard]] WriteOutcome mark_pool(const PoolName& name, const Pool& pool, const std::string& mark,
                                         const base::Deadline& deadline);

    [[nodiscard]] std::optional<NodeObject> find_node(const std::string& name, From source,
                                                      const base::Deadline& deadline);
    [[nodiscard]] std::optional<std::int64_t> date() const { return requests_.date(); }
    [[nodiscard]] std::string server() const { return requests_.server(); }

private:
    Requests requests_;
};

} // namespace rdmanet::cluster
