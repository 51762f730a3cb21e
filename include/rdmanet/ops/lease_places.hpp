// Which lease stores `rdmanet ipam` looks at.
#pragma once

#include <rdmanet/base/ip_address.hpp>
#include <rdmanet/ipam/config.hpp>

#include <optional>
#include <string>

namespace rdmanet::ops {

struct LeasePlaces {
    /// Of this node's own leases; empty: this is no node, and they are left out.
    std::string state_directory;
    std::string kubeconfig; // empty: no cluster
    std::string name_space; // of pools and reservations; empty: as the kubeconfig says
    std::string node_name;  // of this node in blocks; empty: the host's name
    /// Only the ranges of this network. nullopt: all that the stores have.
    std::optional<ipam::Config> network;

    [[nodiscard]] bool includes(const std::string& space, const base::IpAddress& address) const;
    /// Whether a part of the subnet is in one of the network's ranges.
    [[nodiscard]] bool includes(const std::string& space, const base::IpPrefix& subnet) const;
};

} // namespace rdmanet::ops
