// `rdmanet ipam reconcile`: frees what pods and nodes that are gone have left in the cluster.
#pragma once

#include "lease_places.hpp"

#include <CLI/CLI.hpp>

namespace rdmanet::cmd {

struct ReconcileCommandOptions {
    bool dry_run = false;
    bool unknown_nodes_are_ready = false;
};

void add_reconcile_options(CLI::App& command, IpamOptions& places, ReconcileCommandOptions& options);

/// Returns the exit status. Throws base::Error if something ended the work, after the report.
int reconcile(const IpamOptions& places, const ReconcileCommandOptions& options);

} // namespace rdmanet::cmd
