// `rdmanet ipam reconcile` against a real API server. What it frees, and when, is in
// test/unit/cluster/reconcile_test.cpp, where the server's clock can be put forward.
#include "attachment_stage.hpp"
#include "cluster_machine.hpp"
#include "cluster_stage.hpp"
#include "configured_node.hpp"
#include "etcd_stage.hpp"
#include "example_pod.hpp"
#include "markdown.hpp"

#include "support/concat.hpp"
#include "support/names.hpp"
#include "support/process.hpp"
#include "support/reporter.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace rdmanet::test {
namespace {

using Catch::Contains;
namespace fs = std::filesystem;

/// A lease of a pod that is not there, for as long as this lives.
class LostLease {
public:
    LostLease() {
        shell(concat(cluster(),
                     R"(/apply '{"apiVersion":"whereabouts.cni.cncf.io/v1alpha1","kind":"IPPool","metadata":)",
                     R"({"name":"lost-10.72.0.0-24"},"spec":{"range":"10.72.0.0/24","allocations":{"7":{"id":"c",)",
                     R"("podref":"shop/lost","ifname":"net1"}}}}')"));
    }
    LostLease(const LostLease&) = delete;
    LostLease& operator=(const LostLease&) = delete;
    ~LostLease() { (void)succeeds(concat(cluster(), "/delete ippools/lost-10.72.0.0-24")); }

    [[nodiscard]] static bool is_there() {
        return succeeds(concat(cluster(), R"(/get ippools/lost-10.72.0.0-24 | jq -e '.spec.allocations["7"]')"));
    }
};

/// What a pod has of its ServiceAccount "namespace/name", and a copy of the binary that everybody may run.
class PodOfAccount {
public:
    explicit PodOfAccount(const std::string& account) {
        const auto slash = account.find('/');
        const std::string name_space = account.substr(0, slash);
        fs::create_directories(kFiles);
        fs::copy_file(concat(cluster(), "/pki/ca.crt"), concat(kFiles, "/ca.crt"),
                      fs::copy_options::overwrite_existing);
        std::ofstream(concat(kFiles, "/namespace")) << name_space;
        shell(concat(". ", cluster(), "/lib; api -H 'Content-Type: application/json' --data-binary '",
                     R"({"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest","spec":{}}')",
                     " $url/api/v1/namespaces/", name_space, "/serviceaccounts/", account.substr(slash + 1),
                     "/token | jq --exit-status --raw-output .status.token >", kFiles, "/token"));
        shell(concat("install -m 755 ", test::binary(), ' ', kBinary));
    }
    PodOfAccount(const PodOfAccount&) = delete;
    PodOfAccount& operator=(const PodOfAccount&) = delete;
    ~PodOfAccount() {
        fs::remove_all(kFiles);
        fs::remove(kBinary);
    }

    /// Not as root.
    [[nodiscard]] ProcessResult run(std::vector<std::string> command) const {
        const std::string url = shell(concat(cluster(), "/get --url"));
        const auto host = url.find("//") + 2;
        const auto port = url.rfind(':') + 1;
        command.front() = kBinary;
        const std::vector<std::string> as_nobody{"setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"};
        command.insert(command.begin(), as_nobody.begin(), as_nobody.end());
        return run_process(command,
                           {.environment = {concat("KUBERNETES_SERVICE_HOST=", url.substr(host, port - host - 1)),
                                            concat("KUBERNETES_SERVICE_PORT=", url.substr(port))}});
    }

private:
    const std::string kFiles = "/var/run/secrets/kubernetes.io/serviceaccount";
    const std::string kBinary = "/tmp/rdmanet-of-everybody";
};

} // namespace

