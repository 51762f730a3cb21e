// The `ipam` object of a network configuration, with the keys of whereabouts, validated as a whole.
#pragma once

#include <rdmanet/base/dns.hpp>
#include <rdmanet/base/ip_address.hpp>
#include <rdmanet/base/route.hpp>
#include <rdmanet/ipam/node_file.hpp>
#include <rdmanet/ipam/range.hpp>
#include <rdmanet/json/known_keys.hpp>
#include <rdmanet/json/reader.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rdmanet::ipam {

using base::Dns;
using base::Route;

/// One element of the range list. An attachment gets one address of each.
struct ConfiguredRange {
    Range range;
    std::string space;                      // in which an address is given only once, see Lease
    std::optional<base::IpAddress> gateway; // of the range's family and inside its subnet
};

/// An address that the configuration itself sets.
struct StaticAddress {
    base::IpPrefix address;
    std::optional<base::IpAddress> gateway;
    std::string space;
};

/// Where leases are kept.
enum class StoreKind : std::uint8_t {
    node,    // in a file of the node: addresses are unique there
    cluster, // in pools or in blocks, as the AddressRanges of the cluster say; see settle_store()
    pools,   // in the Kubernetes API, as whereabouts keeps them: addresses are unique in the cluster
    blocks,  // blocks of addresses in the Kubernetes API, their leases on the node: the same, for large ranges
};

/// How long a store that the cluster shares may take.
struct StoreLimits {
    std::chrono::milliseconds connect{2000}; // to one server: its name, TCP and TLS
    std::chrono::milliseconds request{5000}; // one request with its answer
    std::chrono::milliseconds add{30'000};   // all that an ADD asks for
};

/// What whereabouts' pools have no place for in one network.
struct PoolsFit {
    std::optional<json::ValueError> fault{}; // the network can't use pools
    std::vector<std::string> warnings{};
};

struct StoreChoice {
    StoreKind kind = StoreKind::node;
    StoreLimits limits{};
    /// How the node reaches the cluster; empty: nothing names one. Where leases are on the node, its AddressRanges count
    /// all the same.
    std::string kubeconfig{};
    std::string kubeconfig_of_node{}; // as the node's file names it for all networks
    std::string node_name{};          // empty: the host's name
    PoolsFit in_pools{};
};

struct Config {
    StoreChoice store;
    std::vector<ConfiguredRange> ranges; // `range` first, then `ipRanges`
    std::vector<StaticAddress> addresses;
    // Only copied to the result.
    std::vector<Route> routes;
    Dns dns;
    std::chrono::seconds cooldown{30}; // how long a released address rests before it is given again

    /// Parts of the configuration that the allocator ignores, one sentence each.
    std::vector<std::string> warnings;
    json::UselessKeys useless_keys; // also in `warnings`
    /// An error for which no pod may get an address. Existing attachments are not affected.
    std::optional<json::ValueError> fault;
};

/// Throws json::ValueError with the path of the key for anything that cannot be meant. whereabouts finds most of
/// these errors only when it allocates, or never. What whereabouts silently ignores is also ignored here, with a
/// warning. Files of the node are read below `root`: empty, or where the node's "/" is mounted.
[[nodiscard]] Config parse_config(const json::Reader& ipam, const std::string& root = {});

/// The configuration of a network whose leases are in the cluster, when it is known whether in pools or in blocks.
/// Throws json::ValueError for what that has no place for.
[[nodiscard]] Config settle_store(Config config, StoreKind kind);

} // namespace rdmanet::ipam
