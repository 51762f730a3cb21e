// Sub-functions in pods: auxiliary devices with a net device and an RDMA device, as mlx5 has them.
#include "attachment_stage.hpp"
#include "runtime.hpp"

#include "support/concat.hpp"
#include "support/names.hpp"
#include "support/other_nic.hpp"
#include "support/reporter.hpp"
#include "support/vf_node.hpp"

#include <catch2/catch.hpp>

namespace rdmanet::test {

using Catch::Contains;

namespace {

/// RDMA mode exclusive, and two sub-functions of a PF.
struct SubfunctionStage {
    OtherNic nic{"nics=1 vfs=1 sfs=2"};
    VfNode mode{"exclusive", 0};
    UnchangedNode node;
};

constexpr const char* kFirst = "simrnic.sf.0";
constexpr const char* kSecond = "simrnic.sf.1";

PluginCall subfunction_call(const Pod& pod, const std::string& device, const std::string& members = "'rdma':true") {
    return call_for(pod, concat("'attach':'host-device','deviceID':'", device, "',", members));
}

/// A list as users of rdma-cni write it: the RDMA device has its own entry. `rdma` is a member of the first entry.
Network chain(const std::string& rdma) {
    return Network(
        json_text(concat("{'cniVersion':'1.1.0','name':'net','plugins':[{'type':'rdmanet','attach':'host-device',",
                         rdma, ipam("10.110.0.0/24"), "},{'type':'rdmanet','attach':'rdma'}]}")));
}

} // namespace

TEST_CASE("a sub-function moves into the pod with its RDMA device, which may have its own entry, and returns as it was",
          "[subfunction][rdma]") {
    NEEDS(OtherNic::possible(), "a NIC with sub-functions");
    const SubfunctionStage stage;
    const std::string members = concat("'rdma':true,'mtu':1400,'mac':'02:00:00:00:00:42',", ipam("10.110.0.0/24"));
    {
        const Pod pod("pod");
        const PluginCall call = subfunction_call(pod, kSecond, members);
        const std::string result = add(call);
        CHECK(value(result, "interfaces.0.mac") == "02:00:00:00:00:42");
        CHECK_THAT(pod.run("ip -d link show net1"), Contains("mtu 1400") && Contains(",UP") && Contains(kSecond));
        CHECK_THAT(pod.run("rdma link"), Contains("link roce0p0s1/1") && Contains("netdev net1"));
        CHECK(check(call, result) == "");
        CHECK(del(call) == "");
        CHECK_THAT(refusal(subfunction_call(pod, kSecond, "'reset':true")), Names(kSecond, "sub-function", "reset"));
    }
    CHECK(stage.node.difference() == "");
    {
        Pod dead("dead");
        const PluginCall call = subfunction_call(dead, kSecond, members);
        (void)add(call);
        dead.run("ip link set net1 down");
        dead.run("ip link set net1 name other");
        dead.destroy();
        CHECK(del(call) == "");
    }
    CHECK(stage.node.difference() == "");

    const Installed installed;
    // The first entry leaves the RDMA device to the second, or moves it itself.
    for (const std::string rdma : {"'rdma':false,", ""}) {
        INFO(rdma);
        const Network network = chain(rdma);
        const Pod pod("pod");
        const UnchangedNode node;
        const Attachment attachment{.netns = pod.path(), .device = kFirst};
        const std::string result = network.add(attachment);
        CHECK(addresses(result) == "10.110.0.1/24");
        CHECK_THAT(pod.run("rdma link"), Contains("link roce0p0s0/1") && Contains("netdev net1"));
        CHECK(network.check(attachment, result) == "");
        CHECK(network.del(attachment, result) == "");
        CHECK(node.difference() == "");
    }
}

} // namespace rdmanet::test
