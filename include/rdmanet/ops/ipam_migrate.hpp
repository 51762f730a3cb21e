// `rdmanet ipam migrate`: what it prints.
#pragma once

#include <rdmanet/attach/move_leases.hpp>
#include <rdmanet/cluster/migrate.hpp>

#include <string>
#include <vector>

namespace rdmanet::ops {

// `leases` are those that were in this node's own store, or that went into it.
[[nodiscard]] std::string to_text(const std::vector<cluster::MigratedRange>& ranges,
                                  const std::vector<attach::LeaseMove>& leases, const cluster::MigrateOptions& options);
[[nodiscard]] std::string to_json(const std::vector<cluster::MigratedRange>& ranges,
                                  const std::vector<attach::LeaseMove>& leases, const cluster::MigrateOptions& options);

} // namespace rdmanet::ops
