// Where the leases of a network are kept, and what that place can't do. These are the keys that say it: a network has
// them in "ipam"; what it lacks is in a file of the node, whose top level has the same keys.
#pragma once

#include <rdmanet/ipam/config.hpp>
#include <rdmanet/json/reader.hpp>

#include <chrono>
#include <optional>
#include <string>

namespace rdmanet::ipam {

struct StoreKeys {
    /// A value, and where it was found: "ipam.store", or "FILE: store".
    struct Value {
        std::string text;
        std::string where;
    };
    std::optional<Value> store;
    std::optional<Value> kubernetes; // that there is such an object; no text
    std::optional<Value> kubeconfig;
    /// As far as that object has them.
    struct Limits {
        std::optional<std::chrono::milliseconds> connect{};
        std::optional<std::chrono::milliseconds> request{};
        std::optional<std::chrono::milliseconds> add{};
    };
    Limits of_kubernetes;
    std::optional<Value> node_name;
    std::optional<Value> slices;      // node_slice_size of the file
    std::string kubeconfig_of_node{}; // of kNodeFile, whatever the network names; empty: it names none
};

/// The keys of the network, and for each that it lacks, that of the file: `configuration_path`, else kNodeFile. Throws
/// json::ValueError, also for a file that the network names and that can't be read. `root` is where the node's "/" is
/// mounted, or empty; messages name files as the node does.
[[nodiscard]] StoreKeys read_store_keys(const json::Reader& ipam, const std::string& root = {});

/// The store of the network, by its keys and by the node's file (see kNodeFile). Throws json::ValueError. Adds to
/// `config.warnings`. `root` is where the node's "/" is mounted, or empty.
void choose_store(const json::Reader& ipam, const std::string& root, Config& config);

} // namespace rdmanet::ipam
