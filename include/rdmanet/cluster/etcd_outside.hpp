// Leases in etcd, for `rdmanet ipam migrate`.
#pragma once

#include <rdmanet/cluster/migrate.hpp>
#include <rdmanet/etcd/client.hpp>

#include <memory>
#include <string>

namespace rdmanet::cluster {

/// Asks nobody anything yet. `prefix` of all keys, without a slash at its end.
[[nodiscard]] std::unique_ptr<OutsideStore> make_etcd_outside(etcd::Client client, std::string prefix);

} // namespace rdmanet::cluster
