// DEL returns a VF as it was, whatever happened to its pod.
#include "vf_stage.hpp"

#include "support/concat.hpp"
#include "support/names.hpp"

#include <catch2/catch.hpp>

namespace rdmanet::test {

TEST_CASE("DEL undoes what a pod's administrator changed on its interface", "[sriov][del][link-settings]") {
    const Vfs vfs;
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
    const CheckedNode node;
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
}

} // namespace rdmanet::test
