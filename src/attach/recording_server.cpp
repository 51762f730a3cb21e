#include "recording_server.hpp"

#include "clusters.hpp"
#include "etcd_leases.hpp"
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

RecordingServer::RecordingServer(state::LeaseStore where, std::string name, const Node& node)
    : where_(std::move(where)), name_(std::move(name)), node_(&node) {}

RecordingServer RecordingServer::api(const std::string& kubeconfig, const ipam::StoreLimits& limits, const Node& node) {
    return {lease_store_at({.limits = limits, .kubeconfig = kubeconfig}), kubeconfig, node};
}

RecordingServer RecordingServer::etcd(const ipam::EtcdServers& servers, const ipam::StoreLimits& limits,
                                      const Node& node) {
    state::LeaseStore where = lease_store_at({.kind = ipam::StoreKind::etcd, .limits = limits, .etcd = servers});
    std::string name = where.etcd;
    return {std::move(where), std::move(name), node};
}

base::BootMemory RecordingServer::memory_of(const cluster::Place& place) const {
    return {node_->state_directory, node_->boot_id, "range",
            fmt::format("{}\n{}\n{}", name_, place.space, place.subnet)};
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
    RecordedRanges ranges;
    for (const cluster::Place& place : places) ranges.push_back({.place = place});
    if (where_.etcd.empty())
        ask_api(ranges, deadline);
    else
        for (RecordedRange& range : ranges) ask_etcd(range, deadline);
    return ranges;
} catch (const ipam::StoreError& error) {
    if (error.unreachable()) node_->clusters->give_up(name_, error.what());
    throw;
}

void RecordingServer::ask_api(RecordedRanges& ranges, const base::Deadline& deadline) const {
    std::vector<cluster::Place> places;
    for (const RecordedRange& range : ranges) places.push_back(range.place);
    kube::Api& api = node_->clusters->connect(where_.kubeconfig, limits_of(where_), node_->log);
    const auto all = cluster::find_recorded_stores(api, places, deadline);
    for (RecordedRange& range : ranges) {
        if (!all) range.store = kUnreadable;
        for (const cluster::RecordedStore& recorded : all.value_or(std::vector<cluster::RecordedStore>{}))
            if (range.place == recorded.place) {
                range.store = recorded.store;
                range.object = recorded.object;
                range.node = recorded.node;
            }
    }
}

void RecordingServer::ask_etcd(RecordedRange& range, const base::Deadline& deadline) const {
    const cluster::EtcdRange::Record record = open_etcd_range(where_, range.place, *node_).read(deadline);
    range.store = record.store.empty() && record.revision != 0 ? kUnreadable : record.store;
}

} // namespace rdmanet::attach
