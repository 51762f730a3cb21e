// What the subcommands of `rdmanet ipam` have in common: which lease stores they look at.
#pragma once

#include <rdmanet/ops/lease_places.hpp>

#include <CLI/CLI.hpp>

#include <string>

namespace rdmanet::cmd {

struct IpamOptions {
    std::string state_directory;
    bool json = false;
    std::string kubeconfig;   // instead of the one that the node's file names
    std::string name_space;   // of pools and reservations
    std::string network_file; // JSON or YAML, as for `rdmanet plan`
    std::string network;      // which NetworkAttachmentDefinition of several
};

/// --namespace
void add_namespace_option(CLI::App& command, IpamOptions& options);

/// --state-dir, --json, --kubeconfig, --namespace, --network, --name
void add_place_options(CLI::App& command, IpamOptions& options);

/// Neither a kubeconfig nor a pod's ServiceAccount leads to a cluster, also for who is not root.
[[nodiscard]] bool is_about_node_only(const IpamOptions& options);

/// The stores that the node's file (ipam::kNodeFile) and the network name. Throws base::Error.
[[nodiscard]] ops::LeasePlaces find_lease_places(const IpamOptions& options);

} // namespace rdmanet::cmd
