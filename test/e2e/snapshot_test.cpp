// All other tests rely on snapshots of the node. These tests show what a snapshot detects.
#include "vf_stage.hpp"

#include "support/concat.hpp"
#include "support/reporter.hpp"

#include <catch2/catch.hpp>

#include <filesystem>

namespace rdmanet::test {

using Catch::Contains;

namespace {

/// Compares at once. UnchangedNode would wait for a difference to vanish.
std::string difference_from(const Snapshot& before) {
    return before.difference_to(Snapshot::take());
}

} // namespace

TEST_CASE("a snapshot detects changed sysctls of the host and of pods", "[snapshot]") {
    const Pod pod("pod");
    const Snapshot before = Snapshot::take();
    pod.run("sysctl -q net.ipv4.conf.lo.arp_notify=1");
    CHECK_THAT(difference_from(before), Contains("- namespace pod: sysctl ipv4/lo/arp_notify = 0\n") &&
                                            Contains("+ namespace pod: sysctl ipv4/lo/arp_notify = 1\n"));
    pod.run("sysctl -q net.ipv4.conf.lo.arp_notify=0");
    CHECK(difference_from(before) == "");
    shell("sysctl -q net.ipv4.conf.lo.arp_notify=1");
    CHECK_THAT(difference_from(before), Contains("+ host: sysctl ipv4/lo/arp_notify = 1\n"));
    shell("sysctl -q net.ipv4.conf.lo.arp_notify=0");
    CHECK(difference_from(before) == "");
}

TEST_CASE("a snapshot ignores that IPv6 was switched on for a pod's loopback, and nothing else", "[snapshot]") {
    const Pod pod("pod");
    NEEDS(pod.succeeds("test -e /proc/sys/net/ipv6/conf/lo/disable_ipv6"), "IPv6");
    pod.run("ip link set lo down"); // so that it has no addresses that would differ
    const auto set = [&](const char* what, int value) {
        pod.run(concat("sysctl -q net.ipv6.conf.", what, '=', value));
    };
    set("lo.disable_ipv6", 1);
    const Snapshot before = Snapshot::take();
    set("lo.disable_ipv6", 0);
    CHECK(difference_from(before) == "");
    const Snapshot with_ipv6 = Snapshot::take();
    set("lo.disable_ipv6", 1);
    CHECK_THAT(difference_from(with_ipv6), Contains("ipv6/lo/disable_ipv6 = 1"));
    set("default.disable_ipv6", 1);
    CHECK_THAT(difference_from(before), Contains("ipv6/default/disable_ipv6 = 1"));
}

TEST_CASE("a snapshot detects changed RDMA devices of pods", "[snapshot][sriov]") {
    NEEDS(VfNode::possible(), "the software NIC");
    const Vfs vfs;
    const Pod pod("pod");
    const std::string device = vfs.rdma(0);
    shell(concat("rdma dev set ", device, " netns pod"));
    const Snapshot before = Snapshot::take();
    pod.run(concat("rdma dev set ", device, " name another"));
    CHECK_THAT(difference_from(before), Contains("- namespace pod RDMA: ") &&
                                            Contains(concat("- namespace pod RDMA: link ", device, "/1 ")) &&
                                            Contains("+ namespace pod RDMA: device another ") &&
                                            Contains("+ namespace pod RDMA: link another/1 "));
    pod.run(concat("rdma dev set another name ", device));
    CHECK(difference_from(before) == "");
}

TEST_CASE("a snapshot detects leases, and a truncated file of leases", "[snapshot]") {
    const Stage stage;
    const Snapshot before = Snapshot::take();
    const PluginCall call = call_for(stage.pod, concat("'master':'par0',", ipam("10.37.0.0/24")));
    add(call);
    CHECK_THAT(difference_from(before), Contains("+ lease: ") && !Contains("lease file"));
    CHECK(del(call) == "");
    CHECK(stage.node.difference() == "");
    const std::string file = "/run/rdmanet/leases";
    const auto size = std::filesystem::file_size(file);
    for (const std::uintmax_t length : {std::uintmax_t{0}, size / 2, size - 1}) {
        std::filesystem::resize_file(file, length);
        INFO(length << " of " << size << " bytes");
        CHECK_THAT(difference_from(before), Contains("+ lease file: "));
        std::filesystem::remove(file);
        add(call);
        CHECK(del(call) == "");
        CHECK(stage.node.difference() == "");
    }
}

} // namespace rdmanet::test
