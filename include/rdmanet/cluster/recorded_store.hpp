// Which store the cluster has recorded for ranges, for networks that do not name one.
#pragma once

#include <rdmanet/base/deadline.hpp>
#include <rdmanet/cluster/whereabouts_store.hpp>
#include <rdmanet/kube/api.hpp>

#include <optional>
#include <string>
#include <vector>

namespace rdmanet::cluster {

/// What one AddressRange says.
struct RecordedStore {
    Place place;
    std::string store;  // as the key "store" writes it
    std::string object; // its name
    std::string node{}; // that recorded it; may be empty
};

/// Those of `places` that the cluster has recorded. nullopt without the kind of objects, or without the right to read
/// them. One request for each space. Throws ipam::StoreError, also for one that an earlier version has half moved.
[[nodiscard]] std::optional<std::vector<RecordedStore>>
find_recorded_stores(kube::Api& api, const std::vector<Place>& places, const base::Deadline& deadline);

} // namespace rdmanet::cluster
