#pragma once

#include <rdmanet/attach/node.hpp>
#include <rdmanet/ipam/store.hpp>
#include <rdmanet/state/attachment_record.hpp>

#include <functional>
#include <memory>

namespace rdmanet::attach {

/// Leases in etcd, as this node uses them. Reads the files that say how to reach it, and asks nobody anything. Throws
/// ipam::StoreError.
[[nodiscard]] std::unique_ptr<ipam::Store> open_etcd(const state::LeaseStore& where, const Node& node,
                                                     std::function<void(const ipam::Lease&)> before_claim);

} // namespace rdmanet::attach
