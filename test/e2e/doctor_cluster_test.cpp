// `rdmanet doctor` and the cluster: the kubelet's socket, and a real API server. The node's files are a tree of their
// own (--root), so that the machine's own stay as they are.
#include "cluster_stage.hpp"
#include "doctor_tree.hpp"
#include "documented.hpp"

#include "support/concat.hpp"
#include "support/documented_check.hpp"
#include "support/kubelet.hpp"
#include "support/names.hpp"
#include "support/patience.hpp"
#include "support/process.hpp"
#include "support/reporter.hpp"

#include <catch2/catch.hpp>

#include <unistd.h>

#include <utility>

namespace rdmanet::test {

using Catch::Contains;

namespace {

constexpr const char* kNeedsServer = "a Kubernetes API server (test/cluster/cluster.sh run)";
constexpr const char* kWithVf = R"({"allocatable": {"example.com/sriov": ["0000:3b:00.2"]}, "pods": []})";
constexpr const char* kWithoutResources = R"({"allocatable": {}, "pods": []})";
constexpr const char* kCheckpoint = "/var/lib/kubelet/device-plugins/kubelet_internal_checkpoint";
/// Its device plugin has ended. Without RDMA on this machine, a plugin that never registered is not missed.
constexpr const char* kWithoutDevices = R"({"Data":{"RegisteredDevices":{"example.com/sriov":[]}}})";

bool is_documented(const std::string& check, const std::string& fault, const std::string& found) {
    return test::is_documented(source_text("docs/doctor.md"), check, fault, found);
}

/// A Node object with the tree's name, for as long as this lives.
class NodeObject {
public:
    explicit NodeObject(const std::string& name) : path_(concat("/api/v1/nodes/", name)) {
        shell(concat(cluster(), "/apply '", node_object(name), "' /api/v1/nodes"));
        patch(R"({"spec":{"taints":null}})"); // a new Node has "not-ready", which its kubelet removes
    }
    NodeObject(const NodeObject&) = delete;
    NodeObject& operator=(const NodeObject&) = delete;
    ~NodeObject() { shell(concat(cluster(), "/delete ", path_)); }

    /// A merge patch (RFC 7386).
    void patch(const std::string& json) const {
        shell(concat(". ", cluster(), "/lib && api --fail-with-body -X PATCH -H 'Content-Type: ",
                     "application/merge-patch+json' --data '", json, "' $url", path_));
    }

private:
    std::string path_;
};

constexpr const char* kAll = "/apis/k8s.cni.cncf.io/v1/network-attachment-definitions";

/// Another case may have made the kind, and may have left definitions.
bool has_definitions() {
    return succeeds(concat(cluster(), "/get ", kAll, " | jq --exit-status .items >/dev/null 2>&1"));
}

/// As Multus' manifest has it.
void make_definitions() {
    shell(concat(cluster(), "/apply '", R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",)",
                 R"("metadata":{"name":"network-attachment-definitions.k8s.cni.cncf.io"},"spec":{"group":)",
                 R"("k8s.cni.cncf.io","scope":"Namespaced","names":{"plural":"network-attachment-definitions",)",
                 R"("singular":"network-attachment-definition","kind":"NetworkAttachmentDefinition"},"versions":)",
                 R"([{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object",)",
                 R"("properties":{"spec":{"type":"object","properties":{"config":{"type":"string"}}}}}}}]}})",
                 "' /apis/apiextensions.k8s.io/v1/customresourcedefinitions"));
    wait_until(concat(cluster(), "/get ", kAll, " | jq --exit-status .items"));
}

/// A definition of the tree's name, for as long as this lives.
class Definition {
public:
    explicit Definition(std::string name) : name_(std::move(name)) {}
    Definition(const Definition&) = delete;
    Definition& operator=(const Definition&) = delete;
    ~Definition() { remove(); }

