// Networks that do not fit to this node. What interfaces do to them is in test/e2e/doctor_networks_test.cpp.
#include "machine.hpp"

#include "network_fit.hpp"
#include "unit/http/scripted_server.hpp"

namespace rdmanet::doctor {
namespace {

using Catch::Contains;

constexpr const char* kNetwork = "etc/cni/multus/net.d/roce.conflist";

class NetworkMachine : public Machine {
public:
    NetworkMachine() { make("etc/cni/multus/net.d"); }

    /// What the doctor says to a network with these keys in a file.
    [[nodiscard]] std::string says(const std::string& keys) const {
        write(kNetwork, text_of(keys));
        return found_by("networks");
    }

    static std::string text_of(const std::string& keys) {
        return R"({"cniVersion": "1.0.0", "name": "roce", "plugins": [{"type": "rdmanet", )" + keys +
               R"(, "capabilities": {"mac": true}}]})";
    }
};

/// An API server that has one definition, or none.
class Definitions {
public:
    explicit Definitions(const std::string& config)
        : server_([config](http::test::Connection& client) {
              std::string quoted;
              for (const char c : config) quoted += c == '"' ? std::string("\\\"") : std::string(1, c);
              const std::string body =
                  config.empty() ? R"({"items": []})"
                                 : R"({"items": [{"metadata": {"namespace": "default", "name": "roce", "annotations": )"
                                   R"({"k8s.v1.cni.cncf.io/resourceName": "example.com/a"}}, "spec": {"config": ")" +
                                       quoted + "\"}}]}";
              for (std::string request = client.read_request(); !request.empty(); request = client.read_request())
                  client.send("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: " +
                              std::to_string(body.size()) + "\r\n\r\n" + body);
          }) {}

    void tell(const Machine& machine) const {
        machine.make("etc/cni/net.d/multus.d");
        machine.write("etc/cni/net.d/multus.d/multus.kubeconfig", kubeconfig_for(server_.url()));
    }

private:
    http::test::ScriptedServer server_;
};

constexpr const char* kShared = R"("master": "mlx5_0", "rdma": true)";

} // namespace

TEST_CASE("a network whose RDMA mode is not the node's is what ADD would refuse") {
    NetworkMachine node;
    CHECK(node.says(kShared).empty());
    node.inventory.rdma_system->netns_mode = kernel::RdmaNetnsMode::exclusive;
    const std::string needs_shared = node.says(kShared);
    CHECK_THAT(needs_shared, Contains("roce.conflist | ADD refuses it: ") && Contains("rdma system set netns shared`"));
    CHECK(is_documented("networks", "a network of children with `\"rdma\": true`, in mode exclusive", needs_shared));
    const std::string optional = node.says(R"("master": "mlx5_0")");
    CHECK_THAT(optional, Contains("rdma system set netns shared`"));
    CHECK(is_documented("networks", "a network of children without a key `rdma`, in mode exclusive", optional));
    CHECK(node.says(R"("master": "mlx5_0", "rdma": false)").empty());
    const std::string vf = R"("attach": "sriov", "deviceID": "0000:3b:00.2", "rdma": {"mode": "exclusive"})";
    CHECK(node.says(vf).empty());
    node.inventory.rdma_system->netns_mode = kernel::RdmaNetnsMode::shared;
    const std::string needs_exclusive = node.says(vf);
    CHECK_THAT(needs_exclusive, Contains("`rdma system set netns exclusive`") && Contains("ib_core.conf"));
    CHECK(
        is_documented("networks", "a network of VFs with `\"mode\": \"exclusive\"`, in mode shared", needs_exclusive));
    CHECK(node.says(R"("attach": "sriov", "deviceID": "0000:3b:00.2")").empty());
}

TEST_CASE("a master with a driver's name is looked for among the names that udev gives") {
    NetworkMachine node;
    const std::string file = "usr/lib/udev/rules.d/60-rdma-persistent-naming.rules";
    node.inventory.devices.front().rdma.front().name = "nic_a";
    CHECK_THAT(node.says(kShared), Contains("`rdma link`") && !Contains("udev"));
    node.write(file, "");
    CHECK_THAT(node.says(kShared), Contains(": nic_a"));
    node.remove(file);
    node.inventory.devices.front().rdma.front().name = "rocep59s0f0";
    const std::string renamed = node.says(kShared);
    CHECK_THAT(renamed, Contains("set \"master\" to") && Contains("60-rdma-persistent-naming.rules): rocep59s0f0"));
    CHECK(is_documented("networks", "a network whose master udev has renamed", renamed));
    CHECK(node.says(R"("master": "rocep59s0f0")").empty());
    CHECK_THAT(node.says(R"("master": "ens7")"), !Contains("udev"));
    node.inventory.devices.front().rdma.front().name = "mlx5_1";
    CHECK_THAT(node.says(kShared), !Contains("udev"));
}

TEST_CASE("of the names that udev gives, a few of PFs are enough") {
    NetworkMachine node;
    inventory::Device pf = node.inventory.devices.front();
    inventory::Device vf = pf;
    vf.pci->pf = pf.pci->address;
    vf.rdma.front().name = "rocep59s0f0v0";
    node.inventory.devices = {vf};
    for (int i = 0; i < 10; ++i) {
        pf.rdma.front().name = "rocep" + std::to_string(i) + "s0";
        node.inventory.devices.push_back(pf);
    }
    CHECK_THAT(node.says(kShared), Contains(": rocep0s0, rocep1s0, ") && Contains("rocep7s0, and 2 more\n") &&
                                       !Contains("rocep59s0f0v0") && !Contains("rocep8s0"));
}

