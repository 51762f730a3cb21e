// Whether whereabouts itself still gives addresses of a range. It knows no marks, and would give what another store has
// given.
#pragma once

#include <rdmanet/base/deadline.hpp>
#include <rdmanet/cluster/migrate.hpp>
#include <rdmanet/kube/api.hpp>

#include <string>
#include <vector>

namespace rdmanet::cluster {

/// Throws ipam::StoreError with what to wait for: networks that whereabouts serves, and records that appear while this
/// looks.
void require_no_whereabouts(kube::Api& api, const MigrateOptions& options, const std::vector<Place>& places,
                            const base::Deadline& deadline);

/// Whether a network's configuration or list has addresses of one of the places from whereabouts itself.
[[nodiscard]] bool is_served_by_whereabouts(const std::string& configuration, const std::vector<Place>& places);

} // namespace rdmanet::cluster
