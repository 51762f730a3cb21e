// Which parent an attachment gets, and which parents are refused.
#include "attachment_stage.hpp"

#include "support/concat.hpp"
#include "support/names.hpp"

#include <catch2/catch.hpp>

namespace rdmanet::test {

using Catch::Contains;

namespace {

/// Whether the child of the call has par0 as its parent. Ends with DEL.
std::string child_of_par0(const Pod& pod, const PluginCall& call) {
    const std::string result = add(call);
    const std::string index = shell("cat /sys/class/net/par0/ifindex");
    const std::string found = pod.run("cat /sys/class/net/net1/iflink");
    const std::string checked = check(call, result);
    return concat(found == index ? "" : concat("parent is ", found), checked, del(call));
}

} // namespace

TEST_CASE("the parent is found by name and by alternative name", "[parent]") {
    const Stage stage;
    CHECK(child_of_par0(stage.pod, call_for(stage.pod, "'master':'par0'")) == "");
    shell("ip link property add dev par0 altname parent-of-the-storage-network");
    CHECK(child_of_par0(stage.pod, call_for(stage.pod, "'master':'parent-of-the-storage-network'")) == "");
    shell("ip link property del dev par0 altname parent-of-the-storage-network");
    CHECK(stage.node.difference() == "");
}

TEST_CASE("without a master the parent is the interface of the default route", "[parent]") {
    const Stage stage;
    const PluginCall call = call_for(stage.pod, "'mtu':1400");
    CHECK_THAT(refusal(call), Contains("code 102") && Contains("no default route"));
    for (const std::string family : {"-4", "-6"}) {
        shell(concat("ip ", family, " route add default dev par0"));
        CHECK(child_of_par0(stage.pod, call) == "");
        shell(concat("ip ", family, " route del default dev par0"));
    }
    CHECK(stage.node.difference() == "");
}

TEST_CASE("without a master the parent is the host interface of an earlier plugin", "[parent]") {
    const Stage stage;
    const PluginCall call = call_for(stage.pod, "'prevResult':{'cniVersion':'1.1.0','interfaces':[{'name':'par0'},"
                                                "{'name':'eth0','sandbox':'/run/netns/pod'}],"
                                                "'ips':[{'address':'10.0.0.9/24','interface':1}],'dns':{}}");
    const std::string result = add(call);
    CHECK(stage.pod.run("cat /sys/class/net/net1/iflink") == shell("cat /sys/class/net/par0/ifindex"));
    CHECK(value(result, "interfaces.1.name") == "eth0");
    CHECK(value(result, "interfaces.2.name") == "net1");
    CHECK(addresses(result) == "10.0.0.9/24");
    CHECK(del(call) == "");
    CHECK(stage.node.difference() == "");
}

TEST_CASE("the parent can be an interface in the pod", "[parent]") {
    const Stage stage;
    stage.pod.run("ip link add inner type veth peer name innerpeer");
    stage.pod.run("ip link set inner addrgenmode none");
    stage.pod.run("ip link set inner up");
    const UnchangedNode node;
    const PluginCall call =
        call_for(stage.pod, concat("'linkInContainer':true,'master':'inner',", ipam("10.2.0.0/24")));
    const std::string result = add(call);
    CHECK_THAT(stage.pod.run("ip link show net1"), Contains("net1@inner:"));
    CHECK(check(call, result) == "");
    CHECK(del(call) == "");
    CHECK(node.difference() == "");
    CHECK_THAT(refusal(call_for(stage.pod, "'linkInContainer':true,'master':'par0'")), Contains("\"par0\""));
    CHECK(node.difference() == "");
}

TEST_CASE("a parent that is down is refused, and the error names the fix", "[parent]") {
    const Stage stage;
    const PluginCall call = call_for(stage.pod, concat("'master':'par0',", ipam("10.2.1.0/24")));
    shell("ip link set par0 down");
    const std::string error = refusal(call);
    CHECK_THAT(error, Names("code 102", "down", "`ip link set par0 up`"));
    shell(fix_in(error));
    CHECK(del(call) == "");
    CHECK(stage.node.difference() == "");
}

} // namespace rdmanet::test