TEST_CASE("ipam reconcile looks, and names the rule of what it would free", "[cluster]") {
    NEEDS(!cluster().empty(), kNeedsCluster);
    const LostLease lease;
    const std::string command =
        concat(binary(), " ipam reconcile --dry-run --kubeconfig ", cluster(), "/admin.kubeconfig");
    CHECK_THAT(shell(command), Names("would free 10.72.0.7 of pod shop/lost, net1 (IPPool lost-10.72.0.0-24)",
                                     "rule pod-name", "there is no pod shop/lost"));
    CHECK(shell(concat(command, R"( --json | jq -r '.freed[] | select(.object == "lost-10.72.0.0-24") | .rule')")) ==
          "pod-name\n");
    CHECK_THAT(shell(command), Names("looked at ", " in namespace \"kube-system\""));
    CHECK_THAT(shell(command + " --namespace default"),
               Names("namespace \"default\" has no IPPools", "--namespace") && !Catch::Contains("10.72.0.7"));
    CHECK(LostLease::is_there());
    const ProcessResult refused =
        run_process({binary(), "ipam", "reconcile", "--dry-run", "--kubeconfig", cluster() + "/nobody.kubeconfig"});
    CHECK(refused.exit_status == 1);
    CHECK_THAT(refused.err, Names("HTTP 403", "cannot list resource \"ippools\"", "nobody"));
}

TEST_CASE("the example CronJob runs as a pod of its ServiceAccount", "[cluster][examples]") {
    NEEDS(!cluster().empty(), kNeedsCluster);
    const Manifests all = example_manifests();
    REQUIRE(all.cluster_jobs.size() == 1);
    const ClusterJob& job = all.cluster_jobs.front();
    CHECK_FALSE(job.is_root);
    const LostLease lease;
    const PodOfAccount pod(job.service_account);
    std::vector<std::string> looks = job.command;
    looks.emplace_back("--dry-run");
    const ProcessResult result = pod.run(looks);
    CHECK(result.err == "");
    CHECK(result.exit_status == 0);
    CHECK_THAT(result.out, Contains("would free 10.72.0.7 of pod shop/lost"));
    // The same pod may look at the pools by hand.
    CHECK_THAT(pod.run({binary(), "ipam", "show"}).out, Contains("10.72.0.7") && Contains("shop/lost"));
    CHECK_THAT(pod.run({binary(), "ipam", "check", "--pause", "0"}).out, Contains("1 lease, "));
}

TEST_CASE("the example CronJob frees leases in etcd, if its Secret has the files of the nodes",
          "[cluster][etcd][examples]") {
    NEEDS(cluster_lacks().empty(), cluster_lacks());
    const ClusterJob job = example_manifests().cluster_jobs.front();
    REQUIRE(job.secret_path == kNodeFiles);
    // docs/addresses.md says which files.
    const Markdown page = read_markdown("docs/addresses.md");
    const bool is_documented = std::any_of(page.blocks.begin(), page.blocks.end(), [&](const CodeBlock& block) {
        return block.text.find(concat("create secret generic ", job.secret, " ")) != std::string::npos;
    });
    CHECK(is_documented);

    // The API server's own etcd is there anyway.
    const std::string at = concat("http://127.0.0.1:", shell("sed -n 2p " + cluster() + "/ports | tr -d '\\n'"));
    const std::string prefix = concat("/rdmanet/", own_space());
    const ConfiguredNode files;
    std::ofstream(kNodeFiles + "/rdmanet.conf") << json_text(concat("{", etcd_servers(prefix, at), "}"));
    shell(concat(
        cluster(), R"(/apply '{"apiVersion":"v1","kind":"Node","metadata":{"name":"job"},"status":{"nodeInfo":)",
        R"({"machineID":")", machine_id(), R"("},"conditions":[{"type":"Ready","status":"True"}]}}' /api/v1/nodes)"));
    const Stage stage;
    const PluginCall lost = etcd_call(stage.pod, prefix, "'range':'10.72.1.0/24'", at);
    const std::string address = addresses(add(lost));
    const PodOfAccount pod(job.service_account);
    std::vector<std::string> looks = job.command;
    looks.emplace_back("--dry-run");
    const ProcessResult result = pod.run(looks);
    CHECK(result.err == "");
    CHECK_THAT(result.out,
               Names(concat("would free ", address.substr(0, address.find('/')), " of pod shop/till"), "rule pod-uid"));
    CHECK(del(lost) == "");
    shell(cluster() + "/delete /api/v1/nodes/job");
    CHECK(stage.node.difference() == "");
}

TEST_CASE("ipam reconcile needs an API server", "[ipam]") {
    const ProcessResult result = run_process({binary(), "ipam", "reconcile"});
    CHECK(result.exit_status == 1);
    CHECK_THAT(result.err, Names("no API server is named", "--kubeconfig", "/etc/cni/net.d/rdmanet.d/rdmanet.conf"));
}

} // namespace rdmanet::test
