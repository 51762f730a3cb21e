// Calls of a pod whose network has its addresses in the cluster of cluster_stage.hpp.
#pragma once

#include "attachment_stage.hpp"
#include "cluster_stage.hpp"

#include "support/concat.hpp"
#include "support/lease_lines.hpp"
#include "support/patience.hpp"
#include "support/process.hpp"

#include <stdexcept>
#include <string>

namespace rdmanet::test {

/// A kubeconfig for the cluster's server with other words in it.
inline std::string kubeconfig(const std::string& what = "", const std::string& by = "",
                              const std::string& user = "rdmanet") {
    const std::string content = read_file(cluster() + "/" + user + ".kubeconfig");
    if (what.empty()) return content;
    const std::string changed = replaced(content, what, by);
    if (changed == content) throw std::runtime_error("kubeconfig has no " + what);
    return changed;
}

struct NodeKubeconfig {
    NodeKubeconfig() { use_cluster_as("rdmanet"); }
};

/// A stage with the kubeconfig file of a node.
struct ClusterStage : NodeKubeconfig, CheckedStage {};

/// Members of `ipam` by which the addresses are in the cluster. `more`: of "kubernetes".
inline std::string in_cluster(const std::string& more = "") {
    return concat("'kubernetes':{'kubeconfig':'", kKubeconfig, "',", kLongLimits, more, "}");
}

/// An attachment of a pod whose network has its addresses in the cluster. What it gave back is given again.
inline PluginCall call_in_cluster(const Pod& pod, const std::string& range, const std::string& more = "") {
    PluginCall call = call_for(pod, concat("'master':'par0',", ipam(range, in_cluster(more))));
    call.args = "IgnoreUnknown=1;K8S_POD_NAMESPACE=shop;K8S_POD_NAME=till;K8S_POD_UID=uid-1";
    return call;
}

/// Another pod's attachment to the same network, or the same pod's second one.
inline PluginCall beside(const PluginCall& call, const std::string& container = "c2",
                         const std::string& ifname = "net2") {
    PluginCall other = of(call, container);
    other.ifname = ifname;
    return other;
}

/// For a server that never answers.
inline PluginCall impatient(PluginCall call, unsigned limit_ms = 1000) {
    call.config = replaced(call.config, json_text(kLongLimits),
                           concat(R"("connectTimeoutMs":)", limit_ms, R"(,"requestTimeoutMs":)", limit_ms));
    return call;
}

/// A result of an ADD whose limits are short: a machine with too much to do needs several.
inline std::string add_in_time(const PluginCall& call) {
    ProcessResult result;
    if (!comes_true([&] { return (result = call.run()).exit_status == 0; })) throw std::runtime_error(error_of(result));
    return result.out;
}

/// What `rdmanet plan` prints for the network of a call.
inline std::string planned(const PluginCall& call) {
    const ProcessResult result = run_process({binary(), "plan", "--name", "net"}, {.input = call.config});
    return result.out + result.err;
}

/// As if a minute had passed, in which the server may carry out what nobody waits for any more.
inline void pay_debts() {
    shell("for record in $(find /run/rdmanet/attachments -name '*.json'); do "
          "jq 'if .leaseStore.unsettledUntil then .leaseStore.unsettledUntil = 1 else . end' $record >/run/changed && "
          "mv /run/changed $record; done");
    (void)let_a_minute_pass_for_blocks("/run/rdmanet/blocks");
    shell(binary() + " gc");
}

inline const std::string kHasNoRecord = "{}\n";
inline std::string pool_records(const std::string& pool) {
    return shell(concat(cluster(), "/get ippools/", pool, " | jq --compact-output '.spec.allocations // {}'"));
}

/// What the server has of an object's `spec`; "absent" if there is none.
inline std::string spec_of(const std::string& object) {
    return shell(cluster() + "/get /apis/whereabouts.cni.cncf.io/v1alpha1/namespaces/kube-system/" + object +
                 " | jq --compact-output --join-output --sort-keys '.spec // \"absent\"'");
}
/// The records of attachments, one a line.
inline std::string state_files() {
    return shell("find /run/rdmanet -name '*.json' -printf '%f\\n' 2>/dev/null || true");
}

/// Names of those that begin so, one a line.
inline std::string cluster_reservations(const std::string& begin) {
    return shell(concat(cluster(), "/get overlappingrangeipreservations | jq -r '.items[].metadata.name | select(",
                        "startswith(\"", begin, "\"))'"));
}

} // namespace rdmanet::test
