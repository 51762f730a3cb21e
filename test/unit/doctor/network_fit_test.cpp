// Networks that do not fit to this node. What interfaces do to them is in test/e2e/doctor_networks_test.cpp.
#include "machine.hpp"
#include "network_fit.hpp"
#include "network_ranges.hpp"
#include "unit/http/scripted_server.hpp"

#include <rdmanet/cni/net_conf.hpp>

#include <catch2/catch.hpp>

#include <string>

namespace rdmanet::doctor {
namespace {

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
                  client.answer(body);
          }) {}

    void tell(const Machine& machine) const {
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
    CHECK_THAT(node.says(kShared),
               Documented("networks", "a network of children with `\"rdma\": true`, in mode exclusive",
                          "roce.conflist | ADD refuses it: ", "rdma system set netns shared`"));
    CHECK_THAT(node.says(R"("master": "mlx5_0")"),
               Documented("networks", "a network of children without a key `rdma`, in mode exclusive",
                          "rdma system set netns shared`"));
    CHECK(node.says(R"("master": "mlx5_0", "rdma": false)").empty());
    const std::string vf = R"("attach": "sriov", "deviceID": "0000:3b:00.2", "rdma": {"mode": "exclusive"})";
    CHECK(node.says(vf).empty());
    node.inventory.rdma_system->netns_mode = kernel::RdmaNetnsMode::shared;
    CHECK_THAT(node.says(vf), Documented("networks", "a network of VFs with `\"mode\": \"exclusive\"`, in mode shared",
                                         "`rdma system set netns exclusive`", "ib_core.conf"));
    CHECK(node.says(R"("attach": "sriov", "deviceID": "0000:3b:00.2")").empty());
}

TEST_CASE("a master with a driver's name is looked for among the names that udev gives") {
    NetworkMachine node;
    const std::string file = "usr/lib/udev/rules.d/60-rdma-persistent-naming.rules";
    node.inventory.devices.front().rdma.front().name = "nic_a";
    CHECK_THAT(node.says(kShared), Has("`rdma link`") && !Has("udev"));
    node.write(file, "");
    CHECK_THAT(node.says(kShared), Has(": nic_a"));
    node.remove(file);
    node.inventory.devices.front().rdma.front().name = "rocep59s0f0";
    CHECK_THAT(node.says(kShared), Documented("networks", "a network whose master udev has renamed",
                                              "set \"master\" to", "60-rdma-persistent-naming.rules): rocep59s0f0"));
    CHECK(node.says(R"("master": "rocep59s0f0")").empty());
    CHECK_THAT(node.says(R"("master": "ens7")"), !Has("udev"));
    node.inventory.devices.front().rdma.front().name = "mlx5_1";
    CHECK_THAT(node.says(kShared), !Has("udev"));
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
    CHECK_THAT(node.says(kShared),
               Has(": rocep0s0, rocep1s0, ", "rocep7s0, and 2 more\n") && !Has("rocep59s0f0v0") && !Has("rocep8s0"));
}

TEST_CASE("only a PF of NVIDIA gets the command that changes the kind of its port") {
    NetworkMachine node;
    const auto fix = [&](const std::string& address, PortKind wanted) {
        return fix_by_firmware(node.inventory, address, wanted);
    };
    CHECK_THAT(fix("0000:3b:00.0", PortKind::ethernet), Has("VPI", "`mlxconfig -d 0000:3b:00.0 set LINK_TYPE_P1=2`"));
    CHECK_THAT(fix("0000:3b:00.0", PortKind::infiniband), Has("LINK_TYPE_P1=1`"));
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
    node.must_find(
        "definitions", "a definition for nodes in mode shared, in mode exclusive",
        "| default/roce | ADD refuses it: ", "if its pods shall run here, run `rdma system set netns shared`");
    node.write("var/lib/kubelet/device-plugins/kubelet_internal_checkpoint",
               R"({"Data": {"RegisteredDevices": {"example.com/b": ["0"]}}})");
    CHECK_THAT(node.found_by("definitions"), Has("run elsewhere") && !Has("ADD refuses it"));
    node.remove("var/lib/kubelet/device-plugins");
    node.inventory.rdma_system->netns_mode = kernel::RdmaNetnsMode::shared;
    CHECK(node.found_by("definitions").empty());
}

