// What an API server says of the node, if the server is what no real one can be brought to be.
#include "machine.hpp"

#include "unit/http/scripted_server.hpp"

namespace rdmanet::doctor {
namespace {

constexpr const char* kTainted = R"([{"key": "dedicated", "value": "hpc", "effect": "NoSchedule"}])";

constexpr const char* kStatus = R"({"kind": "Status"})";

/// An API server that has the Node node-1, perhaps AddressRanges, and nothing else. It hangs up on the token "hated",
/// as TLS does if a kubeconfig has the CA of yesterday. Behind the token "unlucky" is a load balancer without a
/// server.
class Cluster {
public:
    explicit Cluster(const std::string& taints, const std::string& ranges = "")
        : server_([ranges, node = R"({"metadata": {"name": "node-1"}, "spec": {"taints": )" + taints +
                                  "}}"](http::test::Connection& client) {
              for (std::string request = client.read_request(); !request.empty(); request = client.read_request()) {
                  if (request.find("Bearer hated") != std::string::npos) return;
                  const auto asks_for = [&](const char* path) {
                      return request.starts_with(std::string("GET ") + path + " ");
                  };
                  if (request.find("Bearer old") != std::string::npos)
                      client.answer(kStatus, "401 Unauthorized");
                  else if (request.find("Bearer unlucky") != std::string::npos)
                      return client.answer("no backend", "503 Service Unavailable");
                  else if (asks_for("/api/v1/nodes/node-1"))
                      client.answer(node);
                  else if (!ranges.empty() && asks_for("/apis/rdmanet.cni/v1alpha1/addressranges"))
                      client.answer(R"({"items": [)" + ranges + "]}");
                  else if (asks_for("/version"))
                      client.answer(R"({"gitVersion": "v1.31.0"})");
                  else
                      client.answer(kStatus, "404 Not Found");
              }
          }) {}

