// The API server of a cluster, whose AddressRange objects record which store gives the addresses of a range.
#pragma once

#include <rdmanet/attach/node.hpp>
#include <rdmanet/base/boot_memory.hpp>
#include <rdmanet/base/deadline.hpp>
#include <rdmanet/cluster/whereabouts_store.hpp>
#include <rdmanet/http/client.hpp>
#include <rdmanet/ipam/config.hpp>

#include <optional>
#include <string>
#include <vector>

namespace rdmanet::attach {

/// What the server has recorded of one range.
struct RecordedRange {
    cluster::Place place;
    std::string store{};  // empty: nothing
    std::string object{}; // the AddressRange
    std::string node{};   // that recorded it

    /// Something is recorded, and this user or version cannot read it.
    [[nodiscard]] bool is_unreadable() const;
};
using RecordedRanges = std::vector<RecordedRange>;

/// Those of the network's ranges.
[[nodiscard]] std::vector<cluster::Place> places_of(const ipam::Config& network);

class RecordingServer {
public:
    RecordingServer(std::string kubeconfig, const ipam::StoreLimits& limits, const Node& node);

    /// What this node has remembered in this boot; nullopt if it does not know it of all places.
    [[nodiscard]] std::optional<RecordedRanges> remembered(const std::vector<cluster::Place>& places) const;
    /// Throws ipam::StoreError. This process asks a server that does not answer nothing more.
    [[nodiscard]] RecordedRanges ask(const std::vector<cluster::Place>& places, const base::Deadline& deadline) const;
    void remember(const RecordedRanges& ranges) const;
    void forget(const std::vector<cluster::Place>& places) const;

private:
    [[nodiscard]] base::BootMemory memory_of(const cluster::Place& place) const;

    std::string kubeconfig_;
    http::Limits limits_;
    const Node& node_;
};

} // namespace rdmanet::attach
