// What `rdmanet ipam reconcile` has done, for people and for programs.
#pragma once

#include <rdmanet/cluster/reconcile.hpp>

#include <string>

namespace rdmanet::ops {

/// All but `failure`.
[[nodiscard]] std::string to_text(const cluster::Reconciled& result, cluster::ReconcileOptions::Act act);
/// {"dryRun": false, "seen": {"namespace": "kube-system", "pools": 3, "blocks": null}, "freed": [...], "kept": [...],
/// "needed": 0, "foreign": 0, "unreadable": 0, "failure": "..."}
[[nodiscard]] std::string to_json(const cluster::Reconciled& result, cluster::ReconcileOptions::Act act);

} // namespace rdmanet::ops
