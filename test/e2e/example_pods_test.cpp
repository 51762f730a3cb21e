// The pods of conf-examples on their networks, and the resources that they request. InfiniBand pods are in
// examples_test.cpp beside their networks.
#include "attachment_stage.hpp"
#include "example_node.hpp"
#include "example_pod.hpp"
#include "support/other_nic.hpp"
#include "support/reporter.hpp"
#include "support/vf_node.hpp"

#include <catch2/catch.hpp>

#include <map>
#include <set>

namespace rdmanet::test {

TEST_CASE("each example pod with a VF sees only its own RDMA device, and the pods reach each other",
          "[examples][sriov]") {
    NEEDS(ExclusiveExampleNode::lacks().empty(), ExclusiveExampleNode::lacks());
    const ExclusiveExampleNode node;
    const Manifests all = example_manifests();
    {
        const RunningPod one(all.pod("trainer-0"), all, {node.vfs().at(2)});
        const RunningPod two(all.pod("trainer-1"), all, {node.vfs().at(0), node.vfs().at(3)});
        CHECK(addresses(one.result(0)) == "192.168.150.1/24 fd00:150::1/64");
        CHECK(addresses(two.result(0)) == "192.168.150.2/24 fd00:150::2/64");
        CHECK(addresses(two.result(1)) == "192.168.160.16/24");
        CHECK(failure_of(one.pod(), "[ $(ls /sys/class/infiniband | wc -l) = 1 ]\n"
                                    "ping -c 1 -W 10 192.168.150.2 && ping -c 1 -W 10 fd00:150::2") == "");
        CHECK(failure_of(two.pod(), "[ $(ls /sys/class/infiniband | wc -l) = 2 ]") == "");
        for (const RunningPod* pod : {&one, &two}) {
            CHECK(pod->check() == "");
            CHECK(pod->del() == "");
        }
    }
    CHECK(node.difference() == "");
}

TEST_CASE("the example pod with a sub-function sees only its own RDMA device", "[examples][subfunction]") {
    NEEDS(OtherNic::possible(), "a NIC with sub-functions");
    const OtherNic nic("nics=1 vfs=1 sfs=2");
    const VfNode mode("exclusive", 0);
    const Installed installed;
    const UnchangedNode node;
    const Manifests all = example_manifests();
    {
        const RunningPod pod(all.pod("inference-0"), all, {"simrnic.sf.1"});
        CHECK(addresses(pod.result(0)) == "192.168.174.1/24");
        CHECK(addresses_without_gid(pod.pod(), pod.result(0)) == "");
        CHECK(failure_of(pod.pod(), "rdma link | grep 'roce0p0s1/1 .*netdev net1'") == "");
        CHECK(pod.check() == "");
        CHECK(pod.del() == "");
    }
    CHECK(node.difference() == "");
}

TEST_CASE("the example pods get the networks that they name, and reach each other", "[examples]") {
    NEEDS(ExampleNode::lacks().empty(), ExampleNode::lacks());
    const ExampleNode node;
    const Manifests all = example_manifests();
    {
        const RunningPod server(all.pod("roce-server"), all);
        const RunningPod client(all.pod("roce-client"), all);
        const RunningPod chosen(all.pod("parameter-server"), all);
        const RunningPod worker(all.pod("worker-0"), all);
        CHECK(all.pods.size() == 4 + 2 + 1 + 3); // 2 with VFs, 1 sub-function, 3 on InfiniBand: other cases
        CHECK(addresses(server.result(0)) == "192.168.110.1/24 fd00:110::1/64");
        CHECK(addresses(client.result(0)) == "192.168.110.2/24 fd00:110::2/64");
        CHECK(addresses_without_gid(client.result(0), "mlx5_0", "roce0") == "");
        CHECK(failure_of(client.pod(), "ping -c 1 -W 10 192.168.110.1 && ping -c 1 -W 10 fd00:110::1") == "");
        CHECK(addresses(chosen.result(0)) == "192.168.110.200/24 fd00:110::200/64");
        CHECK(mac_of(chosen.pod(), "roce0") == "02:00:00:00:02:00");
        CHECK(addresses(worker.result(0)) == "192.168.120.2/24");
        CHECK(addresses(worker.result(1)) == "192.168.121.2/24");
        CHECK(addresses_without_gid(worker.result(1), "mlx5_1", "net2") == "");
        for (const RunningPod* pod : {&server, &client, &chosen, &worker}) {
            CHECK(pod->check() == "");
            CHECK(pod->del() == "");
        }
    }
    CHECK(node.difference() == "");
}

TEST_CASE("the example pods request resources that the example device plugin offers", "[examples]") {
    const Manifests all = example_manifests();
    const std::map<std::string, std::vector<std::string>> shared{{"rdma/hca_shared", {"eth1", "eth2"}},
                                                                 {"rdma/hca_shared_ib", {"ibs1"}}};
    std::map<std::string, std::vector<std::string>> interfaces;
    for (const DeviceResource& resource : all.resources) interfaces[resource.name] = resource.interfaces;
    CHECK(interfaces == shared);
    const std::map<std::string, std::string> functions{
        {"openshift.io/roce_vf", "eth1"}, {"openshift.io/ib_vf", "ibs1"}, {"openshift.io/roce_sf", "eth2"}};
    std::map<std::string, std::set<std::string>> sources;
    for (const FunctionResource& resource : all.function_resources) {
        INFO(resource.name << " of a " << resource.from);
        sources[resource.name].insert(resource.from);
        CHECK(resource.pfs == std::vector<std::string>{functions.at(resource.name)});
        CHECK(resource.is_rdma);
        CHECK(resource.is_infiniband == (resource.name == "openshift.io/ib_vf"));
        CHECK(resource.is_subfunction == (resource.name == "openshift.io/roce_sf"));
    }
    const std::set<std::string> both{"ConfigMap", "SriovNetworkNodePolicy"};
    CHECK(sources == std::map<std::string, std::set<std::string>>{{"openshift.io/roce_vf", both},
                                                                  {"openshift.io/ib_vf", both},
                                                                  {"openshift.io/roce_sf", {"ConfigMap"}}});
    CHECK(all.rdma_modes == std::vector<std::string>{"exclusive"});
    for (const PodManifest& pod : all.pods) {
        INFO(pod.name);
        CHECK(pod.every_container_locks_memory);
        CHECK_FALSE(pod.resources.empty());
        std::map<std::string, unsigned> needed;
        for (const NetworkRequest& request : pod.networks)
            if (const std::string resource = all.network(request.key).resource; !resource.empty()) ++needed[resource];
        for (const auto& [resource, count] : pod.resources) {
            CHECK((shared.contains(resource) || functions.contains(resource)));
            if (functions.contains(resource)) CHECK(needed[resource] == count);
        }
        for (const auto& [resource, count] : needed) CHECK(pod.resources.contains(resource));
    }
}

} // namespace rdmanet::test