TEST_CASE("the files of a definition's store matter only where its pods run") {
    NetworkMachine node;
    node.write("etc/cni/net.d/whereabouts.d/whereabouts.conf",
               R"({"kubernetes": {"kubeconfig": "/etc/kubernetes/k"}})");
    const Definitions definitions(NetworkMachine::text_of(
        std::string(kShared) + R"(, "ipam": {"type": "rdmanet", "range": "10.0.0.0/24", "configuration_path": )"
                               R"("/etc/cni/net.d/whereabouts.d/whereabouts.conf"})"));
    definitions.tell(node);
    node.must_find("definitions", "the kubeconfig of a definition's store is not there",
                   "| default/roce | its kubeconfig /etc/kubernetes/k", "if its pods shall run here, ");
    node.write("var/lib/kubelet/device-plugins/kubelet_internal_checkpoint",
               R"({"Data": {"RegisteredDevices": {"example.com/b": ["0"]}}})");
    CHECK_THAT(node.found_by("definitions"), Has("run elsewhere") && !Has("kubeconfig"));
    node.remove("var/lib/kubelet/device-plugins");
    node.write("etc/kubernetes/k", kubeconfig_for("http://127.0.0.1:1"));
    CHECK_THAT(node.found_by("definitions"), !Has("/k"));
}

TEST_CASE("a node without any network of rdmanet is told what to write") {
    NetworkMachine node;
    CHECK(node.found_by("any-network").empty());
    CHECK_THAT(node.why_not("any-network"), Has("neither Multus nor rdmanet has a kubeconfig"));
    CHECK(node.says(kShared).empty());
    CHECK(node.why_not("any-network").empty());
    node.remove(kNetwork);
    SECTION("without a definition") {
        const Definitions definitions("");
        definitions.tell(node);
        node.must_find("any-network", "a node without a network of rdmanet", "\"master\"", "`rdmanet plan FILE`");
        node.inventory.rdma_system->netns_mode = kernel::RdmaNetnsMode::exclusive;
        CHECK_THAT(node.found_by("any-network"), Has("\"attach\": \"sriov\"") && !Has("\"master\""));
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
        CHECK_THAT(node.found_by("any-network"), Has("info"));
    }
    SECTION("the API server gives no answer") {
        node.write("etc/cni/net.d/multus.d/multus.kubeconfig", kubeconfig_for("http://127.0.0.1:1"));
        CHECK(node.found_by("any-network").empty());
        CHECK_THAT(node.why_not("any-network"), Has("127.0.0.1:1"));
    }
}

namespace {

config::Config network_with(const std::string& range) {
    const std::string text = R"({"cniVersion": "1.0.0", "name": "roce", "type": "rdmanet", "master": "rail0", )"
                             R"("ipam": {"type": "rdmanet", "range": ")" +
                             range + R"("}})";
    return config::parse_config(cni::parse_net_conf(text, cni::Strictness::strict), "");
}

kernel::Link link_named(const std::string& name, unsigned ifindex) {
    kernel::Link link;
    link.name = name;
    link.ifindex = ifindex;
    return link;
}

kernel::Route connected(const std::string& subnet, unsigned ifindex) {
    kernel::Route route{.destination = base::IpPrefix::parse(subnet).value()};
    route.ifindex = ifindex;
    return route;
}

/// The parent is rail0, and rail1 is its neighbour.
std::string says(const std::string& range, const std::vector<kernel::Route>& routes) {
    const std::vector<kernel::Link> links = {link_named("rail0", 2), link_named("rail1", 3)};
    const auto misfit = find_range_misfit(network_with(range), routes, links, links.front());
    return misfit ? misfit->message() : std::string();
}

} // namespace

TEST_CASE("a range in the subnet of another interface may be a fault") {
    CHECK(says("10.10.0.0/16", {connected("10.11.1.0/24", 3)}).empty());
    CHECK_THAT(says("10.10.0.0/16", {connected("10.10.1.0/24", 3)}),
               Has("10.10.0.0/16 overlaps 10.10.1.0/24 of interface rail1", "may not reach",
                   "unless rail1 and rail0 are in one network"));
    CHECK_THAT(says("10.10.1.0/24", {connected("10.10.0.0/16", 3)}), Has("rail1"));
}

TEST_CASE("rails in one network have one subnet") {
    const auto first = connected("10.10.0.0/16", 2);
    const auto second = connected("10.10.0.0/16", 3);
    CHECK(says("10.10.0.0/16", {first, second}).empty());
    CHECK(says("10.10.0.0/16", {second, first}).empty());
    CHECK(says("10.10.7.0/24", {second, first}).empty());
}

TEST_CASE("routes that say nothing about an interface's own subnet do not count") {
    auto behind_gateway = connected("10.10.0.0/16", 3);
    behind_gateway.gateway = base::IpAddress::parse("10.0.0.1").value();
    CHECK(says("10.10.0.0/16", {behind_gateway, connected("0.0.0.0/0", 3), connected("10.10.0.0/16", 9)}).empty());
    CHECK(says("fe80::/64", {connected("fe80::/64", 3)}).empty());
}

} // namespace rdmanet::doctor
