// What an API server says of the node, if the server is what no real one can be brought to be.
#include "machine.hpp"

#include "unit/http/scripted_server.hpp"

namespace rdmanet::doctor {
namespace {

using Catch::Contains;

constexpr const char* kTainted = R"([{"key": "dedicated", "value": "hpc", "effect": "NoSchedule"}])";

/// An API server that has the Node node-1 and nothing else. It hangs up on the token "hated", as TLS does if a
/// kubeconfig has the CA of yesterday.
class Cluster {
public:
    explicit Cluster(const std::string& taints)
        : server_([node = R"({"metadata": {"name": "node-1"}, "spec": {"taints": )" + taints +
                          "}}"](http::test::Connection& client) {
              for (std::string request = client.read_request(); !request.empty(); request = client.read_request()) {
                  if (request.find("Bearer hated") != std::string::npos) return;
                  const bool is_old = request.find("Bearer old") != std::string::npos;
                  const bool is_node = !is_old && request.starts_with("GET /api/v1/nodes/node-1 ");
                  const std::string body = is_node ? node : R"({"kind": "Status"})";
                  client.send(std::string("HTTP/1.1 ") +
                              (is_old    ? "401 Unauthorized"
                               : is_node ? "200 OK"
                                         : "404 Not Found") +
                              "\r\nContent-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) +
                              "\r\n\r\n" + body);
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
