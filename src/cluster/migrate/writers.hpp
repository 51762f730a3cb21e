// Whether whereabouts itself still gives addresses of a range. It knows no marks, and would give what another store has
// given.
#pragma once

#include <rdmanet/base/deadline.hpp>
#include <rdmanet/cluster/migrate.hpp>
#include <rdmanet/kube/api.hpp>

namespace rdmanet::cluster {

/// Throws ipam::StoreError with what to wait for: networks that whereabouts serves, and records that appear while this
/// looks.
void require_no_whereabouts(kube::Api& api, const MigrateOptions& options, const std::vector<Place>& places,
                            const base::Deadline& deadline);

} // namespace rdmanet::cluster
