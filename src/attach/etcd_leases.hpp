#pragma once

#include <rdmanet/attach/node.hpp>
#include <rdmanet/cluster/etcd_range.hpp>
#include <rdmanet/ipam/etcd_servers.hpp>
#include <rdmanet/ipam/store.hpp>
#include <rdmanet/state/attachment_record.hpp>

#include <functional>
#include <memory>

namespace rdmanet::attach {

/// How to reach it. Throws ipam::StoreError if the journal's record cannot be read.
[[nodiscard]] ipam::EtcdServers servers_in(const state::LeaseStore& where);

/// Leases in etcd, as this node uses them. Reads the files that say how to reach it, and asks nobody anything. Throws
/// ipam::StoreError.
[[nodiscard]] std::unique_ptr<ipam::Store> open_etcd(const state::LeaseStore& where, const Node& node,
                                                     std::function<void(const ipam::Lease&)> before_claim);

/// What etcd has recorded of a range there. Throws ipam::StoreError.
[[nodiscard]] cluster::EtcdRange open_etcd_range(const state::LeaseStore& where, const cluster::Place& place,
                                                 const Node& node);

} // namespace rdmanet::attach
