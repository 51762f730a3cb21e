// The `ipam` object of a network configuration, with the keys of whereabouts, validated as a whole.
#pragma once

#include <rdmanet/base/dns.hpp>
#include <rdmanet/base/ip_address.hpp>
#include <rdmanet/base/route.hpp>
#include <rdmanet/ipam/range.hpp>
#include <rdmanet/json/known_keys.hpp>
#include <rdmanet/json/reader.hpp>

#include <chrono>
#include <cstdint>
#include <map>
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
    node,        // on the node itself: addresses are unique there
    whereabouts, // in the Kubernetes API, as whereabouts keeps them: addresses are unique in the cluster
    blocks,      // blocks of addresses in the Kubernetes API, their leases on the node: the same, for large ranges
};
/// As the key "store" writes it.
[[nodiscard]] std::string_view to_string(StoreKind kind);

/// How long a store that the cluster shares may take.
struct StoreLimits {
    std::chrono::milliseconds connect{2000}; // to one server: its name, TCP and TLS
    std::chrono::milliseconds request{5000}; // one request with its answer
    std::chrono::milliseconds add{30'000};   // all that an ADD asks for
};

/// What a store has no place for in one network.
struct StoreFit {
    std::optional<json::ValueError> fault{}; // the network can't use the store
    std::vector<std::string> warnings{};
};

struct StoreChoice {
    StoreKind kind = StoreKind::node;
    StoreLimits limits{};
    std::string kubeconfig; // of whereabouts and blocks
    /// Of node, where the network or its node names a cluster: what that has recorded counts, too.
    std::string other_kubeconfig{};
    std::string node_name{}; // of whereabouts and blocks; empty: the host's name
    std::string why{};       // "chosen by ..."; empty: nothing says anything of stores
    /// Of a network that names no store: for each store that the cluster may have recorded for its ranges. Until that is
    /// known, `kind` is what fits the size of the ranges. See settle_store().
    std::map<StoreKind, StoreFit> open_to{};

    // Of blocks.
    std::optional<unsigned> block_size{};
    std::vector<base::IpPrefix> requestable{}; // parts of ranges that only requests get
};

/// Keys of a node for all of its networks: where leases are kept, and how to reach that place.
inline constexpr const char* kNodeFile = "/etc/cni/net.d/rdmanet.d/rdmanet.conf";

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

/// The configuration of a network that names no store, with the one that it uses. `warnings` are those of the store
/// alone. Throws json::ValueError for what that store has no place for.
[[nodiscard]] Config settle_store(Config config, StoreKind kind, std::string why);

} // namespace rdmanet::ipam
