#include "check.hpp"

#include <rdmanet/base/file.hpp>
#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/cluster/pools_store.hpp>

#include <algorithm>
#include <set>

namespace rdmanet::cluster {
namespace {

using ipam::StoreError;

constexpr std::size_t kMostNodesNamed = 5;

} // namespace

base::BootMemory CheckedPools::memory_of(const Place& place) const {
    return {directory_, boot_id_, "pool", fmt::format("{}\n{}\n{}", cluster_, place.space, place.subnet)};
}

std::string CheckedPools::find(const Place& place) const {
    return directory_.empty() ? "" : memory_of(place).find().value_or("");
}

void CheckedPools::note(const base::BootMemory& memory, const std::string& answer) const try {
    if (directory_.empty()) return;
    base::make_directories(directory_);
    memory.note(answer);
} catch (const base::Error&) { // then the next claim asks again
}

void CheckedPools::forget(const Place& place) const {
    if (!directory_.empty()) memory_of(place).forget();
}

base::BootMemory CheckedPools::memory_of_interfaces() const {
    return {directory_, boot_id_, "pool-interfaces", cluster_};
}

bool CheckedPools::has_interfaces() const {
    return !directory_.empty() && memory_of_interfaces().find().has_value();
}

bool knows_pool(const Place& place, const std::string& state_directory, const std::string& boot_id,
                const std::string& cluster) {
    return !CheckedPools(state_directory, boot_id, cluster).find(place).empty();
}

/// A range that is applied after this look finds the pool, and marks it. One that was there before is seen here,
/// because the pool was read first. The blocks are read after the ranges: whoever has cut one had a range then.
void PoolCheck::require_nobody_else(const Place& place, const base::Deadline& deadline) {
    const DeclaredRanges ranges = api_.list_ranges(From::etcd, deadline);
    if (const AddressRange* cover = find_cover(ranges, place)) {
        checked_.forget(place);
        throw RangeMoved(fmt::format("range {}: AddressRange {} covers it by now, so its addresses come from blocks: "
                                     "try again",
                                     place.subnet, cover->name));
    }
    const std::string network = network_of(place.space);
    if (const auto blocks = api_.list_other_blocks(network, place.subnet, {}, deadline); !blocks.empty()) {
        std::set<std::string> nodes;
        for (std::size_t at = 0; at < std::min(blocks.size(), kMostNodesNamed); ++at)
            if (const auto block = api_.find_block(object_name(network, blocks[at]), deadline))
                nodes.insert(block->node.name);
        throw StoreError(
            StoreError::Kind::permanent,
            fmt::format("range {}: {} of an AddressRange that is gone still {} addresses of it, on {} {}: apply that "
                        "range again, or delete the pods that have them and run `rdmanet gc` on each of these nodes",
                        place.subnet, base::counted(blocks.size(), "block", "blocks"),
                        blocks.size() == 1 ? "has" : "have", nodes.size() == 1 ? "node" : "nodes", base::join(nodes)));
    }
}

bool PoolCheck::may_use(const Place& place, const Pool& pool, const base::Deadline& deadline) {
    if (pool.mark.empty() && checked_.find(place) == pool.uid) return true;
    require_nobody_else(place, deadline);
    if (pool.mark.empty()) {
        require_interfaces(deadline);
        checked_.note(place, pool.uid);
        return true;
    }
    (void)api_.mark_pool({.name_space = name_space_, .name = pool_name(place)}, pool, {}, deadline);
    return false;
}

/// whereabouts' CustomResourceDefinitions before version 0.7 have no interface, so two interfaces of a pod look like
/// one.
void PoolCheck::require_interfaces(const base::Deadline& deadline) {
    if (checked_.has_interfaces()) return;
    if (!objects_.keeps_interfaces(deadline))
        throw StoreError(
            StoreError::Kind::permanent,
            "lease store: the API server drops the interfaces of records in IPPools, so two interfaces of a "
            "pod would get one address: its CustomResourceDefinitions are those of whereabouts 0.6 or older. "
            "Run `kubectl apply -f conf-examples/cluster-crds.yaml`");
    checked_.note_interfaces();
}

} // namespace rdmanet::cluster
