// What the keys have: leases, nodes, and where a pod's leases are.
#pragma once

#include <rdmanet/ipam/lease.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rdmanet::cluster {

/// A lease as it is in etcd.
struct StoredLease {
    ipam::Lease lease; // its owner as it is on the node that wrote it
    std::string machine_id;
    std::string node_name;
    std::int64_t revision = 0; // of its keys
};
[[nodiscard]] std::string to_text(const StoredLease& stored);
/// nullopt for a text that to_text() has not written.
[[nodiscard]] std::optional<StoredLease> parse_stored_lease(std::string_view text);

struct StoredNode {
    /// More are forgotten, the oldest first.
    static constexpr std::size_t kMostBoots = 32;

    std::string name;
    std::string boot_id;                // empty: a person has released what it had
    std::vector<std::string> earlier{}; // boots that were replaced, the latest first
    std::string returned{};             // one of them that came back, so that two machines have this key
};
[[nodiscard]] std::string to_text(const StoredNode& node);
[[nodiscard]] std::optional<StoredNode> parse_stored_node(std::string_view text);

/// Where the lease is, for one who knows the node only.
struct StoredPlace {
    std::string address_key;
    std::string owner_key;
    std::string boot_id;
};
[[nodiscard]] std::string to_text(const StoredPlace& place);
[[nodiscard]] std::optional<StoredPlace> parse_stored_place(std::string_view text);

} // namespace rdmanet::cluster