TEST_CASE("only a PF of NVIDIA gets the command that changes the kind of its port") {
    NetworkMachine node;
    const auto fix = [&](const std::string& address, PortKind wanted) {
        return fix_by_firmware(node.inventory, address, wanted);
    };
    CHECK_THAT(fix("0000:3b:00.0", PortKind::ethernet),
               Contains("VPI") && Contains("`mlxconfig -d 0000:3b:00.0 set LINK_TYPE_P1=2`"));
    CHECK_THAT(fix("0000:3b:00.0", PortKind::infiniband), Contains("LINK_TYPE_P1=1`"));
    CHECK(fix("0000:3b:00.1", PortKind::ethernet).empty());
    CHECK(fix("", PortKind::ethernet).empty());
    node.nic().pf = base::PciAddress::parse("0000:3b:00.1").value();
    CHECK(fix("0000:3b:00.0", PortKind::ethernet).empty());
    node.nic().pf.reset();
    node.nic().vendor = 0x8086;
    CHECK(fix("0000:3b:00.0", PortKind::ethernet).empty());
}

TEST_CASE("what a definition asks of this node is only worth knowing") {
    NetworkMachine node;
    node.inventory.rdma_system->netns_mode = kernel::RdmaNetnsMode::exclusive;
    const Definitions definitions(NetworkMachine::text_of(kShared));
    definitions.tell(node);
    const std::string found = node.found_by("definitions");
    CHECK_THAT(found, Contains("info | default/roce | ADD refuses it: ") &&
                          Contains("if its pods shall run here, run `rdma system set netns shared`"));
    CHECK(is_documented("definitions", "a definition for nodes in mode shared, in mode exclusive", found));
    node.make("var/lib/kubelet/device-plugins");
    node.write("var/lib/kubelet/device-plugins/kubelet_internal_checkpoint",
               R"({"Data": {"RegisteredDevices": {"example.com/b": ["0"]}}})");
    CHECK_THAT(node.found_by("definitions"), Contains("run elsewhere") && !Contains("ADD refuses it"));
    node.remove("var/lib/kubelet/device-plugins");
    node.inventory.rdma_system->netns_mode = kernel::RdmaNetnsMode::shared;
    CHECK(node.found_by("definitions").empty());
}

TEST_CASE("the files of a definition's store matter only where its pods run") {
    NetworkMachine node;
    node.make("etc/cni/net.d/whereabouts.d");
    node.write("etc/cni/net.d/whereabouts.d/whereabouts.conf", R"({"kubernetes": {"kubeconfig": "/k"}})");
    const Definitions definitions(NetworkMachine::text_of(
        std::string(kShared) + R"(, "ipam": {"type": "rdmanet", "range": "10.0.0.0/24", "configuration_path": )"
                               R"("/etc/cni/net.d/whereabouts.d/whereabouts.conf"})"));
    definitions.tell(node);
    const std::string missing = node.found_by("definitions");
    CHECK_THAT(missing,
               Contains("info | default/roce | its kubeconfig /k") && Contains("if its pods shall run here, "));
    CHECK(is_documented("definitions", "the kubeconfig of a definition's store is not there", missing));
    node.make("var/lib/kubelet/device-plugins");
    node.write("var/lib/kubelet/device-plugins/kubelet_internal_checkpoint",
               R"({"Data": {"RegisteredDevices": {"example.com/b": ["0"]}}})");
    CHECK_THAT(node.found_by("definitions"), Contains("run elsewhere") && !Contains("kubeconfig"));
    node.remove("var/lib/kubelet/device-plugins");
    node.write("k", kubeconfig_for("http://127.0.0.1:1"));
    CHECK_THAT(node.found_by("definitions"), !Contains("/k"));
}

TEST_CASE("a node without any network of rdmanet is told what to write") {
    NetworkMachine node;
    CHECK(node.found_by("any-network").empty());
    CHECK_THAT(node.why_not("any-network"), Contains("neither Multus nor rdmanet has a kubeconfig"));
    CHECK(node.says(kShared).empty());
    CHECK(node.why_not("any-network").empty());
    node.remove(kNetwork);
    SECTION("without a definition") {
        const Definitions definitions("");
        definitions.tell(node);
        const std::string found = node.found_by("any-network");
        CHECK_THAT(found, Contains("info |  | ") && Contains("\"master\"") && Contains("`rdmanet plan FILE`"));
        CHECK(is_documented("any-network", "a node without a network of rdmanet", found));
        node.inventory.rdma_system->netns_mode = kernel::RdmaNetnsMode::exclusive;
        CHECK_THAT(node.found_by("any-network"), Contains("\"attach\": \"sriov\"") && !Contains("\"master\""));
        CHECK(node.says(R"("master": "mlx5_0", "rdma": false)").empty());
        CHECK(node.found_by("any-network").empty());
        node.remove(kNetwork);
    }
    SECTION("as a definition") {
        const Definitions definitions(NetworkMachine::text_of(kShared));
        definitions.tell(node);
        CHECK(node.found_by("any-network").empty());
    }
    SECTION("of another plugin") {
        const Definitions definitions(R"({"cniVersion": "1.0.0", "name": "other", "type": "bridge"})");
        definitions.tell(node);
        CHECK_THAT(node.found_by("any-network"), Contains("info"));
    }
    SECTION("the API server gives no answer") {
        node.make("etc/cni/net.d/multus.d");
        node.write("etc/cni/net.d/multus.d/multus.kubeconfig", kubeconfig_for("http://127.0.0.1:1"));
        CHECK(node.found_by("any-network").empty());
        CHECK_THAT(node.why_not("any-network"), Contains("127.0.0.1:1"));
    }
}

} // namespace rdmanet::doctor
