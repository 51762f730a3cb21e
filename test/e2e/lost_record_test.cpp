// VFs whose record is lost, or half lost.
#include "vf_stage.hpp"

#include "support/reporter.hpp"

#include <catch2/catch.hpp>

#include <optional>

namespace rdmanet::test {

using Catch::Contains;

TEST_CASE("a VF whose record is lost goes home with its RDMA device all the same", "[sriov][del]") {
    NEEDS_VFS();
    const VfStage stage;
    const PluginCall call = vf_call(stage.vfs, stage.pod, 0, concat("'rdma':true,", ipam("10.94.0.0/24")));
    const PluginCall stranger = of(vf_call(stage.vfs, stage.pod, 1), "c2");
    for (const std::string loss : {"rm", "truncate --size=40"}) {
        (void)add(call);
        shell(concat(loss, " /run/rdmanet/attachments/* /run/rdmanet-copies/*"));
        CHECK(outcome(stranger, "DEL") == ""); // names another device than the pod has
        CHECK_THAT(stage.pod.run("ip -d link show net1"), Contains(stage.vfs.vf(0)));
        CHECK(del(call) == "");
        shell(concat("ip link set net1 name ", stage.vfs.netdev(0)));
        CHECK(succeeds(concat("rdma dev show ", stage.vfs.rdma(0))));
        CHECK(del(call) == "");
        CHECK(stage.node.difference() == "");
    }
}

TEST_CASE(
    "how a VF was outlives its record and the state directory, and comes back by DEL, GC, and before the next pod",
    "[sriov][del][gc]") {
    NEEDS_VFS();
    const VfNode vfs;
    const UnchangedNode node;
    const auto lose = [&](const std::string& loss, const auto& recover) {
        std::optional<Pod> pod(std::in_place, "pod");
        const PluginCall call = vf_call(vfs, *pod, 0, "'vlan':100,'trust':'on','mtu':1300,'mac':'02:00:00:00:00:42'");
        (void)add(call);
        shell(loss);
        const Pod other("other");
        CHECK_THAT(refusal(of(vf_call(vfs, other, 0), "c2")), Contains("belongs to another attachment"));
        CHECK_THAT(vfs.settings(0), Contains("vlan 100"));
        recover(call, pod);
    };
    lose("rm -r /run/rdmanet", [](const PluginCall& call, std::optional<Pod>&) { CHECK(del(call) == ""); });
    CHECK(node.difference() == "");
    lose("truncate --size=40 /run/rdmanet/attachments/*", [](const PluginCall&, std::optional<Pod>& pod) {
        pod.reset();
        CHECK_THAT(shell(concat(binary(), " gc")), Contains("removed network \"net\", container \"c1\""));
    });
    CHECK(node.difference() == "");
    lose("rm -r /run/rdmanet", [&](const PluginCall&, std::optional<Pod>& pod) {
        pod.reset();
        const Pod heir("heir");
        const PluginCall next = of(vf_call(vfs, heir, 0), "c3");
        (void)add(next);
        CHECK_THAT(vfs.settings(0), !Contains("vlan") && Contains("trust off"));
        CHECK(del(next) == "");
    });
    CHECK(node.difference() == "");
}

TEST_CASE("a second copy that was forgotten, by who has the state directory alone, touches no other pod's VF",
          "[sriov][del][gc]") {
    NEEDS_VFS();
    const VfStage stage;
    const PluginCall call = vf_call(stage.vfs, stage.pod, 0, "'vlan':100");
    const PluginCall next = of(vf_call(stage.vfs, stage.pod, 0, "'vlan':200"), "c2");
    (void)add(call);
    shell("mv /run/rdmanet-copies /run/hidden");
    CHECK(del(call) == "");
    (void)add(next);
    shell("mv /run/hidden/* /run/rdmanet-copies/ && rmdir /run/hidden");
    CHECK_THAT(shell(concat(binary(), " gc")), Contains("nothing to remove"));
    CHECK_THAT(stage.vfs.settings(0), Contains("vlan 200"));
    CHECK(del(call) == "");
    CHECK_THAT(stage.vfs.settings(0), Contains("vlan 200"));
    CHECK(del(next) == "");
    CHECK(stage.node.difference() == "");
}

} // namespace rdmanet::test