    [[nodiscard]] std::string url() const { return server_.url(); }

private:
    http::test::ScriptedServer server_;
};

class NodeOfCluster : public Machine {
public:
    NodeOfCluster() {
        for (const char* folder : {"etc/cni/net.d/multus.d", "etc/cni/net.d/rdmanet.d", kKubelet}) make(folder);
        write("etc/hostname", "node-1");
    }
    void use(const std::string& owner, const std::string& server, const std::string& token = "s3cret") const {
        write("etc/cni/net.d/" + owner + ".d/" + owner + ".kubeconfig", kubeconfig_for(server, token));
    }
    /// The kubelet's file: `resources` are its registered ones, with their healthy devices.
    void register_with_kubelet(const std::string& resources) const {
        write(std::string(kKubelet) + "/kubelet_internal_checkpoint",
              R"({"Data": {"RegisteredDevices": {)" + resources + "}}}");
    }

private:
    static constexpr const char* kKubelet = "var/lib/kubelet/device-plugins";
};

} // namespace

TEST_CASE("a taint is a warning if a resource is missing, an info on any other node, and nothing if device plugins "
          "tolerate it") {
    const NodeOfCluster node;
    const Cluster cluster(kTainted);
    node.use("multus", cluster.url());
    node.register_with_kubelet(R"("example.com/sriov": [])");
    CHECK_THAT(node.found_by("taints"), Has("warning | node-1 | taint dedicated=hpc:NoSchedule"));
    node.register_with_kubelet(R"("example.com/sriov": ["x"], "devices.kubevirt.io/sev": [])");
    REQUIRE_THAT(node.found_by("resources"), Has("info", "sev"));
    CHECK_THAT(node.found_by("taints"), Has("info | node-1 | taint dedicated=hpc:NoSchedule"));
    const Cluster tolerated(R"([{"key": "node.kubernetes.io/network-unavailable", "effect": "NoSchedule"}])");
    node.use("multus", tolerated.url());
    CHECK(node.found_by("taints").empty());
    CHECK(node.why_not("taints").empty());
}

TEST_CASE("a kubeconfig whose server is gone does not hide another one") {
    const NodeOfCluster node;
    const Cluster cluster(kTainted);
    node.use("multus", "http://127.0.0.1:1");
    node.use("rdmanet", cluster.url());
    CHECK_THAT(node.found_by("taints"), Has("dedicated=hpc"));
    node.use("multus", cluster.url(), "hated");
    CHECK_THAT(node.found_by("taints"), Has("dedicated=hpc"));
    node.use("multus", "http://127.0.0.1:1");
    node.use("rdmanet", "http://127.0.0.1:2");
    CHECK_THAT(node.why_not("taints"), Has("127.0.0.1:1", ", and ", "127.0.0.1:2", "refused"));
}

TEST_CASE("whom the API server does not serve is a finding") {
    const NodeOfCluster node;
    const Cluster cluster(kTainted);
    CHECK_THAT(node.why_not("api-access"), Has("--kubeconfig"));
    node.use("multus", cluster.url());
    CHECK(node.found_by("api-access").empty());
    CHECK(node.why_not("api-access").empty());
    node.use("multus", cluster.url(), "old");
    node.must_find("api-access", "the API server answers Unauthorized to Multus", "restart the pod of Multus");
    node.use("multus", "http://127.0.0.1:1");
    node.must_find("api-access", "the API server of Multus is away", "127.0.0.1:1");
}

TEST_CASE("a server that fails is a finding, and another kubeconfig is tried") {
    const NodeOfCluster node;
    const Cluster cluster(kTainted);
    node.use("multus", cluster.url(), "unlucky");
    CHECK_THAT(node.why_not("taints"), Has("HTTP 503"));
    node.must_find("api-access", "the load balancer of Multus' API server has no server", "load balancer");
    node.use("rdmanet", cluster.url());
    CHECK_THAT(node.found_by("taints"), Has("dedicated=hpc"));
    CHECK_THAT(node.found_by("api-access"), Has("HTTP 503") && !Has("no answer"));
}

TEST_CASE("a server that has nothing is no API server without a Node") {
    const NodeOfCluster node;
    const http::test::ScriptedServer other([](http::test::Connection& client) {
        while (!client.read_request().empty()) client.answer("not here", "404 Not Found");
    });
    node.use("multus", other.url());
    for (const char* check : {"taints", "definitions", "node-name"})
        CHECK_THAT(node.why_not(check), Has("GET /version: HTTP 404"));
    node.must_find("api-access", "a web server answers in place of the API server", "correct \"server\"");
    const Cluster cluster(kTainted);
    node.use("rdmanet", cluster.url());
    CHECK_THAT(node.found_by("taints"), Has("dedicated=hpc"));
}

TEST_CASE("the API server must know the node by its name") {
    const NodeOfCluster node;
    const Cluster cluster(kTainted);
    node.use("multus", cluster.url());
    CHECK(node.found_by("node-name").empty());
    CHECK(node.why_not("node-name").empty());
    node.write("etc/hostname", "node-1.example.com");
    node.must_find("node-name", "the host's name is not the Node's", "| node-1.example.com | ",
                   "set \"nodeName\" in /etc/cni");
    node.write("etc/cni/net.d/rdmanet.d/rdmanet.conf", R"({"nodeName": "node-1"})");
    CHECK(node.found_by("node-name").empty());
}

TEST_CASE("an AddressRange that counts for nothing is a warning") {
    const NodeOfCluster node;
    const Cluster without(kTainted);
    node.use("multus", without.url());
    CHECK_THAT(node.why_not("address-ranges"), Has("does not know AddressRanges"));
    const std::string declared =
        R"({"metadata": {"name": "roce", "uid": "r"}, "spec": {"range": "10.0.0.0/16", "blockSize": 16}})";
    const Cluster cluster(kTainted, declared);
    node.use("multus", cluster.url());
    CHECK(node.found_by("address-ranges").empty());
    CHECK(node.why_not("address-ranges").empty());
    const Cluster updated(kTainted, declared + R"(, {"metadata": {"name": "old", "uid": "o"}, "spec": )"
                                               R"({"range": "10.1.0.0/16", "store": "blocks"}})");
    node.use("multus", updated.url());
    node.must_find("address-ranges", "an earlier build has recorded a range", "| AddressRange old | ",
                   "`kubectl delete addressrange old`");
}

TEST_CASE("a pod that this user may not see is not called dead") {
    NodeOfCluster node;
    node.asked_pod = "shop/till";
    CHECK_THAT(node.found_by("pod-found"), Has("failure | shop/till | no network namespace"));
    node.inventory.unseen = {"some processes' network namespaces (Permission denied): run it as root on the node"};
    const std::string unseen = node.found_by("pod-found");
    CHECK_THAT(unseen, Documented("pod-found", "a user who is not root", "| shop/till | "));
    node.inventory.unseen.clear();
    node.inventory.namespaces.push_back({.inode = 3, .path = "/proc/3/ns/net", .pid = 3, .trouble = "refused"});
    CHECK_THAT(node.found_by("pod-found"), Has("warning | shop/till | ", "(refused)"));
}

TEST_CASE("a token that does not say when it expires is no token that lasts") {
    const NodeOfCluster node;
    node.use("multus", "http://127.0.0.1:1", "opaque");
    CHECK_THAT(node.why_not("tokens"), Has("says when it expires"));
}

TEST_CASE("a server that gives no answer is asked once, whoever asks") {
    const NodeOfCluster node;
    // It only listens, until its client goes.
    const http::test::ScriptedServer silent([](http::test::Connection& client) {
        while (!client.read_request().empty()) continue;
    });
    node.use("multus", silent.url());
    node.use("rdmanet", silent.url());
    CHECK_THAT(node.why_not("taints"), Has("no answer"));
    CHECK(silent.connections() == 1);
}

} // namespace rdmanet::doctor
