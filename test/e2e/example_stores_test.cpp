// The examples for addresses of a whole cluster: files of a node, an AddressRange, and networks.
#include "attachment_stage.hpp"
#include "cluster_stage.hpp"
#include "configured_node.hpp"
#include "example_pod.hpp"

#include "support/concat.hpp"
#include "support/names.hpp"
#include "support/process.hpp"
#include "support/reporter.hpp"
#include "support/source_path.hpp"

#include <catch2/catch.hpp>

#include <unistd.h>

#include <array>

namespace rdmanet::test {
namespace {

/// The network of the example, on the parent that the stage has. Its kernel may have no RDMA.
PluginCall call_of(const std::string& name, const CheckedStage& stage) {
    PluginCall call;
    call.netns = stage.pod.path();
    call.config = example_manifests().network("default/" + name).config;
    call.config = replaced(replaced(call.config, "eth1", "par0"), "\"rdma\": true,", "");
    call.args = "IgnoreUnknown=1;K8S_POD_NAMESPACE=shop;K8S_POD_NAME=till;K8S_POD_UID=uid-1";
    return call;
}

std::string plan_of(const PluginCall& call) {
    return run_process({binary(), "plan", "--name", "net"}, {.input = call.config}).out;
}

/// A Node object of this machine, as kubelet registers it.
class RegisteredNode {
public:
    RegisteredNode() {
        std::array<char, 256> name{};
        REQUIRE(::gethostname(name.data(), name.size() - 1) == 0);
        path_ = concat("/api/v1/nodes/", name.data());
        shell(concat(cluster(), "/apply '", node_object(name.data()), "' /api/v1/nodes"));
    }
    RegisteredNode(const RegisteredNode&) = delete;
    RegisteredNode& operator=(const RegisteredNode&) = delete;
    ~RegisteredNode() { (void)succeeds(concat(cluster(), "/delete ", path_)); }

private:
    std::string path_;
};

/// The AddressRange of the example, as long as it lives.
class DeclaredRange {
public:
    DeclaredRange() {
        shell(concat("cd ", cluster(), " && . ./lib && api -o /dev/null --fail-with-body -H 'Content-Type: ",
                     "application/yaml' --data-binary @", source_path("conf-examples/address-range.yaml"), " \"$url",
                     kRanges, '"'));
    }
    DeclaredRange(const DeclaredRange&) = delete;
    DeclaredRange& operator=(const DeclaredRange&) = delete;
    ~DeclaredRange() { (void)succeeds(concat(cluster(), "/delete ", kRanges, "/roce")); }

private:
    inline static const std::string kRanges = "/apis/rdmanet.cni/v1alpha1/addressranges";
};

} // namespace

TEST_CASE("the example files make a network of one node a network of the cluster", "[cluster][examples]") {
    NEEDS(cluster_lacks().empty(), cluster_lacks());
    const NodeOfCluster node;
    const CheckedStage stage;
    PluginCall call = call_for(stage.pod, "'master':'par0','ipam':{'type':'rdmanet','range':'10.31.4.0/24'}");
    CHECK_THAT(refusal(call), Names("code 109", "K8S_POD_NAME"));
    call.args = "IgnoreUnknown=1;K8S_POD_NAMESPACE=shop;K8S_POD_NAME=till";
    CHECK_THAT(plan_of(call),
               Names("whereabouts' pools", kNodeFiles + "/rdmanet.kubeconfig", "10.31.4.0/24", "254 of 254"));
    CHECK(addresses(add(call)) == "10.31.4.1/24");
    const std::string allocations = concat(cluster(), "/get ippools/10.31.4.0-24 | jq --compact-output ",
                                           "--join-output --sort-keys .spec.allocations");
    CHECK(shell(allocations) == R"({"1":{"id":"c1","ifname":"net1","podref":"shop/till"}})");
    CHECK(del(call) == "");
    CHECK(shell(allocations) == "{}");
}

TEST_CASE("the example networks of a cluster keep their promises", "[cluster][blocks][examples]") {
    NEEDS(cluster_lacks().empty(), cluster_lacks());
    const NodeOfCluster node;
    const RegisteredNode registered;
    const CheckedStage stage;
    const std::string log = "/var/log/rdmanet-example.log";
    PluginCall of_pool = call_of("shared-pool", stage);
    of_pool.config = replaced(of_pool.config, R"("attach")", concat(R"("logFile": ")", log, R"(", "attach")"));
    CHECK_THAT(plan_of(of_pool), Names("whereabouts' pools", "10.140.0.0/20", "4079 of 4079"));
    CHECK(addresses(add(of_pool)) == "10.140.0.16/20");
    CHECK(del(of_pool) == "");
    CHECK_THAT(shell(concat("cat ", log, " && rm ", log)),
               Names("keep leases in whereabouts' pools, because no AddressRange has the range"));

    const DeclaredRange declared;
    PluginCall of_blocks = call_of("shared-blocks", stage);
    CHECK_THAT(plan_of(of_blocks), Names("in blocks of the AddressRange", "10.64.0.0/16"));
    CHECK(addresses(add(of_blocks)).ends_with("/16"));
    CHECK(del(of_blocks) == "");
    of_blocks.config =
        replaced(of_blocks.config, R"("capabilities")", R"("runtimeConfig": {"ips": ["10.64.255.9"]}, "capabilities")");
    CHECK(addresses(add(of_blocks)) == "10.64.255.9/16");
    CHECK(del(of_blocks) == "");
}

} // namespace rdmanet::test
