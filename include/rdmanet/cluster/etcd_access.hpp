// How to reach the etcd that a configuration names.
#pragma once

#include <rdmanet/etcd/client.hpp>
#include <rdmanet/ipam/etcd_servers.hpp>

namespace rdmanet::cluster {

/// Reads the files that `servers` names. Throws etcd::Failure (permanent).
[[nodiscard]] etcd::Access read_etcd_access(const ipam::EtcdServers& servers);

} // namespace rdmanet::cluster
