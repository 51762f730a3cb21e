// This machine as a node of the API server of cluster_stage.hpp. Two of them differ by their Node objects and state
// directories.
#pragma once

#include "attachment_stage.hpp"
#include "cluster_calls.hpp"
#include "cluster_stage.hpp"

#include <unistd.h>

#include <string>
#include <utility>

namespace rdmanet::test {

inline constexpr const char* kBlocks = "/apis/rdmanet.cni/v1alpha1/addressblocks";

/// A Node object of this machine, which the case takes away again, and what it had in the cluster.
class ClusterMachine {
public:
    explicit ClusterMachine(std::string name, std::string space) : name_(std::move(name)), space_(std::move(space)) {
        shell(cluster() + "/apply '" + node_object(name_) + "' /api/v1/nodes");
    }
    ClusterMachine(const ClusterMachine&) = delete;
    ClusterMachine& operator=(const ClusterMachine&) = delete;
    ~ClusterMachine() { shell(cluster() + "/delete /api/v1/nodes/" + name_); }

    /// An attachment of a pod on this node.
    [[nodiscard]] PluginCall call(const Pod& pod, const std::string& more = "") const {
        return call_with("'store':'blocks','range':'10.64.0.0/16'" + more, pod);
    }
    [[nodiscard]] PluginCall call_with(const std::string& keys, const Pod& pod) const {
        PluginCall call = call_for(pod, "'master':'par0','ipam':{'type':'rdmanet'," + keys + ",'network_name':'" +
                                            space_ + "','nodeName':'" + name_ + "','kubernetes':{'kubeconfig':'" +
                                            kKubeconfig + "'," + kLongLimits + "}}");
        call.args = "IgnoreUnknown=1;K8S_POD_NAMESPACE=shop;K8S_POD_NAME=till;K8S_POD_UID=uid-1";
        return call;
    }

private:
    std::string name_;
    std::string space_;
};

/// An address space that no other case or run has.
inline std::string own_space() {
    static int count = 0;
    return "e" + std::to_string(::getpid()) + "-" + std::to_string(++count);
}

/// "BLOCK NODE" of each block of the space.
inline std::string blocks_of(const std::string& space) {
    return shell(cluster() + "/get " + kBlocks + " | jq --join-output '[.items[].spec | select(.space == \"" + space +
                 "\") | .block + \" \" + .node.name] | join(\", \")'");
}

/// What the cluster still has of a space, in store "whereabouts" or "blocks". `pool`: of its range, as "10.0.0.0-24".
inline std::string leases_left(const std::string& store, const std::string& space, const std::string& pool) {
    if (store == "blocks") return blocks_of(space);
    const std::string records = pool_records(concat(space, "-", pool));
    return concat(records == kHasNoRecord ? "" : records, cluster_reservations(space + "-"));
}

} // namespace rdmanet::test
