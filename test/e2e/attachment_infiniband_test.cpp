// InfiniBand VFs in pods: GUIDs, and IPoIB interfaces that the kernel makes anew when their RDMA device moves.
#include "attachment_stage.hpp"

#include "support/concat.hpp"
#include "support/infiniband_node.hpp"
#include "support/names.hpp"
#include "support/patience.hpp"
#include "support/reporter.hpp"

#include <catch2/catch.hpp>

namespace rdmanet::test {

using Catch::Contains;

namespace {

struct InfinibandStage {
    explicit InfinibandStage(const std::string& mode = "exclusive") : infiniband(mode) {
        infiniband.make_vfs(2);
        pod.emplace("pod");
        node.emplace();
    }

    InfinibandNode infiniband;
    std::optional<Pod> pod;
    std::optional<UnchangedNode> node;
};

PluginCall vf_call(const Pod& pod, unsigned number, const std::string& members) {
    return call_for(pod, concat("'deviceID':'", InfinibandNode::vf(number), "',", members));
}

} // namespace

TEST_CASE("InfiniBand VFs move into pods with their RDMA devices and IPoIB interfaces, and reach each other",
          "[infiniband][core]") {
    NEEDS(OtherNic::possible(), "an InfiniBand card");
    const InfinibandStage stage;
    const Pod other("other");
    const UnchangedNode but_numbers(Numbers::ignored);
    const std::string name = InfinibandNode::netdev(InfinibandNode::vf(0));
    const PluginCall call = vf_call(*stage.pod, 0, concat("'rdma':true,'link_state':'enable',", ipam("10.100.0.0/24")));
    const PluginCall second = of(vf_call(other, 1, ipam("10.100.0.0/24")), "c2");
    const std::string result = add(call);
    (void)add(second);
    CHECK(value(result, "interfaces.0.pciID") == InfinibandNode::vf(0));
    // The broadcast group has this MTU. The PF has joined the group.
    CHECK(value(result, "interfaces.0.mtu") == "2044");
    CHECK(comes_true([&] { return stage.pod->run("cat /sys/class/net/net1/mtu") == "2044\n"; }));
    CHECK_THAT(stage.pod->run("ip -d link show net1"),
               Contains("link/infiniband") && Contains(",UP") && Contains(InfinibandNode::vf(0)));
    CHECK_THAT(stage.pod->run("rdma link"), Contains("link ib0p0v0/1"));
    CHECK_FALSE(succeeds("rdma dev show ib0p0v0"));
    CHECK(comes_true([&] { return stage.pod->succeeds("ping -c 1 -W 1 10.100.0.2"); }));
    CHECK(check(call, result) == "");
    shell(concat("ip link set ", stage.infiniband.parent(0), " vf 0 port_guid 02:00:00:00:00:00:00:77"));
    const std::string said = check(call, result);
    CHECK_THAT(said, Names("port_guid", "02:00:00:00:00:00:00:77", "expected port_guid"));
    shell(fix_in(said));
    CHECK(check(call, result) == "");
    CHECK(del(call) == "");
    CHECK(del(second) == "");
    CHECK(succeeds("rdma dev show ib0p0v0"));
    CHECK(InfinibandNode::netdev(InfinibandNode::vf(0)) == name);
    CHECK_THAT(shell(concat("ip link show dev ", stage.infiniband.parent(0))), !Contains("link-state enable"));
    CHECK(but_numbers.difference() == "");
}

TEST_CASE("an InfiniBand VF whose RDMA device stays on the host has addresses without GIDs", "[infiniband]") {
    NEEDS(OtherNic::possible(), "an InfiniBand card");
    const InfinibandStage stage("shared");
    const std::string name = InfinibandNode::netdev(InfinibandNode::vf(0));
    // When the interface comes up first, it takes the MTU of its broadcast group (ipoib_mcast_join()). An interface
    // that is down after its return from another namespace has no queueing discipline (dev_shutdown()). Both happen
    // here first, so that the snapshot has them.
    ip_batch(concat("link set ", name, " netns pod"));
    stage.pod->run(concat("ip link set ", name, " up"));
    CHECK(comes_true([&] { return stage.pod->run(concat("cat /sys/class/net/", name, "/mtu")) == "2044\n"; }));
    stage.pod->run(concat("ip link set ", name, " down netns 1"));
    const CheckedNode node;
    const PluginCall call = vf_call(*stage.pod, 0, concat("'rdma':true,", ipam("10.103.0.0/24")));
    const std::string result = add(call);
    CHECK_THAT(stage.pod->run("ip -d link show net1"), Contains("link/infiniband") && Contains(",UP"));
    CHECK(succeeds("rdma dev show ib0p0v0"));
    CHECK(check(call, result) == "");
    CHECK(del(call) == "");
}

TEST_CASE("an InfiniBand VF has the GUID that its pod requests and no other VF has, and DEL restores its own",
          "[infiniband][del][rebind]") {
    NEEDS(OtherNic::possible(), "an InfiniBand card");
    const InfinibandStage stage;
    const UnchangedNode but_numbers(Numbers::ignored); // binding a driver gives new numbers
    const auto guid_of_host = [] {
        return shell(concat("cat /sys/bus/pci/devices/", InfinibandNode::vf(0), "/infiniband/*/node_guid"));
    };
    const std::string before = guid_of_host();
    PluginCall second =
        vf_call(*stage.pod, 1, "'rdma':true,'runtimeConfig':{'infinibandGUID':'02:00:00:00:00:00:00:99'}");
    second.ifname = "net2";
    for (const std::string members :
         {"'runtimeConfig':{'infinibandGUID':'02:00:00:00:00:00:00:99'},'guid':'02:00:00:00:00:00:00:01'",
          "'args':{'cni':{'guid':'02:00:00:00:00:00:00:99','mellanox.infiniband.app':'configured'}},"
          "'ibKubernetesEnabled':true"}) {
        INFO(members);
        const PluginCall call = vf_call(*stage.pod, 0, concat("'rdma':{'onInactivePort':'refuse'},", members));
        const std::string result = add(call);
        CHECK_THAT(value(result, "interfaces.0.mac"), Contains("02:00:00:00:00:00:00:99"));
        CHECK_THAT(stage.pod->run("rdma dev"), Contains("0200:0000:0000:0099"));
        CHECK_THAT(shell(concat("ip link show dev ", stage.infiniband.parent(0))),
                   Contains("PORT_GUID 02:00:00:00:00:00:00:99"));
        CHECK(check(call, result) == "");
        CHECK_THAT(refusal(second), Names(InfinibandNode::vf(1), "GUID", "02:00:00:00:00:00:00:99",
                                          InfinibandNode::vf(0), "c1", "net1"));
        CHECK(del(second) == "");
        CHECK(del(call) == "");
        CHECK(guid_of_host() == before);
        CHECK(but_numbers.difference() == "");
    }
    {
        Pod dead("dead");
        const PluginCall call =
            vf_call(dead, 0, "'rdma':{'device':0,'name':'rdma0'},'guid':'02:00:00:00:00:00:00:99','reset':true");
        (void)add(call);
        CHECK(dead.succeeds("rdma dev show rdma0"));
        dead.destroy();
        CHECK(del(call) == "");
        CHECK(guid_of_host() == before);
        CHECK_THAT(shell(concat("ip link show dev ", stage.infiniband.parent(0))),
                   !Contains("02:00:00:00:00:00:00:99"));
        CHECK(but_numbers.difference() == "");
    }
    CHECK(shell("cat /sys/kernel/debug/simrnic/rnic0p0/vf0/resets") == "1\n");
}

} // namespace rdmanet::test
