#include "recording_server.hpp"

#include "clusters.hpp"
#include "shared_leases.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/cluster/recorded_store.hpp>
#include <rdmanet/ipam/errors.hpp>

#include <sstream>
#include <utility>

namespace rdmanet::attach {
namespace {

constexpr const char* kUnreadable = "?"; // RecordedRange::store

} // namespace

bool RecordedRange::is_unreadable() const {
    return store == kUnreadable;
}

std::vector<cluster::Place> places_of(const ipam::Config& network) {
    std::vector<cluster::Place> places;
    for (const ipam::ConfiguredRange& range : network.ranges) {
        const base::IpPrefix& subnet = range.range.subnet();
        places.push_back(
            {.space = range.space, .subnet = base::IpPrefix::make(subnet.network(), subnet.length()).value()});
    }
    return places;
}

RecordingServer::RecordingServer(std::string kubeconfig, const ipam::StoreLimits& limits, const Node& node)
    : kubeconfig_(std::move(kubeconfig)), limits_{.connect = limits.connect, .request = limits.request}, node_(node) {}

base::BootMemory RecordingServer::memory_of(const cluster::Place& place) const {
    return {node_.state_directory, node_.boot_id, "range",
            fmt::format("{}\n{}\n{}", kubeconfig_, place.space, place.subnet)};
}

std::optional<RecordedRanges> RecordingServer::remembered(const std::vector<cluster::Place>& places) const {
    RecordedRanges ranges;
    for (const cluster::Place& place : places) {
        const auto text = memory_of(place).find();
        if (!text) return std::nullopt;
        RecordedRange range{.place = place};
        std::istringstream lines(*text);
        std::getline(lines, range.store);
        std::getline(lines, range.object);
        std::getline(lines, range.node);
        ranges.push_back(std::move(range));
    }
    return ranges;
}

void RecordingServer::remember(const RecordedRanges& ranges) const {
    for (const RecordedRange& range : ranges)
        memory_of(range.place).note(fmt::format("{}\n{}\n{}", range.store, range.object, range.node));
}

void RecordingServer::forget(const std::vector<cluster::Place>& places) const {
    for (const cluster::Place& place : places) memory_of(place).forget();
}

RecordedRanges RecordingServer::ask(const std::vector<cluster::Place>& places, const base::Deadline& deadline) const
    try {
    kube::Api& api = node_.clusters->connect(kubeconfig_, limits_, node_.log);
    const auto all = cluster::find_recorded_stores(api, places, deadline);
    RecordedRanges ranges;
    for (const cluster::Place& place : places) {
        RecordedRange& range = ranges.emplace_back(RecordedRange{.place = place});
        if (!all) range.store = kUnreadable;
        for (const cluster::RecordedStore& recorded : all.value_or(std::vector<cluster::RecordedStore>{}))
            if (place == recorded.place) {
                range.store = recorded.store;
                range.object = recorded.object;
                range.node = recorded.node;
            }
    }
    return ranges;
} catch (const ipam::StoreError& error) {
    if (error.unreachable()) node_.clusters->give_up(kubeconfig_, error.what());
    throw;
}

} // namespace rdmanet::attach
