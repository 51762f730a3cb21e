// An API server that is slow, stopped, or refuses: what ADD and DEL say, and what they leave.
#include "attachment_stage.hpp"
#include "cluster_stage.hpp"

#include "support/concat.hpp"
#include "support/names.hpp"
#include "support/process.hpp"
#include "support/reporter.hpp"
#include "unit/http/scripted_server.hpp"

#include <catch2/catch.hpp>

#include <fstream>

namespace rdmanet::test {
namespace {

using Catch::Matches;

constexpr const char* kNeedsCluster = "a Kubernetes API server (test/cluster/cluster.sh run)";

/// A kubeconfig for the cluster's server with other words in it.
std::string kubeconfig(const std::string& what = "", const std::string& by = "", const std::string& user = "rdmanet") {
    const std::string content = read_file(cluster() + "/" + user + ".kubeconfig");
    if (what.empty()) return content;
    const std::string changed = replaced(content, what, by);
    if (changed == content) throw std::runtime_error("kubeconfig has no " + what);
    return changed;
}

/// An attachment of a pod whose network has its addresses in the cluster.
PluginCall call_in_cluster(const Pod& pod, const std::string& range, const std::string& more = "") {
    PluginCall call = call_for(pod, concat("'master':'par0','ipam':{'type':'rdmanet','store':'whereabouts','range':'",
                                           range, "','kubernetes':{'kubeconfig':'", kKubeconfig, "'", more, "}}"));
    call.args = "IgnoreUnknown=1;K8S_POD_NAMESPACE=shop;K8S_POD_NAME=till";
    return call;
}

/// The API server, which gets no processor time until this ends.
class StoppedServer {
public:
    StoppedServer() { shell(concat("kill -STOP $(cat ", cluster(), "/apiserver.pid)")); }
    StoppedServer(const StoppedServer&) = delete;
    StoppedServer& operator=(const StoppedServer&) = delete;
    ~StoppedServer() { (void)succeeds(concat("kill -CONT $(cat ", cluster(), "/apiserver.pid)")); }
};

const std::string kHasNoRecord = "{}\n";
std::string records_of(const std::string& pool) {
    return shell(concat(cluster(), "/get ippools/", pool, " | jq --compact-output '.spec.allocations // {}'"));
}

} // namespace

TEST_CASE("an ADD that fails says at which server and in which step, the server's words, and for how long it tried",
          "[cluster]") {
    NEEDS(kernel_has("macvlan"), "macvlan");
    NEEDS(!cluster().empty(), kNeedsCluster);
    const Stage stage;
    const PluginCall call = call_in_cluster(stage.pod, "10.31.20.0/24");
    const std::string url = shell(cluster() + "/get --url");
    const auto why = [&](const std::string& content, const PluginCall& add) {
        write_kubeconfig(content);
        return refusal(add);
    };
    const auto patient = [&](const std::string& times) { return call_in_cluster(stage.pod, "10.31.20.0/24", times); };
    const std::string duration = ", after ([0-9]+ ms|[0-9]+\\.[0-9] s)";

    const std::string other_ca =
        shell("openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout /dev/null "
              "-subj /CN=other -days 2 2>/dev/null | base64 -w0");
    const std::string ca = shell(concat("base64 -w0 ", cluster(), "/pki/ca.crt"));
    CHECK_THAT(why(kubeconfig(ca, other_ca), call),
               Names("code 11", url + ": TLS: the server's certificate is refused: ") && Matches(".*" + duration));
    CHECK_THAT(why(kubeconfig("server:", "tls-server-name: api.example, server:"), call),
               Names("code 11", url + ": TLS: the server's certificate is refused: hostname mismatch"));
    CHECK_THAT(why(kubeconfig("rdmanet-token", "n0t-a-token"), call),
               Names("code 109", url, "HTTP 401: Unauthorized", "renew the token") && !Catch::Contains("n0t-a-token"));
    CHECK_THAT(why(kubeconfig("", "", "nobody"), call),
               Names("code 109", url, "HTTP 403: ippools.whereabouts.cni.cncf.io", "User \"nobody\" cannot get",
                     "grant that right"));
    CHECK_THAT(why(kubeconfig(url, "http://127.0.0.1:1"), call),
               Names("code 11", "http://127.0.0.1:1: TCP: connecting: connection refused") && Matches(".*" + duration));
    {
        const http::test::ScriptedServer silent([](http::test::Connection& connection) {
            (void)connection.read_request();
            (void)connection.read_request(); // until the client gives up
        });
        CHECK_THAT(why(replaced(kNobody, "http://127.0.0.1:1", silent.url()), patient(",'requestTimeoutMs':300")),
                   Names("code 11", silent.url() + ": HTTP: no answer") && Matches(".*, after [0-9]{3} ms"));
    }
    {
        const StoppedServer stopped; // the kernel still accepts connections
        CHECK_THAT(why(kubeconfig(), patient(",'connectTimeoutMs':300")),
                   Names("code 11", url + ": TLS: no answer") && Matches(".*, after [0-9]{3} ms"));
        CHECK_THAT(why(kubeconfig(), patient(",'connectTimeoutMs':30000,'addTimeoutMs':1000")),
                   Names("code 11", url + ": TLS: no answer") && Matches(".*, after (9[0-9]{2} ms|1\\.[0-9] s)"));
    }
    CHECK(addresses(add(call)) == "10.31.20.1/24");
    CHECK(del(call) == "");
    CHECK(records_of("10.31.20.0-24") == kHasNoRecord);
    CHECK(stage.node.difference() == "");
}

} // namespace rdmanet::test
