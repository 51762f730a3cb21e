// GC finds things without a record: IPoIB children that the kernel returned, and devices in namespaces that no path
// reaches.
#include "golden.hpp"
#include "vf_stage.hpp"

#include "support/concat.hpp"
#include "support/infiniband_node.hpp"
#include "support/names.hpp"
#include "support/patience.hpp"
#include "support/reporter.hpp"

#include <catch2/catch.hpp>

namespace rdmanet::test {

using Catch::Contains;

namespace {

std::string gc(const std::string& options = "") {
    return shell(concat(binary(), " gc ", options));
}

std::string collect(const PluginCall& call, const std::string& members) {
    return outcome(with(call, members), "GC");
}

constexpr const char* kChildren = "ip -o link show type ipoib | grep -o '^[0-9]*: [^:@]*@' | wc -l | tr -d '\\n'";

/// Attaches a pod to `parent`, deletes the record and ends the pod. Returns when the kernel has returned the child.
PluginCall lose_child(const std::string& parent) {
    Pod pod("pod");
    const PluginCall call = call_for(pod, concat("'attach':'ipoib','master':'", parent, "','pkey':'0x8001'"));
    (void)add(call);
    CHECK_THAT(pod.run("ip link show net1"), Contains("alias rdmanet ") && Contains(" c1:net1:net.json"));
    shell("rm /run/rdmanet/attachments/*");
    CHECK_THAT(gc(), Contains("nothing to remove"));
    CHECK(pod.succeeds("ip link show net1"));
    pod.destroy();
    wait_until("ip link show net1");
    return call;
}

void expect_holder_named(const VfStage& stage) {
    const PluginCall call = vf_call(stage.vfs, stage.pod, 1, "'rdma':true");
    (void)add(call);
    shell(concat("ip netns add stranger && ip link set ", stage.vfs.netdev(0), " netns stranger && rdma dev set ",
                 stage.vfs.rdma(0), " netns stranger"));
    CHECK_THAT(gc(), Contains("nothing to remove") && !Contains("left alone")); // pods of another plugin look the same
    const std::string pid = shell("(exec 9</run/netns/stranger; exec sleep 300) >/dev/null 2>&1 & echo -n $!");
    shell(concat("while ! [ /proc/", pid,
                 "/fd/9 -ef /run/netns/stranger ]; do sleep 0.02; done; "
                 "until grep -q sleep /proc/",
                 pid, "/comm; do sleep 0.02; done; ip netns delete stranger"));
    const auto names_holder = Names(stage.vfs.vf(0), "net device and RDMA device", concat("process ", pid, " (sleep)"),
                                    concat("/proc/", pid, "/fd/9"));
    const std::string text = gc();
    CHECK_THAT(text, Contains("left alone: device ") && names_holder && !Contains(stage.vfs.vf(1)));
    CHECK_THAT(gc("--dry-run --json"), Contains("\"noticed\"") && names_holder);
    Golden golden("a device that gc leaves alone");
    golden.add_lines(replaced(text, pid, "NUMBER"));
    CHECK(golden.difference() == "");
    shell(concat("kill ", pid));
    wait_until(concat("rdma dev show ", stage.vfs.rdma(0)));
    CHECK_THAT(gc(), !Contains("left alone"));
    CHECK(del(call) == "");
    CHECK(stage.node.difference() == "");
}

void expect_settings_named(const VfStage& stage) {
    const PluginCall call = vf_call(stage.vfs, stage.pod, 1, "'vlan':100");
    (void)add(call);
    stage.pod.run("ip link set net1 netns 1");
    CHECK_THAT(gc(), !Contains("left alone")); // its record says that it has a pod
    const std::string set = concat("ip link set ", stage.vfs.pf(), " vf 0");
    const std::string undone = " vlan 0 state auto";
    shell(concat(set, " vlan 7 qos 3 max_tx_rate 1000 state disable trust on"));
    for (const std::string options : {"", "--dry-run"})
        CHECK_THAT(gc(options), Names("alone", stage.vfs.vf(0), "VF 0", stage.vfs.pf(), "vlan 7", "qos 3",
                                      "link_state disable", concat("`", set, undone, "`")));
    CHECK_THAT(stage.vfs.settings(0), Contains("vlan 7") && Contains("link-state disable"));
    CHECK(del(call) == "");
    PluginCall next = vf_call(stage.vfs, stage.pod, 0);
    CHECK_THAT(next.run().err, Names("VF 0", stage.vfs.pf(), "VLAN 7"));
    CHECK(del(next) == "");
    CHECK_THAT(with(next, "'vlan':0,'link_state':'auto'").run().err, !Contains("VLAN"));
    CHECK(del(next) == "");
    shell(concat(set, undone, " max_tx_rate 0 trust off"));
    CHECK_THAT(gc(), !Contains("left alone"));
    CHECK(stage.node.difference() == "");
}

} // namespace

TEST_CASE("DEL and GC remove an IPoIB child that the kernel returned, with or without a record, and no other program's",
          "[gc][del][ipoib]") {
    NEEDS(OtherNic::possible(), "an InfiniBand card");
    const InfinibandNode infiniband;
    shell(concat("ip link add link ", infiniband.parent(0), " name admin0 type ipoib pkey 0x8002"));
    const UnchangedNode node;
    const PluginCall call = lose_child(infiniband.parent(0));
    CHECK(shell(kChildren) == "2");
    PluginCall other = call;
    other.config.replace(other.config.find("\"net\""), 5, "\"elsewhere\"");
    CHECK(collect(other, "'cni.dev/valid-attachments':[]") == "");
    CHECK(collect(call, "'cni.dev/valid-attachments':[{'containerID':'c1','ifname':'net1'}]") == "");
    CHECK_THAT(gc("--dry-run"), Names("would remove", "c1", "returned to the host"));
    CHECK(shell(kChildren) == "2");
    CHECK(collect(call, "'cni.dev/valid-attachments':[]") == "");
    CHECK(node.difference() == "");
    (void)lose_child(infiniband.parent(0));
    CHECK_THAT(gc(), Names("removed", "net", "c1"));
    CHECK(node.difference() == "");
    CHECK(del(lose_child(infiniband.parent(0))) == "");
    CHECK(node.difference() == "");
    {
        Pod pod("pod");
        const PluginCall recorded = call_for(pod, concat("'attach':'ipoib','master':'", infiniband.parent(0), '\''));
        (void)add(recorded);
        pod.destroy();
        CHECK(del(recorded) == "");
        CHECK(node.difference() == "");
    }
    // The mark of a network with a long name is cut to the length of an alias, so there is none.
    const Pod pod("pod");
    for (const std::size_t length : {203, 210}) { // the namespace's numbers decide which one between still fits
        PluginCall named = call_for(pod, concat("'attach':'ipoib','master':'", infiniband.parent(0), '\''));
        named.config.replace(named.config.find("\"net\""), 5, concat('"', std::string(length, 'n'), '"'));
        (void)add(named);
        CHECK(pod.succeeds("ip link show net1 | grep -q 'alias rdmanet '") == (length == 203));
        CHECK(del(named) == "");
    }
    shell("ip link delete admin0");
}

TEST_CASE("GC names devices and VFs without a pod that somebody else uses or has set up, and leaves them alone",
          "[gc][sriov][golden]") {
    NEEDS_VFS();
    const VfStage stage;
    expect_holder_named(stage);
    expect_settings_named(stage);
}

} // namespace rdmanet::test