    /// `keys` are those of the plugin's entry.
    void set(const std::string& annotations, const std::string& keys) const {
        remove();
        shell(concat(cluster(), "/apply \"$(jq -nc --arg config '",
                     R"({"cniVersion":"1.0.0","plugins":[{"type":"rdmanet",)", keys,
                     R"(}]}' '{"apiVersion":"k8s.cni.cncf.io/v1","kind":"NetworkAttachmentDefinition",)",
                     R"("metadata":{"name":")", name_, R"(","annotations":{)", annotations,
                     R"(}},"spec":{"config":$config}}')", ")\" ", kOfDefault));
    }

private:
    void remove() const { shell(concat(cluster(), "/delete ", kOfDefault, '/', name_, " 2>/dev/null || true")); }

    static constexpr const char* kOfDefault =
        "/apis/k8s.cni.cncf.io/v1/namespaces/default/network-attachment-definitions";
    std::string name_;
};

} // namespace

TEST_CASE("the doctor asks the kubelet's socket", "[doctor]") {
    const Tree tree;
    CHECK_THAT(tree.says("resources"), Contains("not looked at: ") && Contains("no socket /var/lib/kubelet"));
    const Kubelet kubelet(tree.socket(), kWithVf);
    CHECK(tree.says("resources") == "");
    tree.write(kCheckpoint, kWithoutDevices);
    kubelet.set(kWithoutResources);
    CHECK_THAT(tree.says("resources"), Names("warning", "example.com/sriov has no healthy device", "tolerations"));
    kubelet.set(kWithVf);
    CHECK(tree.says("resources") == "");
}

TEST_CASE("the doctor reads labels and taints of the Node object", "[cluster][doctor]") {
    NEEDS(!cluster().empty(), kNeedsServer);
    const Tree tree;
    const Kubelet kubelet(tree.socket(), kWithVf);
    tree.set_user("rdmanet");
    CHECK_THAT(tree.says("taints"),
               Contains("not looked at: ") && Contains(concat("no Node ", tree.name())) && Contains("\"nodeName\""));
    CHECK(is_documented("node-name", "the host's name is not the Node's", tree.says("node-name")));
    const NodeObject node(tree.name());
    CHECK(tree.says("taints") == "");
    CHECK(tree.says("node-name") == "");

    const auto tell = [&](const std::string& fault, const std::string& begin, const std::string& end) {
        INFO(fault);
        node.patch(begin);
        const std::string found = tree.says("taints");
        CHECK(is_documented("taints", fault, found));
        node.patch(end);
        return found;
    };
    const std::string label = R"({"metadata":{"labels":{"network.nvidia.com/operator.mofed.wait":)";
    CHECK_THAT(tell("the network operator waits for its driver", label + "\"true\"}}}", label + "\"false\"}}}"),
               Names(tree.name(), "`kubectl get pods", "NicClusterPolicy"));
    CHECK(tree.says("taints") == "");
    const std::string taint = R"({"spec":{"taints":[{"key":"dedicated","value":"hpc","effect":"NoSchedule"}]}})";
    const std::string none = R"({"spec":{"taints":null,"unschedulable":null}})";
    CHECK_THAT(tell("a taint, and the device plugin tolerates it", taint, none), Names("info", "toleration"));
    tree.write(kCheckpoint, kWithoutDevices);
    kubelet.set(kWithoutResources);
    CHECK_THAT(tell("a taint, and no resource", taint, none), Names("warning", "toleration"));
    kubelet.set(kWithVf);
    CHECK_THAT(tell("`kubectl cordon`", R"({"spec":{"unschedulable":true}})", none),
               Names("info", concat("`kubectl uncordon ", tree.name(), "`")));
    node.patch(R"({"spec":{"taints":[{"key":"node.kubernetes.io/disk-pressure","effect":"NoSchedule"},)"
               R"({"key":"node.kubernetes.io/network-unavailable","effect":"NoSchedule"},)"
               R"({"key":"a","effect":"PreferNoSchedule"}]}})");
    CHECK(tree.says("taints") == ""); // DaemonSets tolerate them
}

