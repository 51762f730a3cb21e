#include "own_leases.hpp"

#include "moved_ranges.hpp"

#include "owners/liveness.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/ipam/allocator.hpp>
#include <rdmanet/ipam/errors.hpp>

#include <unistd.h>

namespace rdmanet::attach {

std::optional<RangeOnNode> find_range_on_node(const ipam::Config& network, ipam::SqliteStore& on_node, const Node& node,
                                              const base::Deadline& deadline) {
    // Without the file nothing was given from it, and every record of the journal would have to be read to say so.
    if (::access(on_node.path().c_str(), F_OK) != 0) return std::nullopt;
    PodProbe pods(node);
    ipam::Allocator allocator(on_node, pods);
    for (const ipam::ConfiguredRange& range : network.ranges)
        if (const auto leases = allocator.usage(range, deadline).leases; leases != 0)
            return RangeOnNode{.range = range.range, .leases = base::counted(leases, "lease", "leases")};
    return std::nullopt;
}

void require_in_one_store(const ipam::Config& network, ipam::SqliteStore& on_node, const Node& node,
                          const base::Deadline& deadline) {
    if (network.store.kind == ipam::StoreKind::node) {
        if (const auto moved = MovedRanges(node).find(network)) throw moved->refusal();
        return;
    }
    if (const auto known = find_range_on_node(network, on_node, node, deadline))
        throw ipam::StoreError(
            ipam::StoreError::Kind::permanent,
            fmt::format("range {} has {} in the store of this node, and the cluster's store does not know them: run "
                        "`rdmanet ipam migrate --to {} --network FILE` on this node, or set \"store\": \"node\"",
                        known->range, known->leases, network.store.kind));
}

} // namespace rdmanet::attach
