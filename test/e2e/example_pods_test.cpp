// The example pod with a sub-function, and the resources that the example pods request. Other pods are in
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

TEST_CASE("the example pod with a sub-function sees only its own RDMA device", "[examples][subfunction]") {
    NEEDS(OtherNic::possible(), "a NIC with sub-functions");
    const OtherNic nic("nics=1 vfs=1 sfs=2");
    const VfNode mode("exclusive", 0);
    const Installed installed;
    const CheckedNode node;
    const Manifests all = example_manifests();
    {
        const RunningPod pod(all.pod("inference-0"), all, {"simrnic.sf.1"});
        CHECK(addresses(pod.result(0)) == "192.168.174.1/24");
        CHECK(addresses_without_gid(pod.pod(), pod.result(0)) == "");
        CHECK(failure_of(pod.pod(), "rdma link | grep 'roce0p0s1/1 .*netdev net1'") == "");
        CHECK(pod.check() == "");
        CHECK(pod.del() == "");
    }
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
