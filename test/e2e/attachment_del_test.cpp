// DEL for every state of the node, and ADD after an earlier attachment left something.
#include "attachment_stage.hpp"

#include "support/concat.hpp"
#include "support/names.hpp"

#include <catch2/catch.hpp>

#include <optional>

namespace rdmanet::test {

using Catch::Contains;

namespace {

const std::string kLeased = concat("'master':'par0',", ipam("10.4.0.0/24"));

} // namespace

TEST_CASE("DEL removes the attachment and releases the address, whatever happened meanwhile, and may be repeated",
          "[del]") {
    const UnchangedNode node;
    const auto del_after = [&](const std::string& event, const auto& happen) {
        INFO(event);
        {
            std::optional<VethParent> parent("par0");
            Pod pod("pod");
            PluginCall call = call_for(pod, kLeased);
            CHECK(del(call) == "");
            call = after(call, add(call));
            happen(call, pod, parent);
            for (int time = 0; time < 3; ++time) CHECK(del(call) == "");
        }
        CHECK(node.difference() == "");
    };
    using Parent = std::optional<VethParent>;
    del_after("nothing", [](PluginCall&, Pod&, Parent&) {});
    del_after("the runtime no longer knows the namespace", [](PluginCall& call, Pod&, Parent&) { call.netns.clear(); });
    del_after("the namespace is gone", [](PluginCall&, Pod& pod, Parent&) { pod.destroy(); });
    del_after("the parent is gone", [](PluginCall&, Pod&, Parent& parent) { parent.reset(); });
    del_after("the pod renamed the interface", [](PluginCall&, Pod& pod, Parent&) {
        pod.run("ip link set net1 down");
        pod.run("ip link set net1 name renamed up");
    });
    del_after("the configuration was edited", [](PluginCall& call, Pod& pod, Parent&) {
        call = call_for(pod, "'attach':'ipvlan','master':'elsewhere','mtu':-7");
    });
}

TEST_CASE("DEL does not touch another namespace at the path of the pod's namespace", "[del]") {
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

TEST_CASE("a second ADD is refused and the first attachment stays intact", "[again]") {
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
