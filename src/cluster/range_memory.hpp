// What one node knows of the cluster's ranges until it boots, so that a warm ADD need not ask again.
#pragma once

#include <rdmanet/cluster/whereabouts_store.hpp>

#include <map>
#include <string>

namespace rdmanet::cluster {

/// The pools of which this node has seen that the cluster has their range for store "whereabouts". A pool that was
/// made anew has another UID. Files that can't be read or written count as empty.
class RangeMemory {
public:
    /// Without a state directory it ends with this object.
    explicit RangeMemory(std::string state_directory) : directory_(std::move(state_directory)) {}

    [[nodiscard]] bool knows(const Place& place, const std::string& pool_uid) const;
    void note(const Place& place, const std::string& pool_uid);

private:
    [[nodiscard]] std::string path_of(const Place& place) const;

    std::string directory_;
    std::map<std::string, std::string> known_; // UIDs by pool
};

} // namespace rdmanet::cluster
