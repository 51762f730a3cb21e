// One end of the test: a pod's interface, with the RDMA device, port and GID that carry its packets.
#pragma once

#include <rdmanet/base/ip_address.hpp>
#include <rdmanet/inventory/inventory.hpp>
#include <rdmanet/verify/check.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rdmanet::verify {

struct Endpoint {
    std::string node;    // host name
    std::string boot_id; // of the node's kernel, which tells nodes with equal names apart
    std::string pod;     // "default/web", or as else the namespace is known; "host", "net:[4026532241]"
    std::string netns;   // path that leads to its network namespace; empty for the caller's own
    std::uint64_t netns_inode = 0;
    std::string interface;
    unsigned ifindex = 0;
    std::optional<base::IpAddress> address; // nullopt for InfiniBand without an address
    std::string device;                     // RDMA device
    unsigned port = 0;                      // from 1
    bool is_infiniband = false;
    unsigned gid_index = 0;            // of the address, or of the InfiniBand port's GID
    std::optional<std::uint16_t> pkey; // InfiniBand: the partition, with the membership of the port
    std::uint16_t pkey_index = 0;      // in the table of the port
    unsigned mtu = 0;                  // bytes that a packet of RDMA carries; 0 until the test opens the port
    double rate = 0;                   // Gb/s of the port; 0 if the kernel does not say

    /// "default/web net1".
    [[nodiscard]] std::string to_string() const;
    /// True if both are the same interface.
    [[nodiscard]] bool is_same_as(const Endpoint& other) const;
};

struct EndpointChoice {
    /// "NAMESPACE/NAME", the path of a network namespace, or "." for the namespace of this process.
    std::string pod;
    std::string interface {}; // empty: the only one with RDMA
};

/// What was found, as far as it was found. If a check has failed, the endpoint cannot be used.
struct FoundEndpoint {
    Endpoint endpoint;
    std::vector<Check> checks;
};

/// Throws base::Error if the pod or the named interface does not exist, or if the choice is ambiguous.
[[nodiscard]] FoundEndpoint find_endpoint(const inventory::Inventory& inventory, const EndpointChoice& choice);

} // namespace rdmanet::verify
