// Networks and pods of the API server of cluster_stage.hpp, as Multus has them there.
#pragma once

#include "cluster_stage.hpp"

#include "support/node.hpp"
#include "support/process.hpp"

#include <string>

namespace rdmanet::test {

/// The cluster has what Multus keeps its networks in, and one whose addresses are rdmanet's.
class ClusterNetworks {
public:
    ClusterNetworks() {
        const std::string are_served = cluster() + "/get " + kNetworks + " | jq --exit-status .items >/dev/null 2>&1";
        if (!succeeds(are_served))
            apply(R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":)"
                  R"("network-attachment-definitions.k8s.cni.cncf.io"},"spec":{"group":"k8s.cni.cncf.io","scope":)"
                  R"("Namespaced","names":{"plural":"network-attachment-definitions","kind":)"
                  R"("NetworkAttachmentDefinition"},"versions":[{"name":"v1","served":true,"storage":true,"schema":)"
                  R"({"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}})",
                  "/apis/apiextensions.k8s.io/v1/customresourcedefinitions");
        shell("until " + are_served + "; do :; done");
        if (!succeeds(cluster() + "/get /api/v1/namespaces/looks | jq --exit-status .spec >/dev/null"))
            apply(R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"looks"}})", "/api/v1/namespaces");
        apply(R"({"apiVersion":"k8s.cni.cncf.io/v1","kind":"NetworkAttachmentDefinition","metadata":{"name":"roce"},)"
              R"("spec":{"config":"{\"type\":\"rdmanet\",\"ipam\":{\"type\":\"rdmanet\"}}"}})",
              kOwnNetworks);
    }
    ClusterNetworks(const ClusterNetworks&) = delete;
    ClusterNetworks& operator=(const ClusterNetworks&) = delete;
    ~ClusterNetworks() { shell(cluster() + "/delete " + kOwnNetworks + "/roce"); }

    static void apply(const std::string& object, const std::string& path) {
        shell(cluster() + "/apply '" + object + "' " + path);
    }

    /// A running pod that has the address, as Multus notes it.
    static void run_pod(const std::string& name, const std::string& address) {
        apply(R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":")" + name +
                  R"(","annotations":{"k8s.v1.cni.cncf.io/network-status":"[{\"name\":\"looks/roce\",\"ips\":[\")" +
                  address + R"(\"]}]"}},"spec":{"containers":[{"name":"c","image":"i"}]}})",
              "/api/v1/namespaces/looks/pods");
        shell(". " + cluster() +
              R"(/lib && api --fail-with-body -X PATCH -H 'Content-Type: application/merge-patch+json' )"
              R"(--data '{"status":{"phase":"Running"}}' "$url/api/v1/namespaces/looks/pods/)" +
              name + R"(/status")");
    }
    static void end_pod(const std::string& name) {
        shell(cluster() + "/delete '/api/v1/namespaces/looks/pods/" + name + "?gracePeriodSeconds=0'");
    }

private:
    inline static const std::string kNetworks = "/apis/k8s.cni.cncf.io/v1/network-attachment-definitions";
    inline static const std::string kOwnNetworks =
        "/apis/k8s.cni.cncf.io/v1/namespaces/looks/network-attachment-definitions";
};

} // namespace rdmanet::test
