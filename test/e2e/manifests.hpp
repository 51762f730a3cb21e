// Kubernetes objects in YAML, as far as they concern networks.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace rdmanet::test {

struct NetworkAttachmentDefinition {
    std::string key; // "namespace/name"
    std::string name;
    std::string config;
    std::string resource; // each pod on the network needs one; empty if it needs none
};

/// An element of the annotation k8s.v1.cni.cncf.io/networks.
struct NetworkRequest {
    std::string key; // the definition's key
    std::string ifname;
    std::vector<std::string> ips{};
    std::string mac{};
    std::string guid{};
};

struct PodManifest {
    std::string pod_namespace;
    std::string name;
    std::vector<NetworkRequest> networks;
    std::map<std::string, unsigned> resources{}; // from its containers' limits
    bool every_container_locks_memory = true;
};

/// An element of the RDMA shared device plugin's configList.
struct DeviceResource {
    std::string name; // as pods request it: "rdma/hca_shared"
    std::vector<std::string> interfaces;
};

/// VFs or sub-functions of the SR-IOV network device plugin, from its own configuration or the operator's.
struct FunctionResource {
    std::string name; // as pods request it: "openshift.io/roce_vf"
    std::vector<std::string> pfs;
    bool is_rdma = false;
    bool is_infiniband = false; // selects InfiniBand only
    bool is_subfunction = false;
    std::string from; // kind of the object that defines it

    bool operator==(const FunctionResource&) const = default;
};

/// What a DaemonSet runs on every node.
struct NodeScript {
    std::string script; // the argument of "sh -c"
    bool sees_processes = false;
    bool privileged = false;
};

/// What a CronJob runs somewhere in the cluster.
struct ClusterJob {
    std::string service_account; // "namespace/name"
    std::vector<std::string> command;
    bool is_root = true;
};

struct Manifests {
    std::vector<NetworkAttachmentDefinition> networks;
    std::vector<PodManifest> pods;
    std::vector<DeviceResource> resources;
    std::vector<FunctionResource> function_resources;
    std::vector<std::string> rdma_modes; // from the operator's node pools
    std::vector<NodeScript> node_scripts;
    std::vector<ClusterJob> cluster_jobs;

    /// The definition "namespace/name". Throws if there is none.
    [[nodiscard]] const NetworkAttachmentDefinition& network(const std::string& key) const;
    [[nodiscard]] const PodManifest& pod(const std::string& name) const;
};

/// Adds the objects of a file's text. Throws for any other kind of object.
void read_manifests(const std::string& text, Manifests& into);

} // namespace rdmanet::test