TEST_CASE("the doctor examines NetworkAttachmentDefinitions", "[cluster][doctor]") {
    NEEDS(!cluster().empty(), kNeedsServer);
    const Tree tree;
    const Kubelet kubelet(tree.socket(), kWithVf);
    tree.set_user("admin");
    if (!has_definitions()) {
        CHECK_THAT(tree.says("definitions"), Contains("not looked at: ") && Contains("Multus is not installed"));
        make_definitions();
    }
    const std::string place = concat("default/", tree.name());
    const auto says = [&] {
        std::string lines;
        for (const std::string& line : lines_of(tree.says("definitions")))
            if (line.find(concat("| ", place, " |")) != std::string::npos || line.starts_with("not")) lines += line;
        return lines;
    };
    const auto tell = [&](const std::string& fault) {
        const std::string found = says();
        INFO(fault << ": " << found);
        CHECK(is_documented("definitions", fault, found));
        return found;
    };
    const Definition definition(tree.name());
    const std::string resource = R"("k8s.v1.cni.cncf.io/resourceName":"example.com/sriov")";
    const std::string vf = R"("attach":"sriov","capabilities":{"mac":true})";
    definition.set(resource, vf);
    CHECK(says() == "");
    definition.set("", vf);
    CHECK_THAT(tell("a definition for VFs without an annotation"),
               Names(concat("`kubectl annotate -n default net-attach-def ", tree.name()),
                     "resourceName=RESOURCE`, where RESOURCE"));
    definition.set(R"("k8s.v1.cni.cncf.io/resourceName":"example.com/other")", vf);
    CHECK_THAT(tell("the plugin of its resource is on other nodes"), Names("info", "run here"));
    definition.set("", R"("master":"nobody0","capabilities":{"mac":true})");
    CHECK_THAT(tell("a definition for other nodes"), Names("info", "run here"));
    definition.set("", R"("master":"lo","mtu":"big")");
    CHECK_THAT(says(), Names("failure", "ADD refuses it: mtu"));
    definition.set(resource, R"("capabilities":{"mac":true})");
    CHECK(says() == ""); // the device says that it is a VF
}

TEST_CASE("a kubeconfig without a CA trusts those of the node, as with kubectl", "[cluster][doctor]") {
    NEEDS(!cluster().empty(), kNeedsServer);
    const Tree tree;
    const NodeObject node(tree.name());
    tree.set_user("rdmanet");
    const std::string file = tree.path("/etc/cni/net.d/multus.d/multus.kubeconfig");
    const std::string authorities = tree.path("/etc/ssl/certs/ca-certificates.crt");
    shell(concat("mkdir -p ", tree.path("/etc/ssl/certs"), " && grep -o 'certificate-authority-data: *[^ ,}]*' ", file,
                 " | sed 's/.*: *//' | tr -d '\"' | base64 -d >", authorities,
                 " && sed -i 's/certificate-authority-data: *[^ ,}]*,\\{0,1\\}//' ", file));
    CHECK(tree.says("taints") == "");
    shell(concat("rm ", authorities));
    CHECK_THAT(tree.says("taints"), Contains("not looked at: ") && Contains("certificate-authority-data is missing"));
}

TEST_CASE("what the API server forbids is not looked at, and another account may do it", "[cluster][doctor]") {
    NEEDS(!cluster().empty(), kNeedsServer);
    const Tree tree;
    const NodeObject node(tree.name());
    tree.set_user("nobody");
    for (const char* check : {"taints", "definitions"})
        CHECK_THAT(tree.says(check), Contains("not looked at: ") && Contains("HTTP 403") && Contains("cannot ") &&
                                         Contains("--kubeconfig"));
    tree.write("/etc/cni/net.d/rdmanet.d/rdmanet.kubeconfig", read_file(cluster() + "/rdmanet.kubeconfig"));
    CHECK(tree.says("taints") == "");
    CHECK_THAT(tree.says("definitions"), Contains("HTTP 403"));

    tree.write("/chosen", read_file(cluster() + "/rdmanet.kubeconfig"));
    tree.set_user("limited");
    CHECK(tree.says("taints", "--kubeconfig /chosen") == "");
    tree.write("/etc/cni/net.d/rdmanet.d/rdmanet.conf", R"({"nodeName":"another"})");
    CHECK_THAT(tree.says("taints", "--kubeconfig /chosen"), Contains("no Node another"));
    tree.write("/chosen", kNobody);
    CHECK_THAT(tree.says("taints", "--kubeconfig /chosen"), Contains("not looked at: ") && Contains("refused"));
}

} // namespace rdmanet::test
