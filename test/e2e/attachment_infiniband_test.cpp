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
    const UnchangedNode node;
    const PluginCall call = vf_call(*stage.pod, 0, concat("'rdma':true,", ipam("10.103.0.0/24")));
    const std::string result = add(call);
    CHECK_THAT(stage.pod->run("ip -d link show net1"), Contains("link/infiniband") && Contains(",UP"));
    CHECK(succeeds("rdma dev show ib0p0v0"));
    CHECK(check(call, result) == "");
    CHECK(del(call) == "");
    CHECK(node.difference() == "");
}

TEST_CASE("an InfiniBand VF has the GUID that its pod requests and no other VF has, and DEL restores its own",
          "[infiniband][del][rebind]") {
    NEEDS(OtherNic::possible(), "an InfiniBand card");
    const InfinibandStage stage;
    const UnchangedNode but_numbers(Numbers::ignored); // binding a driver gives new numbers
    const std::string set = concat("ip link set ", stage.infiniband.parent(0), " vf 0 ");
    const auto guid_of_host = [] {
        return shell(concat("cat /sys/bus/pci/devices/", InfinibandNode::vf(0), "/infiniband/*/node_guid"));
    };
    const std::string before = guid_of_host();
    PluginCall second =
        vf_call(*stage.pod, 1, "'rdma':true,'runtimeConfig':{'infinibandGUID':'02:00:00:00:00:00:00:99'}");
    second.ifname = "net2";
    unsigned skipped = 0; // which request DEL makes in vain: 0 sets the node GUID, 1 the port GUID
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
        // The PF gets another GUID than the port's. The port keeps its own until the driver is bound again.
        const auto tell = [&](const std::string& guid) {
            shell(concat(set, "node_guid ", guid, " && ", set, "port_guid ", guid));
        };
        tell("02:00:00:00:00:00:00:98");
        CHECK_THAT(check(with(call, "'runtimeConfig':{'infinibandGUID':'02:00:00:00:00:00:00:98'}"), result),
                   Names("code 107", "net1", "GUID", "02:00:00:00:00:00:00:99", "expected 02:00:00:00:00:00:00:98"));
        CHECK_THAT(check(call, result), Contains("code 107: VF 0 of ") && Contains(":98, expected "));
        tell("02:00:00:00:00:00:00:99");
        CHECK_THAT(refusal(second), Names(InfinibandNode::vf(1), "GUID", "02:00:00:00:00:00:00:99",
                                          InfinibandNode::vf(0), "c1", "net1"));
        CHECK(del(second) == "");
        shell(concat("cd /sys/kernel/debug/simrnic/rnic0p0 && echo ", skipped++,
                     " >vf_call_skip && echo 1 >vf_call_fail"));
        CHECK_THAT(del(call), Contains("still held") && Contains("_guid"));
        CHECK(del(call) == "");
        CHECK(guid_of_host() == before);
        CHECK(but_numbers.difference() == "");
    }
    shell(concat(set, "port_guid 02:00:00:00:00:00:00:99"));
    CHECK_THAT(refusal(second),
               Names(InfinibandNode::vf(0), "which no attachment of rdmanet has") && !Contains("rdmanet gc"));
    shell(concat(set, "port_guid 00:00:00:00:00:00:00:00"));
    (void)add(second);
    CHECK(del(second) == "");
    for (const std::string reset : {"", ",'reset':true"}) {
        Pod dead("dead");
        const PluginCall call =
            vf_call(dead, 0, concat("'rdma':{'device':0,'name':'rdma0'},'guid':'02:00:00:00:00:00:00:99'", reset));
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

TEST_CASE("what an InfiniBand device cannot do is refused before anything changes",
          "[infiniband][ipoib][rdma][rebind]") {
    NEEDS(OtherNic::possible(), "an InfiniBand card");
    const InfinibandStage stage;
    const Pod other("other");
    const UnchangedNode but_numbers(Numbers::ignored);
    const std::string vf = InfinibandNode::vf(0);
    const std::string name = InfinibandNode::netdev(vf);
    const auto number = [&] { return shell(concat("cat /sys/bus/pci/devices/", vf, "/net/*/ifindex")); };
    const std::string before = number(); // every binding of the driver changes it
    for (const auto& [key, members] : {std::pair("vlan", "'vlan':100"),
                                       {"spoofchk", "'spoofchk':'on'"},
                                       {"trust", "'trust':'on'"},
                                       {"min_tx_rate", "'min_tx_rate':100"},
                                       {"max_tx_rate", "'max_tx_rate':100"},
                                       {"rdma.linkLocalGids", "'rdma':{'linkLocalGids':false}"}})
        CHECK_THAT(refusal(vf_call(*stage.pod, 0, members)), Names("code 2", key, vf, "InfiniBand"));
    const std::string one_address = "'ipam':{'type':'rdmanet','cooldown':0,'range':'10.102.0.0/29',"
                                    "'range_start':'10.102.0.2','range_end':'10.102.0.2'}";
    const std::string guid = "'rdma':true,'guid':'02:00:00:00:00:00:00:99',";
    const PluginCall holder = of(vf_call(other, 1, one_address), "c2");
    (void)add(holder);
    CHECK_THAT(refusal(vf_call(*stage.pod, 0, concat(guid, one_address))), Contains("10.102.0.2"));
    CHECK_THAT(refusal(vf_call(*stage.pod, 0, concat(guid, "'mac':'02:00:00:00:00:42'"))),
               Names("code 2", "mac", "02:00:00:00:00:42", "guid"));
    CHECK(number() == before);
    CHECK(del(holder) == "");

    // With only the RDMA device the IPoIB interface would vanish.
    const PluginCall alone =
        after(vf_call(*stage.pod, 0, "'attach':'rdma'"),
              "{\"cniVersion\":\"1.1.0\",\"interfaces\":[{\"name\":\"net1\",\"sandbox\":\"pod\"}]}");
    CHECK_THAT(refusal(alone), Contains(concat("IPoIB interface \"", name, '"')));
    shell(concat("ip link set ", name, " netns pod name net1"));
    CHECK_THAT(refusal(alone), Names("code 102", vf, "InfiniBand", "IPoIB", "net1", "move both"));
    CHECK(del(alone) == "");
    CHECK(stage.pod->succeeds("ip link show net1"));
    stage.pod->run(concat("ip link set net1 netns 1 name ", name));
    shell(concat("ip link set ", name, " addrgenmode none")); // as it was

    // A device with IPoIB children, on the host or in a pod.
    const std::string parent = stage.infiniband.parent(1); // without VFs
    const PluginCall whole = call_for(*stage.pod, concat("'attach':'host-device','device':'", parent, '\''));
    shell(concat("ip link add ibchild link ", parent, " type ipoib pkey 0x8001"));
    CHECK_THAT(refusal(whole), Names("code 102", "0002:00:00.0", "child", "ibchild"));
    CHECK(succeeds("ip link delete ibchild"));
    const PluginCall child =
        of(call_for(other, concat("'attach':'ipoib','rdma':false,'master':'", parent, '\'')), "c2");
    (void)add(child);
    CHECK_THAT(refusal(whole), Names("child", "net", "c2"));
    CHECK(del(child) == "");

    const PluginCall allowed = vf_call(*stage.pod, 0, "'vlan':0,'trust':'off'"); // the VF has these anyway
    (void)add(allowed);
    CHECK(del(allowed) == "");
    CHECK(but_numbers.difference() == "");
}

} // namespace rdmanet::test
