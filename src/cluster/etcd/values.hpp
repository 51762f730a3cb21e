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

/// Instead of a lease, at an address that another store still has.
struct StoredHold {
    std::string holder; // for people
};
[[nodiscard]] std::string to_text(const StoredHold& hold);
[[nodiscard]] std::optional<StoredHold> parse_stored_hold(std::string_view text);

/// Which store gives the addresses of a range: one of the names of the key "store".
inline constexpr const char* kInEtcd = "etcd";
/// At the end of the store that the range comes from, until etcd knows which addresses that one still has.
inline constexpr std::string_view kToEtcd = ">etcd";
/// Always the same text for the same store: claims compare it.
[[nodiscard]] std::string text_of_range(std::string_view store);
/// Empty for a text that text_of_range() has not written.
[[nodiscard]] std::string store_of_range(std::string_view text);

} // namespace rdmanet::cluster
