#include <rdmanet/cluster/ranges.hpp>

#include "blocks/blocks_api.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/cluster/pools_store.hpp>

#include <algorithm>

namespace rdmanet::cluster {

std::string network_of(const std::string& space) {
    return space.substr(0, space.find('@'));
}

bool overlap(const base::IpPrefix& a, const base::IpPrefix& b) {
    return a.contains(b.network()) || b.contains(a.network());
}

const AddressRange* find_cover(const DeclaredRanges& ranges, const Place& place) {
    const AddressRange* found = nullptr;
    for (const AddressRange& range : ranges.declared) {
        if (range.space != network_of(place.space) || !overlap(range.subnet, place.subnet)) continue;
        if (!range.subnet.contains(place.subnet.network()) || !range.subnet.contains(place.subnet.last()))
            throw ipam::StoreError(ipam::StoreError::Kind::permanent,
                                   fmt::format("AddressRange {} ({}) has only a part of range {}: declare all of it, "
                                               "or give the network a range that lies in it",
                                               range.name, range.subnet, place.subnet));
        if (found != nullptr)
            throw ipam::StoreError(ipam::StoreError::Kind::permanent,
                                   fmt::format("AddressRanges {} ({}) and {} ({}) overlap, and both have range {}: "
                                               "delete one of them",
                                               found->name, found->subnet, range.name, range.subnet, place.subnet));
        found = &range;
    }
    return found;
}

DeclaredRanges recall_ranges(kube::Api& api, const base::Deadline& deadline) {
    return BlocksApi(api).list_ranges(From::memory, deadline);
}

Keeper find_keeper(const std::vector<Place>& places, const std::vector<ipam::BlockRange>& known,
                   const NodeMemory& memory, const std::function<kube::Api&()>& api, const base::Deadline& deadline) {
    const auto has_blocks = [&](const Place& place) {
        return std::any_of(known.begin(), known.end(), [&](const ipam::BlockRange& range) {
            return !range.is_gone && range.kubeconfig == memory.kubeconfig && range.space == network_of(place.space) &&
                   range.subnet.contains(place.subnet.network()) && range.subnet.contains(place.subnet.last());
        });
    };
    const auto has_pool = [&](const Place& place) {
        return knows_pool(place, memory.state_directory, memory.boot_id, memory.kubeconfig);
    };
    if (std::all_of(places.begin(), places.end(), has_blocks)) return Keeper::blocks;
    if (std::all_of(places.begin(), places.end(), has_pool)) return Keeper::pools;
    const DeclaredRanges ranges = recall_ranges(api(), deadline);
    const Place* without = nullptr;
    const AddressRange* cover = nullptr;
    for (const Place& place : places) {
        const AddressRange* const its = find_cover(ranges, place);
        if (its == nullptr)
            without = &place;
        else
            cover = its;
    }
    if (cover != nullptr && without != nullptr)
        throw ipam::StoreError(ipam::StoreError::Kind::permanent,
                               fmt::format("AddressRange {} has one of the network's ranges, and none has range {}: "
                                           "declare all ranges of a network, or none",
                                           cover->name, without->subnet));
    return cover != nullptr ? Keeper::blocks : Keeper::pools;
}

} // namespace rdmanet::cluster
