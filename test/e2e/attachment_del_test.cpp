// DEL for every state of the node, and ADD after an earlier attachment left something.
#include "attachment_stage.hpp"

#include "support/concat.hpp"
#include "support/names.hpp"
#include "support/reporter.hpp"

#include <catch2/catch.hpp>

namespace rdmanet::test {

using Catch::Contains;

namespace {

const std::string kLeased = concat("'master':'par0',", ipam("10.4.0.0/24"));

} // namespace

TEST_CASE("DEL succeeds before any ADD, and when it is repeated", "[del]") {
    NEEDS(kernel_has("macvlan"), "macvlan");
    const Stage stage;
    const PluginCall call = call_for(stage.pod, kLeased);
    CHECK(del(call) == "");
    const std::string result = add(call);
    for (int time = 0; time < 3; ++time) CHECK(del(after(call, result)) == "");
    CHECK(stage.node.difference() == "");
}

TEST_CASE("DEL without CNI_NETNS removes the interface and releases the address", "[del]") {
    NEEDS(kernel_has("macvlan"), "macvlan");
    const Stage stage;
    PluginCall call = call_for(stage.pod, kLeased);
    add(call);
    call.netns.clear();
    CHECK(del(call) == "");
    CHECK(stage.node.difference() == "");
}

TEST_CASE("DEL after the namespace has gone releases the address", "[del]") {
    NEEDS(kernel_has("macvlan"), "macvlan");
    const VethParent parent("par0");
    const UnchangedNode node;
    Pod pod("pod");
    const PluginCall call = call_for(pod, kLeased);
    add(call);
    pod.destroy();
    CHECK(del(call) == "");
    CHECK(node.difference() == "");
}

TEST_CASE("DEL does not touch another namespace at the path of the pod's namespace", "[del]") {
    NEEDS(kernel_has("macvlan"), "macvlan");
    const VethParent parent("par0");
    const UnchangedNode node;
    Pod pod("pod");
    const PluginCall call = call_for(pod, concat("'master':'par0','mac':'02:00:00:00:00:11',", ipam("10.4.0.0/24")));
    add(call);
    pod.destroy();
    Pod another("pod");
    shell("ip link add link par0 name net1 netns pod address 02:00:00:00:00:11 type macvlan mode bridge");
    another.run("ip link set net1 addrgenmode none");
    CHECK(del(call) == "");
    CHECK(another.succeeds("ip link show net1"));
    another.destroy();
    CHECK(node.difference() == "");
}

TEST_CASE("DEL after the parent has gone succeeds and releases the address", "[del]") {
    NEEDS(kernel_has("macvlan"), "macvlan");
    const Pod pod("pod");
    const UnchangedNode node;
    const PluginCall call = call_for(pod, kLeased);
    {
        const VethParent parent("par0");
        add(call);
    }
    CHECK(del(call) == "");
    CHECK(node.difference() == "");
}

TEST_CASE("DEL finds an interface that was renamed in the pod", "[del]") {
    NEEDS(kernel_has("macvlan"), "macvlan");
    const Stage stage;
    const PluginCall call = call_for(stage.pod, kLeased);
    add(call);
    stage.pod.run("ip link set net1 down");
    stage.pod.run("ip link set net1 name renamed up");
    CHECK(del(call) == "");
    CHECK(stage.node.difference() == "");
}

TEST_CASE("DEL follows the journal after the configuration was edited", "[del]") {
    NEEDS(kernel_has("macvlan"), "macvlan");
    const Stage stage;
    add(call_for(stage.pod, kLeased));
    CHECK(del(call_for(stage.pod, "'attach':'ipvlan','master':'elsewhere','mtu':-7")) == "");
    CHECK(stage.node.difference() == "");
}

TEST_CASE("DEL without a record recognises the interface by ADD's result", "[del][ipvlan]") {
    NEEDS(kernel_has("ipvlan"), "ipvlan");
    const Stage stage;
    const PluginCall call = call_for(stage.pod, concat("'attach':'ipvlan',", kLeased));
    const std::string result = add(call);
    shell("rm -r /run/rdmanet/attachments");
    CHECK(del(after(call, result)) == "");
    CHECK(stage.node.difference() == "");
}

TEST_CASE("ADD refuses an interface name that is taken, and DEL leaves the other interface alone", "[del]") {
    NEEDS(kernel_has("macvlan"), "macvlan");
    const Stage stage;
    shell("ip link add link par0 name net1 netns pod type macvlan mode bridge");
    stage.pod.run("ip link set net1 addrgenmode none");
    const UnchangedNode with_other_interface;
    const PluginCall call = call_for(stage.pod, kLeased);
    CHECK_THAT(refusal(call), Names("code 101", "net1", "/run/netns/pod"));
    CHECK(del(call) == "");
    CHECK(with_other_interface.difference() == "");
}

TEST_CASE("a second ADD is refused and the first attachment stays intact", "[again]") {
    NEEDS(kernel_has("macvlan"), "macvlan");
    const Stage stage;
    stage.pod.run("sysctl -q net.ipv6.conf.default.addr_gen_mode=1"); // so that no link-local address appears later
    const PluginCall call = call_for(stage.pod, kLeased);
    const std::string result = add(call);
    const UnchangedNode attached;
    CHECK_THAT(refusal(call), Contains("code 101") && Contains("net1"));
    CHECK(attached.difference() == "");
    CHECK(check(call, result) == "");
    stage.pod.run("ip link set net1 down"); // pods may change this, as they may rename the interface
    stage.pod.run("ip link set net1 name renamed up");
    const UnchangedNode renamed;
    CHECK_THAT(refusal(call), Contains("code 101") && Contains("net1"));
    CHECK(renamed.difference() == "");
    CHECK(del(call) == "");
    CHECK(stage.node.difference() == "");
}

TEST_CASE("ADD works for a container whose namespace was made anew, and the container keeps one address", "[again]") {
    NEEDS(kernel_has("macvlan"), "macvlan");
    const VethParent parent("par0");
    const UnchangedNode node;
    Pod pod("pod");
    const PluginCall call = call_for(pod, kLeased);
    add(call);
    pod.destroy();
    Pod again("pod");
    const std::string result = add(call);
    CHECK(check(call, result) == "");
    CHECK(shell(concat(binary(), " state --json | jq '.leases|length'")) == "1\n");
    CHECK(del(call) == "");
    again.destroy();
    CHECK(node.difference() == "");
}

TEST_CASE("a MAC that another pod has is refused", "[again]") {
    NEEDS(kernel_has("macvlan"), "macvlan");
    const Pod other("other");
    const Stage stage;
    const std::string members = concat(kLeased, ",'mac':'02:00:00:00:07:01'");
    const PluginCall first = of(call_for(other, members), "first");
    add(first);
    CHECK_THAT(refusal(call_for(stage.pod, members)), Names("code 102", "MAC", "02:00:00:00:07:01"));
    CHECK(del(first) == "");
    CHECK(stage.node.difference() == "");
}

} // namespace rdmanet::test
