// `rdmanet ipam`: subcommands about the addresses of the node and of the cluster.
#pragma once

#include "lease_places.hpp"

#include <CLI/CLI.hpp>

#include <functional>
#include <string>
#include <vector>

namespace rdmanet::cmd {

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
