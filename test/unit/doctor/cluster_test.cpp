// Networks in files of a node, and a cluster whose API server is not there. What a real one says is in test/e2e.
#include "machine.hpp"

namespace rdmanet::doctor {
namespace {

constexpr const char* kRuntimes = "etc/cni/net.d/10-roce.conflist";
constexpr const char* kMultus = "etc/cni/multus/net.d/roce.conflist";

std::string list_of(const std::string& keys) {
    return R"({"cniVersion": "1.0.0", "name": "roce", "plugins": [{"type": "rdmanet", )" + keys +
           R"(}, {"type": "tuning"}]})";
}

constexpr const char* kGood = R"("master": "mlx5_0", "capabilities": {"mac": true})";

std::string kubeconfig_with_files(const std::string& authority, const std::string& token) {
    return "clusters: [{name: c, cluster: {server: \"https://127.0.0.1:1\", certificate-authority: " + authority +
           "}}]\nusers: [{name: u, user: {tokenFile: " + token +
           "}}]\ncontexts: [{name: x, context: {cluster: c, user: u}}]\ncurrent-context: x\n";
}

class MachineWithCni : public Machine {
public:
    MachineWithCni() {
        make("etc/cni/net.d");
        make("etc/cni/multus/net.d");
    }
};

} // namespace

TEST_CASE("a network of rdmanet in a file is read as ADD reads it") {
    const MachineWithCni node;
    CHECK_THAT(node.why_not("networks"), Has("have no configuration"));
    node.write(kRuntimes, R"({"cniVersion": "1.0.0", "name": "other", "type": "bridge", "master": "nobody"})");
    CHECK(node.found_by("networks").empty());
    CHECK(node.why_not("networks").empty());
    node.write(kMultus, list_of(kGood));
    CHECK(node.found_by("networks").empty());

    node.write(kMultus, list_of(R"("master": "mlx5_0", "mtu": "big")"));
    node.must_find("networks", "a network with \"mtu\": \"big\"",
                   "| /etc/cni/multus/net.d/roce.conflist | ADD refuses it: mtu", "`rdmanet plan`");
    node.write(kMultus, R"({"type": "rdmanet",)");
    CHECK_THAT(node.found_by("networks"), Has("failure", "line 2"));
    node.write(kMultus, list_of(R"("master": "mlx5_0", "capabilities": {"mac": true}, "mastr": "x")"));
    CHECK_THAT(node.found_by("networks"), Has("warning", "unknown key mastr"));
    node.write(kMultus, R"({"cniVersion": "1.0.0", "type": "rdmanet", "capabilities": {"mac": true}})");
    CHECK_THAT(node.found_by("networks"), Has("failure", "name"));
    node.write(kMultus, R"({"cniVersion": "1.0.0", "name": "roce", "type": "macvlan", "ipam": {"type": "rdmanet"}})");
    CHECK_THAT(node.found_by("networks"), Has("failure", "range"));
}

TEST_CASE("the parent of a network must be on this node") {
    MachineWithCni node;
    node.write(kMultus, list_of(R"("master": "lo", "capabilities": {"mac": true})"));
    CHECK_THAT(node.found_by("networks"), Has("warning", "\"lo\" is not an Ethernet interface"));
    node.write(kMultus, list_of(R"("master": "nobody0", "capabilities": {"mac": true})"));
    node.must_find("networks", "a network whose master is not there", "`rdma link`");
    node.write(kMultus, list_of(R"("master": "nobody0", "linkInContainer": true, "capabilities": {"mac": true})"));
    CHECK(node.found_by("networks") == "");
    node.write(kMultus, list_of(kGood));
    node.inventory.devices.front().rdma.front().place = 1;
    CHECK_THAT(node.found_by("networks"), Has("warning")); // the RDMA device is in a pod
}

TEST_CASE("requests of pods that the network does not declare are an info") {
    MachineWithCni node;
    const std::string addresses = R"("ipam": {"type": "rdmanet", "addresses": [{"address": "10.0.0.5/24"}]})";
    node.write(kMultus, list_of(R"("master": "mlx5_0", "capabilities": {"ips": false}, )" + addresses));
    node.must_find("networks", "a network without `capabilities`", "\"capabilities\"");
    node.write(kRuntimes, list_of(R"("master": "mlx5_0")"));
    CHECK_THAT(node.found_by("networks"), Has("| 2 networks do not declare", "net.d/10-roce"));
    node.remove(kRuntimes);
    const auto declaring = [&](const std::string& capability, const std::string& keys) {
        node.write(kMultus, list_of(R"("capabilities": {")" + capability + R"(": true}, )" + keys));
        return node.found_by("networks");
    };
    CHECK(declaring("ips", R"("master": "mlx5_0", "attach": "ipvlan", )" + addresses).empty());
    CHECK(declaring("mac", R"("attach": "sriov", "deviceID": "0000:3b:00.2")").empty());
    CHECK(declaring("infinibandGUID", R"("attach": "sriov", "deviceID": "0000:3b:00.2")").empty());
    node.inventory.devices.front().rdma.front().protocol = "ib";
    CHECK_THAT(declaring("mac", R"("attach": "sriov", "deviceID": "0000:3b:00.2")"), Has("info", "\"infinibandGUID\""));
}

TEST_CASE("the store of a network is in files of the host, wherever its / is mounted") {
    const MachineWithCni node;
    const auto network = [&](const std::string& path) {
        node.write(kMultus, list_of(R"("master": "mlx5_0", "capabilities": {"mac": true, "ips": true}, )"
                                    R"("ipam": {"type": "rdmanet", "range": "10.0.0.0/24")" +
                                    path + "}"));
        return node.found_by("networks");
    };
    const std::string named = R"(, "configuration_path": "/etc/cni/net.d/whereabouts.d/whereabouts.conf")";
    CHECK_THAT(network(""), Documented("networks", "a network with a range, and no cluster is configured"));
    CHECK_THAT(network(named), Has("ADD refuses it: ipam.configuration_path: this node has no file /etc/cni"));
    node.write("etc/cni/net.d/whereabouts.d/whereabouts.conf",
               R"({"kubernetes": {"kubeconfig": "/etc/kubernetes/k"}})");
    const std::string missing = network(named);
    CHECK_THAT(missing,
               Documented("networks", "the kubeconfig of a network's store is not there") && !Has(node.root()));
    node.write("etc/kubernetes/k", "kind: [");
    CHECK_THAT(network(named), Documented("networks", "the kubeconfig of a network's store is not YAML",
                                          "| correct kubeconfig /etc/kubernetes/k\n"));
    node.write("etc/kubernetes/k", kubeconfig_for("http://127.0.0.1:1"));
    CHECK(network(named).empty());
    node.write("etc/kubernetes/k", kubeconfig_with_files("pki/current.crt", "/etc/kubernetes/token"));
    CHECK_THAT(network(named), Has("names /etc/kubernetes/pki/current.crt, which is missing on this node"));
    node.write("etc/kubernetes/pki/2026.crt", "a certificate");
    fs::create_symlink("2026.crt", node.root() + "/etc/kubernetes/pki/current.crt");
    CHECK_THAT(network(named), Has("names /etc/kubernetes/token, which is missing on this node") && !Has(node.root()));
    node.write("etc/kubernetes/token", "a token");
    CHECK(network(named).empty());
    // As kubelet.conf.
    node.write("etc/kubernetes/k", kubeconfig_with_files("/var/lib/kubelet/pki/ca.crt", "/etc/kubernetes/token"));
    CHECK_THAT(network(named), Has("names /var/lib/kubelet/pki/ca.crt, but a kubeconfig that a network names must have "
                                   "its files below /etc/kubernetes"));
    node.write("etc/cni/net.d/rdmanet.d/rdmanet.conf", R"({"directories": ["/etc/cni/net.d"]})");
    CHECK_THAT(network(named), Has("kubeconfig /etc/kubernetes/k is not below a directory whose files networks may use "
                                   "(/etc/cni/net.d)"));

    node.write("etc/cni/net.d/rdmanet.d/rdmanet.conf", R"({"store": "etcd"})");
    CHECK_THAT(network(""), Has("ADD refuses it: ", "store: expected \"node\" or no such key, found \"etcd\""));
    CHECK_THAT(network(named), !Has("etcd"));
}

TEST_CASE("a configuration of Multus that cannot work stops pods") {
    const MachineWithCni node;
    const auto write = [&](const std::string& text) { node.write("etc/cni/net.d/00-multus.conf", text); };
    const std::string conf =
        R"({"cniVersion": "0.3.1", "name": "m", "type": "multus", "kubeconfig": "/etc/m.kubeconfig")";
    node.write("etc/m.kubeconfig", "");
    write(conf + '}');
    CHECK(node.found_by("multus").empty());
    node.remove("etc/m.kubeconfig");
    node.must_find("multus", "the kubeconfig of Multus is gone", "restart the pod of Multus");
    write(conf);
    node.must_find("multus", "the first configuration is not JSON", "/etc/cni/net.d/00-multus.conf first", "line 2");
}

TEST_CASE("a token is found in either style of YAML") {
    const MachineWithCni node;
    node.make("etc/cni/net.d/multus.d");
    const std::string token = "e30.eyJleHAiOjF9.c2ln"; // {"exp":1}
    for (const std::string& text :
         {"users:\n- user:\n    token: " + token, "users: [{user: {token: \"" + token + "\"}}]"}) {
        INFO(text);
        node.write("etc/cni/net.d/multus.d/multus.kubeconfig", text);
        CHECK_THAT(node.found_by("tokens"), Has("failure", "expired"));
    }
}

TEST_CASE("a node's configuration that is not JSON is named") {
    const MachineWithCni node;
    node.write("etc/cni/net.d/multus.d/multus.kubeconfig", kubeconfig_for("http://127.0.0.1:1"));
    node.write("etc/cni/net.d/rdmanet.d/rdmanet.conf", "{");
    CHECK_THAT(node.why_not("taints"), Has("/etc/cni/net.d/rdmanet.d/rdmanet.conf: "));
}

TEST_CASE("without an API server, its checks say why they were not made") {
    const MachineWithCni node;
    for (const char* check : {"definitions", "taints"}) CHECK_THAT(node.why_not(check), Has("--kubeconfig"));
    CHECK_THROWS_WITH(node.why_not("taints", "/nowhere"), "--kubeconfig /nowhere: there is no such file");

    node.write("etc/cni/net.d/multus.d/multus.kubeconfig", kubeconfig_for("http://127.0.0.1:1"));
    for (const char* check : {"definitions", "taints"}) CHECK_THAT(node.why_not(check), Has("127.0.0.1:1", "refused"));
}

} // namespace rdmanet::doctor
