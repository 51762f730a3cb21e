// What an API server says of the node, if the server is what no real one can be brought to be.
#include "machine.hpp"

#include "unit/http/scripted_server.hpp"

namespace rdmanet::doctor {
namespace {

using Catch::Contains;

constexpr const char* kTainted = R"([{"key": "dedicated", "value": "hpc", "effect": "NoSchedule"}])";

constexpr const char* kStatus = R"({"kind": "Status"})";

void answer(http::test::Connection& client, const std::string& status, const std::string& body) {
    client.send("HTTP/1.1 " + status + "\r\nContent-Type: application/json\r\nContent-Length: " +
                std::to_string(body.size()) + "\r\n\r\n" + body);
}

/// An API server that has the Node node-1 and nothing else. It hangs up on the token "hated", as TLS does if a
/// kubeconfig has the CA of yesterday. Behind the token "unlucky" is a load balancer without a server.
class Cluster {
public:
    explicit Cluster(const std::string& taints)
        : server_([node = R"({"metadata": {"name": "node-1"}, "spec": {"taints": )" + taints +
                          "}}"](http::test::Connection& client) {
              for (std::string request = client.read_request(); !request.empty(); request = client.read_request()) {
                  if (request.find("Bearer hated") != std::string::npos) return;
                  const auto asks_for = [&](const char* path) {
                      return request.starts_with(std::string("GET ") + path + " ");
                  };
                  if (request.find("Bearer old") != std::string::npos)
                      answer(client, "401 Unauthorized", kStatus);
                  else if (request.find("Bearer unlucky") != std::string::npos)
                      return answer(client, "503 Service Unavailable", "no backend");
                  else if (asks_for("/api/v1/nodes/node-1"))
                      answer(client, "200 OK", node);
                  else if (asks_for("/version"))
                      answer(client, "200 OK", R"({"gitVersion": "v1.31.0"})");
                  else
                      answer(client, "404 Not Found", kStatus);
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

TEST_CASE("a taint is a warning if a resource is missing, and an info on any other node") {
    const NodeOfCluster node;
    const Cluster cluster(kTainted);
    node.use("multus", cluster.url());
    node.register_with_kubelet(R"("example.com/sriov": [])");
    CHECK_THAT(node.found_by("taints"), Contains("warning | node-1 | taint dedicated=hpc:NoSchedule"));
    node.register_with_kubelet(R"("example.com/sriov": ["x"], "devices.kubevirt.io/sev": [])");
    REQUIRE_THAT(node.found_by("resources"), Contains("info") && Contains("sev"));
    CHECK_THAT(node.found_by("taints"), Contains("info | node-1 | taint dedicated=hpc:NoSchedule"));
}

TEST_CASE("taints that device plugins tolerate are no finding") {
    const NodeOfCluster node;
    const Cluster cluster(R"([{"key": "node.kubernetes.io/network-unavailable", "effect": "NoSchedule"}])");
    node.use("multus", cluster.url());
    CHECK(node.found_by("taints").empty());
    CHECK(node.why_not("taints").empty());
}

TEST_CASE("a kubeconfig whose server is gone does not hide another one") {
    const NodeOfCluster node;
    const Cluster cluster(kTainted);
    node.use("multus", "http://127.0.0.1:1");
    node.use("rdmanet", cluster.url());
    CHECK_THAT(node.found_by("taints"), Contains("dedicated=hpc"));
    node.use("multus", cluster.url(), "hated");
    CHECK_THAT(node.found_by("taints"), Contains("dedicated=hpc"));
    node.use("multus", "http://127.0.0.1:1");
    node.use("rdmanet", "http://127.0.0.1:2");
    CHECK_THAT(node.why_not("taints"),
               Contains("127.0.0.1:1") && Contains(", and ") && Contains("127.0.0.1:2") && Contains("refused"));
}

TEST_CASE("whom the API server does not serve is a finding") {
    const NodeOfCluster node;
    const Cluster cluster(kTainted);
    CHECK_THAT(node.why_not("api-access"), Contains("--kubeconfig"));
    node.use("multus", cluster.url());
    CHECK(node.found_by("api-access").empty());
    CHECK(node.why_not("api-access").empty());
    node.use("multus", cluster.url(), "old");
    CHECK_THAT(node.found_by("api-access"), Contains("failure | ") && Contains("restart the pod of Multus"));
    CHECK(is_documented("api-access", "the API server answers Unauthorized to Multus", node.found_by("api-access")));
    node.use("multus", "http://127.0.0.1:1");
    CHECK_THAT(node.found_by("api-access"), Contains("warning | ") && Contains("127.0.0.1:1"));
    CHECK(is_documented("api-access", "the API server of Multus is away", node.found_by("api-access")));
}

TEST_CASE("a server that fails is a finding, and another kubeconfig is tried") {
    const NodeOfCluster node;
    const Cluster cluster(kTainted);
    node.use("multus", cluster.url(), "unlucky");
    CHECK_THAT(node.why_not("taints"), Contains("HTTP 503"));
    const std::string failing = node.found_by("api-access");
    CHECK_THAT(failing, Contains("warning | ") && Contains("load balancer"));
    CHECK(is_documented("api-access", "the load balancer of Multus' API server has no server", failing));
    node.use("rdmanet", cluster.url());
    CHECK_THAT(node.found_by("taints"), Contains("dedicated=hpc"));
    CHECK_THAT(node.found_by("api-access"), Contains("HTTP 503") && !Contains("no answer"));
}

TEST_CASE("a server that has nothing is no API server without a Node") {
    const NodeOfCluster node;
    const http::test::ScriptedServer other([](http::test::Connection& client) {
        while (!client.read_request().empty()) answer(client, "404 Not Found", "not here");
    });
    node.use("multus", other.url());
    for (const char* check : {"taints", "definitions", "node-name"})
        CHECK_THAT(node.why_not(check), Contains("GET /version: HTTP 404"));
    const std::string other_server = node.found_by("api-access");
    CHECK_THAT(other_server, Contains("warning | ") && Contains("correct \"server\""));
    CHECK(is_documented("api-access", "a web server answers in place of the API server", other_server));
    const Cluster cluster(kTainted);
    node.use("rdmanet", cluster.url());
    CHECK_THAT(node.found_by("taints"), Contains("dedicated=hpc"));
}

TEST_CASE("the API server must know the node by its name") {
    const NodeOfCluster node;
    const Cluster cluster(kTainted);
    node.use("multus", cluster.url());
    CHECK(node.found_by("node-name").empty());
    CHECK(node.why_not("node-name").empty());
    node.write("etc/hostname", "node-1.example.com");
    const std::string unknown = node.found_by("node-name");
    CHECK_THAT(unknown, Contains("warning | node-1.example.com | ") && Contains("set \"nodeName\" in /etc/cni"));
    CHECK(is_documented("node-name", "the host's name is not the Node's", unknown));
    node.write("etc/cni/net.d/rdmanet.d/rdmanet.conf", R"({"nodeName": "node-1"})");
    CHECK(node.found_by("node-name").empty());
}

TEST_CASE("a pod that this user may not see is not called dead") {
    NodeOfCluster node;
    node.asked_pod = "shop/till";
    CHECK_THAT(node.found_by("pod-found"), Contains("failure | shop/till | no network namespace"));
    node.inventory.unseen = {"some processes' network namespaces (Permission denied): run it as root on the node"};
    const std::string unseen = node.found_by("pod-found");
    CHECK_THAT(unseen, Contains("warning | shop/till | ") && Contains("as root"));
    CHECK(is_documented("pod-found", "a user who is not root", unseen));
    node.inventory.unseen.clear();
    node.inventory.namespaces.push_back({.inode = 3, .path = "/proc/3/ns/net", .pid = 3, .trouble = "refused"});
    CHECK_THAT(node.found_by("pod-found"), Contains("warning | shop/till | ") && Contains("(refused)"));
}

TEST_CASE("a token that does not say when it expires is no token that lasts") {
    const NodeOfCluster node;
    node.use("multus", "http://127.0.0.1:1", "opaque");
    CHECK_THAT(node.why_not("tokens"), Contains("says when it expires"));
}

TEST_CASE("a server that gives no answer is asked once, whoever asks") {
    const NodeOfCluster node;
    // It only listens, until its client goes.
    const http::test::ScriptedServer silent([](http::test::Connection& client) {
        while (!client.read_request().empty()) continue;
    });
    node.use("multus", silent.url());
    node.use("rdmanet", silent.url());
    CHECK_THAT(node.why_not("taints"), Contains("no answer"));
    CHECK(silent.connections() == 1);
}

} // namespace rdmanet::doctor
