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
    std::string resource; // of a device plugin, a device for each pod on the network; empty if it needs none
};

/// An element of the annotation k8s.v1.cni.cncf.io/networks.
struct NetworkRequest {
    std::string key; // of the definition
    std::string ifname;
    std::vector<std::string> ips{};
    std::string mac{};
    std::string guid{};
};

struct PodManifest {
    std::string pod_namespace;
    std::string name;
    std::vector<NetworkRequest> networks;
    std::map<std::string, unsigned> resources{}; // of its containers' limits
    bool every_container_locks_memory = true;
};

/// An element of the RDMA shared device plugin's configList.
struct DeviceResource {
    std::string name; // as pods ask for it: "rdma/hca_shared"
    std::vector<std::string> interfaces;
};

/// VFs or sub-functions as the SR-IOV network device plugin offers them, configured by itself or by the operator.
struct FunctionResource {
    std::string name; // as pods ask for it: "openshift.io/roce_vf"
    std::vector<std::string> pfs;
    bool is_rdma = false;
    bool is_infiniband = false; // and nothing else
    bool is_subfunction = false;
    std::string from; // kind of the object

    bool operator==(const FunctionResource&) const = default;
};

/// What a DaemonSet runs on every node.
struct NodeScript {
    std::string script; // of "sh -c"
    bool sees_processes = false;
    bool privileged = false;
};

struct Manifests {
    std::vector<NetworkAttachmentDefinition> networks;
    std::vector<PodManifest> pods;
    std::vector<DeviceResource> resources;
    std::vector<FunctionResource> function_resources;
    std::vector<std::string> rdma_modes; // of the operator's node pools
    std::vector<NodeScript> node_scripts;

    /// The definition "namespace/name". Throws if there is none.
    [[nodiscard]] const NetworkAttachmentDefinition& network(const std::string& key) const;
    [[nodiscard]] const PodManifest& pod(const std::string& name) const;
};

/// Adds the objects of a file's text. Throws for a kind that is not one of these.
void read_manifests(const std::string& text, Manifests& into);

} // namespace rdmanet::test
