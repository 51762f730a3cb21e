// CHECK finds every difference from what ADD made.
#include "golden.hpp"
#include "vf_stage.hpp"

#include "support/concat.hpp"
#include "support/lease_lines.hpp"
#include "support/names.hpp"
#include "support/reporter.hpp"

#include <catch2/catch.hpp>

#include <optional>

namespace rdmanet::test {

using Catch::Contains;

TEST_CASE("CHECK detects every difference, and messages.golden has its words", "[check][golden]") {
    const VethParent parent("par0");
    const UnchangedNode node;
    Pod pod("pod");
    const std::string mac = "02:00:00:00:31:01";
    const PluginCall call = call_for(pod, concat("'master':'par0','mtu':1400,'mac':'", mac, "',",
                                                 ipam("10.31.0.0/24", "'ipRanges':[{'range':'fd31::/64'}],'routes':["
                                                                      "{'dst':'10.32.0.0/16','gw':'10.31.0.254'}]")));
    Golden golden("CHECK");
    std::string result;
    const auto said_after = [&](const std::string& damage) {
        result = add(call);
        CHECK(check(call, result) == "");
        shell(damage);
        std::string said = check(call, result);
        CHECK(del(call) == "");
        return said;
    };
    for (const char* in_pod :
         {"link delete net1", "link set net1 down", "link set net1 address 02:00:00:00:00:77",
          "link set net1 type macvlan mode private", "link set net1 down; ip -n pod link set net1 name net7 up",
          "address del fd31::1/64 dev net1",
          "address del 10.31.0.1/24 dev net1; ip -n pod address add 10.31.0.1/25 dev net1", "route del 10.32.0.0/16",
          "route replace 10.32.0.0/16 via 10.31.0.253"})
        golden.add(concat(in_pod, ": ", said_after(concat("ip -n pod ", in_pod))));
    {
        const VethParent other("par1");
        golden.add(said_after(concat("ip -n pod link delete net1; ip link add link par1 name net1 netns pod address ",
                                     mac, " type macvlan mode bridge; ip -n pod link set net1 addrgenmode none up")));
    }
    golden.add(said_after("cd /run/rdmanet/attachments && jq '.phase=\"prepared\"' c1:net1:net.json >../x && "
                          "cp ../x c1* && rm ../x"));
    golden.add(said_after("rm -r /run/rdmanet/attachments"));
    CHECK(said_after("rm /run/rdmanet/leases.sqlite*") == ""); // the journal has the addresses
    CHECK(said_after("ip -n pod address add 10.31.0.9/24 dev net1") == "");
    golden.add(concat("after DEL: ", check(call, result)));
    result = add(call);
    forget_leases("/run/rdmanet/leases.sqlite");
    golden.add(check(call, result));
    golden.add(check(with(call, "'mode':'vepa'"), result));
    golden.add(check(of(call, "another"), result));
    pod.destroy();
    golden.add(check(call, result));
    CHECK(del(call) == "");
    CHECK(golden.difference() == "");
    CHECK(node.difference() == "");
}

TEST_CASE("CHECK does not take a parent in the pod for the host's interface with the same index", "[check]") {
    const AttachedStage attached("'master':'par0'");
    const auto& [stage, call, result] = attached;
    std::optional<VethParent> other("par1");
    const std::string mac = mac_of(stage.pod);
    const std::string index = shell("tr -d '\\n' </sys/class/net/par1/ifindex");
    stage.pod.run("ip link delete net1");
    stage.pod.run(concat("ip link add inside0 index ", index, " type veth peer name inside1"));
    stage.pod.run(concat("ip link add link inside0 name net1 address ", mac, " type macvlan mode bridge"));
    stage.pod.run("ip link set net1 addrgenmode none up");
    CHECK_THAT(check(call, result),
               Names("code 107", "net1", "a parent in the pod", "expected parent \"par0\"") && !Contains("par1"));
    stage.pod.run("ip link delete inside0");
    other.reset();
    CHECK(attached.end() == "");
}

TEST_CASE("CHECK detects every change of a VF, and its error has the command that repairs it",
          "[check][sriov][vf-settings]") {
    NEEDS_VFS();
    const VfNode vfs;
    const std::string pf = vfs.pf();
    const std::string vf = concat("ip link set ", pf, " vf 0 ");
    shell(concat(vf, "vlan 7 qos 2 proto 802.1ad spoofchk on state enable max_tx_rate 50 min_tx_rate 10"));
    const Pod pod("pod");
    const UnchangedNode node;
    const PluginCall call = vf_call(vfs, pod, 0, concat("'trust':'on','mtu':1500,'rdma':true,", ipam("10.114.0.0/24")));
    const std::string result = add(call);
    CHECK(check(call, result) == "");
    const auto said_after = [&](const std::string& change) {
        shell(concat(vf, change));
        std::string said = check(call, result);
        shell(fix_in(said));
        CHECK(check(call, result) == "");
        return said;
    };
    CHECK_THAT(said_after("vlan 9"), Names("code 107", "VF 0", pf, "vlan 9", "expected vlan 7", "qos 2", "802.1ad",
                                           "ADD", concat("`", vf, "vlan 7 qos 2 proto 802.1ad`")));
    CHECK_THAT(said_after("spoofchk off"), Names("spoofchk off", "expected spoofchk on"));
    CHECK_THAT(said_after("state disable"), Names("link_state disable", "expected link_state enable"));
    CHECK_THAT(said_after("max_tx_rate 60"), Names("rates 10", "60", "Mbit/s", "expected rates 10", "50"));
    // This PF also changes the MAC of the VF's running interface. The pod's interface gets its MAC back, because
    // other drivers would not have changed it.
    shell(concat(vf, "mac 02:00:00:00:00:66"));
    CHECK_THAT(check(call, result), Names("code 107", "net1", "MAC", "02:00:00:00:00:66"));
    pod.run(concat("ip link set net1 address ", value(result, "interfaces.0.mac")));
    CHECK_THAT(check(call, result), Names("02:00:00:00:00:66", "expected mac", "00:00:00:00:00:00"));
    shell(concat(vf, "mac 00:00:00:00:00:00"));
    CHECK(check(call, result) == "");

    const auto when = [&](const std::string& change, const std::string& repair) {
        return check_between(call, result, change, repair);
    };
    // A problem that would only fail the next ADD is not a difference.
    CHECK(when(concat("ip link set ", pf, " mtu 1400"), concat("ip link set ", pf, " mtu 1500")) == "");
    CHECK_THAT(when(concat("ip netns add elsewhere && ip link set ", pf, " netns elsewhere"),
                    concat("ip -n elsewhere link set ", pf, " netns 1 && ip link set ", pf,
                           " addrgenmode none && ip link set ", pf, " up && ip netns delete elsewhere")),
               Names("code 107", vfs.vf(0), "PF"));
    CHECK(del(call) == "");
    CHECK(node.difference() == "");
}

} // namespace rdmanet::test
