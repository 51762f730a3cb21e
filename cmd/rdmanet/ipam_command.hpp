// `rdmanet ipam`: subcommands about the addresses of the node and of the cluster.
#pragma once

#include <rdmanet/ops/lease_places.hpp>

#include <CLI/CLI.hpp>

#include <functional>
#include <string>
#include <vector>

namespace rdmanet::cmd {

struct IpamOptions {
    std::string state_directory;
    bool json = false;
    std::string kubeconfig;   // instead of the one that the node's file names
    std::string name_space;   // of pools and reservations
    std::string network_file; // JSON or YAML, as for `rdmanet plan`
    std::string network;      // which NetworkAttachmentDefinition of several
};

/// --kubeconfig, --namespace
void add_cluster_options(CLI::App& command, IpamOptions& options);

/// --state-dir, --json, --kubeconfig, --namespace, --network, --name
void add_place_options(CLI::App& command, IpamOptions& options);

/// Neither a kubeconfig nor a pod's ServiceAccount leads to a cluster, also for who is not root.
[[nodiscard]] bool is_about_node_only(const IpamOptions& options);

/// The stores that the node's file (ipam::kNodeFile) and the network name. Throws base::Error.
[[nodiscard]] ops::LeasePlaces find_lease_places(const IpamOptions& options);

/// A subcommand of `rdmanet ipam`.
struct IpamVerb {
    CLI::App* command = nullptr;
    std::function<int()> run;  // with the exit status
    bool is_about_node = true; // reads what only root may read
};

// Each adds its subcommand. The options outlive it.
[[nodiscard]] IpamVerb add_ipam_show(CLI::App& ipam, IpamOptions& options);
[[nodiscard]] IpamVerb add_ipam_check(CLI::App& ipam, IpamOptions& options);
[[nodiscard]] IpamVerb add_ipam_release(CLI::App& ipam, IpamOptions& options);
[[nodiscard]] IpamVerb add_ipam_reconcile(CLI::App& ipam, IpamOptions& options);

class IpamCommand {
public:
    explicit IpamCommand(CLI::App& app);

    [[nodiscard]] bool parsed() const { return ipam_->parsed(); }
    /// The chosen subcommand. nullptr if there is none.
    [[nodiscard]] const IpamVerb* chosen() const;
    /// Throws base::Error for a user who may not read what the subcommand reads.
    void require_rights(const IpamVerb& verb) const;

private:
    CLI::App* ipam_;
    IpamOptions options_; // of all: only one is chosen
    std::vector<IpamVerb> verbs_;
};

} // namespace rdmanet::cmd
