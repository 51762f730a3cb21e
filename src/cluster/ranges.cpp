#include <rdmanet/cluster/ranges.hpp>

#include "blocks/blocks_api.hpp"
#include "requests.hpp"

#include <rdmanet/base/boot_memory.hpp>
#include <rdmanet/base/format.hpp>
#include <rdmanet/cluster/pools_store.hpp>

#include <algorithm>

namespace rdmanet::cluster {

const AddressRange* find_cover(const DeclaredRanges& ranges, const Place& place) {
    std::vector<const AddressRange*> some; // that have addresses of it, and those that have all first
    for (const AddressRange& range : ranges.declared)
        if (range.space == network_of(place.space) && overlap(range.subnet, place.subnet))
            some.insert(covers(range.subnet, place.subnet) ? some.begin() : some.end(), &range);
    if (some.empty()) return nullptr;
    const AddressRange& first = *some.front();
    if (!covers(first.subnet, place.subnet))
        throw ipam::StoreError(ipam::StoreError::Kind::permanent,
                               fmt::format("AddressRange {} ({}) has only a part of range {}: declare all of it, or "
                                           "give the network a range that lies in it",
                                           first.name, first.subnet, place.subnet));
    if (some.size() > 1)
        throw ipam::StoreError(
            ipam::StoreError::Kind::permanent,
            fmt::format("AddressRanges {} ({}) and {} ({}) overlap, and both have addresses of range "
                        "{}: delete one of them",
                        first.name, first.subnet, some[1]->name, some[1]->subnet, place.subnet));
    return &first;
}

DeclaredRanges recall_ranges(kube::Api& api, const base::Deadline& deadline) {
    return BlocksApi(api).list_ranges(From::memory, deadline);
}

DeclaredRanges read_ranges(kube::Api& api, const base::Deadline& deadline) {
    return BlocksApi(api).list_ranges(From::etcd, deadline);
}

std::string cluster_uid(kube::Api& api, const base::Deadline& deadline) {
    constexpr const char* kPath = "/api/v1/namespaces/kube-system";
    constexpr const char* kFix = "name another server in the kubeconfig";
    const auto uid = Requests(api, kFix).find_parsed(
        kPath, deadline, [](const json::Reader& object) { return object.at("metadata").at("uid").string(); });
    if (uid) return *uid;
    throw ipam::StoreError(ipam::StoreError::Kind::permanent,
                           fmt::format("{} has no namespace kube-system, which tells clusters apart", api.server()));
}

Keeper find_keeper(const std::vector<Place>& places, const std::vector<ipam::BlockRange>& known,
                   const NodeMemory& memory, const std::function<kube::Api&()>& api, const base::Deadline& deadline,
                   std::optional<DeclaredRanges>* recalled) {
    const auto has_blocks = [&](const Place& place) {
        return std::ranges::any_of(known, [&](const ipam::BlockRange& range) {
            return !range.is_gone && range.kubeconfig == memory.kubeconfig && range.space == network_of(place.space) &&
                   covers(range.subnet, place.subnet);
        });
    };
    const auto has_pool = [&](const Place& place) {
        return knows_pool(place, memory.state_directory, memory.boot_id, memory.kubeconfig);
    };
    if (std::ranges::all_of(places, has_blocks)) return Keeper::blocks;
    std::string question = memory.kubeconfig; // each network looks for itself
    for (const Place& place : places) question += fmt::format("\n{}\n{}", place.space, place.subnet);
    const base::BootMemory looked(memory.state_directory, memory.boot_id, "declared", question);
    // A pool that no node has marked yet says nothing of a range that was declared after the node began to use it.
    if (std::ranges::all_of(places, has_pool) && looked.was_noted_within(ipam::kFreshFor, ipam::system_time().boot))
        return Keeper::pools;
    const DeclaredRanges ranges = recall_ranges(api(), deadline);
    looked.note_time(ipam::system_time().boot);
    if (recalled != nullptr) *recalled = ranges;
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
