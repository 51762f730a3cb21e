// CHECK finds every difference from what ADD made.
#include "vf_stage.hpp"

#include "support/concat.hpp"
#include "support/lease_lines.hpp"
#include "support/names.hpp"
#include "support/reporter.hpp"

#include <catch2/catch.hpp>

#include <optional>

namespace rdmanet::test {

using Catch::Contains;

namespace {

const std::string kDualStack =
    concat("'master':'par0','mtu':1400,", ipam("10.31.0.0/24", "'ipRanges':[{'range':'fd31::/64'}],'routes':["
                                                               "{'dst':'10.32.0.0/16','gw':'10.31.0.254'}]"));

/// The output of CHECK after `damage`, "code 107: ...". CHECK must succeed before.
std::string check_after(const Stage& stage, const PluginCall& call, const std::string& damage) {
    const std::string result = add(call);
    CHECK(check(call, result) == "");
    shell(damage);
    const std::string said = check(call, result);
    CHECK(del(call) == "");
    CHECK(stage.node.difference() == "");
    return said;
}

} // namespace

TEST_CASE("CHECK detects a changed or missing interface", "[check]") {
    NEEDS(kernel_has("macvlan"), "macvlan");
    const Stage stage;
    const PluginCall call = call_for(stage.pod, kDualStack);
    const auto said_after = [&](const std::string& in_pod) {
        return check_after(stage, call, concat("ip -netns pod ", in_pod));
    };
    CHECK_THAT(said_after("link delete net1"), Names("code 107", "net1", "gone"));
    CHECK_THAT(said_after("link set net1 down"), Names("code 107", "net1", "down"));
    CHECK_THAT(said_after("link set net1 address 02:00:00:00:00:77"),
               Contains("code 107") && Contains("has MAC 02:00:00:00:00:77, expected "));
    CHECK_THAT(said_after("link set net1 type macvlan mode private"),
               Contains("code 107") && Contains("private") && Contains("expected ") && Contains("bridge"));
    CHECK_THAT(said_after("link set net1 down; ip -netns pod link set net1 name net7 up"),
               Names("code 107", "net1", "gone"));
}

TEST_CASE("CHECK detects missing addresses and routes", "[check]") {
    NEEDS(kernel_has("macvlan"), "macvlan");
    const Stage stage;
    const PluginCall call = call_for(stage.pod, kDualStack);
    const auto said_after = [&](const std::string& in_pod) {
        return check_after(stage, call, concat("ip -netns pod ", in_pod));
    };
    CHECK_THAT(said_after("address del fd31::1/64 dev net1"),
               Contains("code 107") && Contains("lacks address fd31::1"));
    CHECK_THAT(said_after("address del 10.31.0.1/24 dev net1; ip -netns pod address add 10.31.0.1/25 dev net1"),
               Contains("code 107") && Contains("lacks address 10.31.0.1/24"));
    CHECK_THAT(said_after("route del 10.32.0.0/16"), Contains("code 107") && Contains("route 10.32.0.0/16"));
    CHECK_THAT(said_after("route replace 10.32.0.0/16 via 10.31.0.253"),
               Contains("code 107") && Contains("route 10.32.0.0/16"));
}

TEST_CASE("CHECK detects a lost lease or record", "[check]") {
    NEEDS(kernel_has("macvlan"), "macvlan");
    const Stage stage;
    const PluginCall call = call_for(stage.pod, kDualStack);
    CHECK_THAT(check_after(stage, call, "rm -r /run/rdmanet/attachments"),
               Contains("code 107") && Contains("record of the attachment"));
    CHECK(check_after(stage, call, "rm /run/rdmanet/leases.sqlite*") == ""); // the journal has the addresses
    {
        const std::string leased = add(call);
        forget_leases("/run/rdmanet/leases.sqlite");
        CHECK_THAT(check(call, leased), Names("code 107", "leased"));
        CHECK(del(call) == "");
    }
    const std::string other_address =
        check_after(stage, call, "ip -netns pod address add 10.31.0.9/24 dev net1"); // not a difference
    CHECK(other_address == "");
    const std::string result = add(call);
    CHECK(del(call) == "");
    CHECK_THAT(check(call, result), Contains("code 107"));
    CHECK(stage.node.difference() == "");
}

TEST_CASE("CHECK detects a parent or a kind that differs from the configuration", "[check][ipvlan]") {
    NEEDS(kernel_has("macvlan") && kernel_has("ipvlan"), "macvlan and ipvlan");
    const AttachedStage attached("'master':'par0'");
    const auto& [stage, call, result] = attached;
    CHECK_THAT(check(call_for(stage.pod, "'master':'par0','attach':'ipvlan'"), result),
               Names("code 107", "macvlan", "expected ipvlan"));
    CHECK_THAT(check(call_for(stage.pod, "'master':'par0','mode':'vepa'"), result),
               Contains("code 107") && Contains("bridge") && Contains("vepa"));
    const std::string mac = mac_of(stage.pod);
    {
        const VethParent other("par1");
        stage.pod.run("ip link delete net1");
        shell(concat("ip link add link par1 name net1 netns pod address ", mac, " type macvlan mode bridge"));
        stage.pod.run("ip link set net1 addrgenmode none up");
        CHECK_THAT(check(call, result), Names("code 107", "net1", "parent", "\"par1\"", "expected parent \"par0\""));
    }
    CHECK(attached.end() == "");
}

TEST_CASE("CHECK does not take a parent in the pod for the host's interface with the same index", "[check]") {
    NEEDS(kernel_has("macvlan"), "macvlan");
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

TEST_CASE("CHECK detects a changed mode or flag of an ipvlan child", "[check][ipvlan]") {
    NEEDS(kernel_has("ipvlan"), "ipvlan");
    const Stage stage;
    const PluginCall call = call_for(stage.pod, concat("'attach':'ipvlan',", kDualStack));
    const auto said_after = [&](const std::string& changed) {
        return check_after(stage, call, concat("ip -netns pod link set net1 type ipvlan ", changed));
    };
    CHECK_THAT(said_after("mode l3"),
               Names("code 107", "net1", "ipvlan", "mode l3", "flag bridge", "expected ipvlan", "mode l2"));
    CHECK_THAT(said_after("mode l2 private"),
               Names("code 107", "net1", "ipvlan", "mode l2", "flag private", "expected ipvlan", "flag bridge"));
}

TEST_CASE("CHECK detects changed settings of a VF, and its error has the command that repairs them", "[check][sriov]") {
    NEEDS_VFS();
    const VfNode vfs;
    const std::string vf = concat("ip link set ", vfs.pf(), " vf 0 ");
    shell(concat(vf, "vlan 7 qos 2 proto 802.1ad spoofchk on state enable max_tx_rate 50 min_tx_rate 10"));
    const Pod pod("pod");
    const UnchangedNode node;
    const PluginCall call = vf_call(vfs, pod, 0, concat("'trust':'on',", ipam("10.114.0.0/24")));
    const std::string result = add(call);
    CHECK(check(call, result) == "");
    const auto said_after = [&](const std::string& change) {
        shell(concat(vf, change));
        std::string said = check(call, result);
        shell(fix_in(said));
        CHECK(check(call, result) == "");
        return said;
    };
    CHECK_THAT(said_after("vlan 9"), Names("code 107", "VF 0", vfs.pf(), "vlan 9", "expected vlan 7", "qos 2",
                                           "802.1ad", "ADD", concat("`", vf, "vlan 7 qos 2 proto 802.1ad`")));
    CHECK_THAT(said_after("vlan 7 qos 2"), Names("vlan 7", "qos 2", "expected vlan 7", "802.1ad"));
    CHECK_THAT(said_after("spoofchk off"), Names("spoofchk off", "expected spoofchk on"));
    CHECK_THAT(said_after("trust off"), Names("trust off", "expected trust on"));
    CHECK_THAT(said_after("state disable"), Names("link_state disable", "expected link_state enable"));
    CHECK_THAT(said_after("max_tx_rate 60"), Names("rates 10", "60", "Mbit/s", "expected rates 10", "50"));
    CHECK_THAT(said_after("vlan 0 trust off"),
               Names("vlan 0", "trust off", "expected vlan 7", "qos 2", "802.1ad", "trust on"));
    // This PF also changes the MAC of the VF's running interface. The pod's interface gets its MAC back, because
    // other drivers would not have changed it.
    shell(concat(vf, "mac 02:00:00:00:00:66"));
    CHECK_THAT(check(call, result), Names("code 107", "net1", "MAC", "02:00:00:00:00:66"));
    pod.run(concat("ip link set net1 address ", value(result, "interfaces.0.mac")));
    CHECK_THAT(check(call, result), Names("02:00:00:00:00:66", "expected mac", "00:00:00:00:00:00"));
    shell(concat(vf, "mac 00:00:00:00:00:00"));
    CHECK(check(call, result) == "");
    CHECK(del(call) == "");
    CHECK(node.difference() == "");
}

TEST_CASE("CHECK without prevResult, or for a dead pod, is refused", "[check]") {
    NEEDS(kernel_has("macvlan"), "macvlan");
    const VethParent parent("par0");
    const UnchangedNode node;
    Pod pod("pod");
    const PluginCall call = call_for(pod, kDualStack);
    const std::string result = add(call);
    CHECK_THAT(outcome(call, "CHECK"), Contains("code 7") && Contains("prevResult is missing"));
    CHECK_THAT(check(of(call, "another"), result), Contains("code 107"));
    pod.destroy();
    CHECK_THAT(check(call, result), Contains("code ") && Contains("/run/netns/pod"));
    CHECK(del(call) == "");
    CHECK(node.difference() == "");
}

} // namespace rdmanet::test
