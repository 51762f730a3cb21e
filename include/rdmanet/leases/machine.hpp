// Who this machine is, for stores that nodes share.
#pragma once

#include <string>

namespace rdmanet::leases {

/// Throws ipam::StoreError if it has none.
[[nodiscard]] std::string read_machine_id();

/// The same; empty if it has none.
[[nodiscard]] std::string machine_id_or_none();

/// Throws ipam::StoreError if it has none.
[[nodiscard]] std::string host_name();

/// Of this node's Node object: as configured, or else as kubelet makes it of the host's name (kubernetes,
/// pkg/util/node, GetHostname()).
[[nodiscard]] std::string node_name_or_host(const std::string& configured);

} // namespace rdmanet::leases
