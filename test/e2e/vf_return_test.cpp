// DEL returns a VF as it was, whatever happened to its pod.
#include "vf_stage.hpp"

#include "support/concat.hpp"
#include "support/names.hpp"
#include "support/reporter.hpp"

#include <catch2/catch.hpp>

namespace rdmanet::test {

using Catch::Contains;
using Catch::StartsWith;

TEST_CASE("DEL undoes what a pod's administrator changed on its interface", "[sriov][del][link-settings]") {
    NEEDS_VFS();
    const VfNode vfs;
    const std::string netdev = vfs.netdev(0);
    const auto settings = [&] {
        return shell(concat("ethtool -k ", netdev, " | grep -v fixed && cd /sys/class/net/", netdev,
                            " && cat gro_flush_timeout napi_defer_hard_irqs queues/*/byte_queue_limits/limit_*"));
    };
    // DEL restores what the node's administrator set, not the driver's defaults.
    shell(concat("ip link set ", netdev, " alias 'of the host' txqueuelen 500 && ip link set ", netdev,
                 " gso_max_segs 30000 group 3 && echo 7000 >/sys/class/net/", netdev,
                 "/gro_flush_timeout && ethtool -K ", netdev, " rx off"));
    const Pod pod("pod");
    const UnchangedNode node;
    const std::string before = settings();
    const PluginCall call = vf_call(vfs, pod, 0);
    for (const std::string spoil :
         {"ip link set net1 alias spoilt txqueuelen 77 && ip link set net1 gso_max_size 20000 gso_max_segs 10 "
          "gro_max_size 20000 group 9 && cd /sys/class/net/net1 && echo 9000 >gro_flush_timeout && echo 3 "
          ">napi_defer_hard_irqs && for q in queues/tx-*; do echo 1500 >\\$q/byte_queue_limits/limit_max; done "
          "&& ethtool -K net1 rx on tx off gro off rx-gro-list on",
          "ip link set net1 alias '' && ip link set net1 group 0 && ethtool -K net1 sg off"}) {
        (void)add(call);
        pod.run(concat("sh -c \"", spoil, '"'));
        CHECK(del(call) == "");
        CHECK(node.difference() == "");
        CHECK(settings() == before);
    }
    (void)add(call);
    pod.run("ethtool -K net1 rx on gro off");
    shell(concat("echo 1 >/sys/kernel/debug/simrnic/", vfs.pf(), "/features_fail"));
    const ProcessResult deleted = call.with_command("DEL").run();
    CHECK(deleted.exit_status == 0);
    CHECK_THAT(deleted.err, Names(vfs.vf(0), "features", "rx-checksum", "rx-gro", "back", "`dmesg`"));
    CHECK(node.difference() == "");
}

TEST_CASE("the next pod gets the VF of a dead pod as it was before", "[sriov][del][core]") {
    NEEDS_VFS();
    const VfNode vfs;
    const UnchangedNode node;
    {
        Pod dead("pod");
        const PluginCall call = vf_call(vfs, dead, 0, "'vlan':100,'trust':'on','mtu':1300,'mac':'02:00:00:00:00:42'");
        (void)add(call);
        dead.run("ip link set net1 down");
        dead.run("ip link set net1 allmulticast on promisc on name leaked");
        dead.destroy();
        const Pod pod("next");
        const PluginCall next = of(vf_call(vfs, pod, 0), "c2");
        const std::string result = add(next);
        CHECK_THAT(vfs.settings(0), !Contains("vlan") && Contains("trust off"));
        CHECK(value(result, "interfaces.0.mtu") == "1500");
        CHECK(value(result, "interfaces.0.mac") == "02:52:00:00:00:01");
        CHECK(del(next) == "");
        CHECK(del(call) == "");
    }
    CHECK(node.difference() == "");
}

TEST_CASE("a VF returns even if its names on the host and in the pod are taken", "[sriov][del]") {
    NEEDS_VFS();
    NEEDS(kernel_has("dummy"), "dummy");
    const VfNode vfs;
    const std::string netdev = vfs.netdev(0);
    const Pod pod("pod");
    const UnchangedNode node;
    struct Taken {
        std::vector<std::string> names;
        std::string name_after;
    };
    for (const Taken& taken : {Taken{{"net1"}, netdev}, Taken{{netdev}, "net1"}, Taken{{netdev, "net1"}, "rdmanet"}}) {
        INFO(taken.name_after);
        PluginCall call = vf_call(vfs, pod, 0);
        (void)add(call);
        for (const std::string& name : taken.names) shell(concat("ip link add ", name, " type dummy"));
        call.command = "DEL";
        const ProcessResult deleted = call.run();
        CHECK(deleted.exit_status == 0);
        const std::string now = shell(concat("ls /sys/bus/pci/devices/", vfs.vf(0), "/net"));
        CHECK_THAT(now, StartsWith(taken.name_after));
        if (taken.name_after == netdev)
            CHECK(deleted.err == "");
        else
            CHECK_THAT(deleted.err, Names(vfs.vf(0), "another interface now has its name", netdev, "rename"));
        for (const std::string& name : taken.names) shell(concat("ip link delete ", name));
        if (taken.name_after != netdev) shell(concat("ip link set ", now.substr(0, now.size() - 1), " name ", netdev));
        CHECK(node.difference() == "");
    }
    // The pod made the VF's name on the host an alternative name of its interface.
    const PluginCall call = vf_call(vfs, pod, 0);
    (void)add(call);
    pod.run(concat("ip link property add dev net1 altname ", netdev));
    CHECK(del(call) == "");
    CHECK(node.difference() == "");
}

TEST_CASE("DEL without a record returns the VF of its own pod only", "[sriov][del]") {
    NEEDS_VFS();
    const VfStage stage;
    const PluginCall lost = vf_call(stage.vfs, stage.pod, 0, "'rdma':true");
    (void)add(lost);
    shell("rm /run/rdmanet/attachments/*");
    CHECK(del(of(vf_call(stage.vfs, stage.pod, 1), "c2")) == "");
    CHECK_THAT(stage.pod.run("ip -d link show net1"), Contains(stage.vfs.vf(0)));
    CHECK(del(lost) == "");
    shell(concat("ip link set net1 name ", stage.vfs.netdev(0)));
    CHECK(succeeds(concat("rdma dev show ", stage.vfs.rdma(0))));
    CHECK(stage.node.difference() == "");
}

} // namespace rdmanet::test
