// `rdmanet doctor --pod`: IPoIB, GID indexes, routes, files of management, and devices that came without rdmanet.
#include "doctor_provocation.hpp"
#include "markdown.hpp"
#include "pod_call.hpp"
#include "vf_stage.hpp"

#include "support/concat.hpp"
#include "support/documented_check.hpp"
#include "support/infiniband_node.hpp"
#include "support/names.hpp"
#include "support/patience.hpp"
#include "support/reporter.hpp"

#include <catch2/catch.hpp>

#include <set>
#include <string>

namespace rdmanet::test {

using Catch::Contains;

namespace {

constexpr const char* kTill = "--pod shop/till";

/// A shell command that writes a file of a mode.
std::string set_mode(const std::string& interface, const std::string& mode) {
    return concat("echo ", mode, " >/sys/class/net/", interface, "/mode");
}

} // namespace

TEST_CASE("the doctor finds devices and routes in a pod that keep programs from the right one", "[doctor][sriov]") {
    const Vfs vfs;
    const Pod pod("till");
    const PluginCall call = as_pod(vf_call(vfs, pod, 0, ipam("10.73.0.0/24")), "till");
    (void)add(call);
    const std::string second = vfs.netdev(1);
    const std::string move = concat("rdma dev set ", vfs.rdma(1), " netns till; ip link set ", second,
                                    " netns till; ip -n till link set ", second, " up; ");
    const std::string take_back = concat("ip -n till link set ", second, " netns 1; ip netns exec till rdma dev set ",
                                         vfs.rdma(1), " netns ../../proc/1/ns/net"); // from /var/run/netns
    const std::string in_image = concat("unshare -m sh -c 'd=/usr/lib/x86_64-linux-gnu/libibverbs; mount -t tmpfs none "
                                        "$d; touch $d/libmlx5-rdmav34.so; exec \"$@\"' _");
    std::set<std::string> tried;
    try_all({{"pod-rdma",
              "a VF is moved into a pod that has another VF",
              move,
              take_back,
              {"info", concat("shop/till ", second), vfs.rdma(1), "NCCL"}},
             {"pod-route",
              "a second VF with an address in the first one's subnet",
              concat(move, "ip -n till addr add 10.73.0.7/24 dev ", second),
              concat("ip -n till addr flush dev ", second, "; ", take_back),
              {"warning", concat("shop/till ", second), "through net1", "\"sbr\""}},
             {"pod-provider",
              "an image whose only provider is that of another driver",
              in_background(pod, in_image, "/tmp/tenant6"),
              end_of("/tmp/tenant6"),
              {"tenant6", vfs.rdma(0), "librxe-rdmav*.so", "ibverbs-providers"}}},
            kTill, tried);

    const auto with_shm = [](const std::string& size) { // a sidecar has the runtime's default
        return concat("unshare -m sh -c 'mount -t tmpfs -o size=", size, " none /dev/shm; exec \"$@\"' _");
    };
    shell(in_background(pod, with_shm("64m"), "/tmp/sidecar"));
    CHECK(comes_true([] { return !found_by("pod-shm", kTill).empty(); }));
    shell(in_background(pod, with_shm("65m"), "/tmp/tenant9"));
    CHECK(comes_true([] { return found_by("pod-shm", kTill).empty(); }));
    shell(end_of("/tmp/tenant9"));
    CHECK_THAT(found_by("pod-shm", kTill), Names("info", "sidecar"));
    shell(end_of("/tmp/sidecar"));

    shell(concat(move, "ip -n till addr add 10.73.0.7/24 dev ", second));
    CHECK_THAT(found_by("pod-route", kTill), Contains("10.73.0.7"));
    shell(concat("ip -n till rule add from 10.73.0.7 table 100; ip -n till route add 10.73.0.0/24 dev ", second,
                 " table 100"));
    CHECK(found_by("pod-route", kTill) == "");
    shell(concat("ip -n till addr flush dev ", second, "; ", take_back));
    CHECK(del(call) == "");
}

TEST_CASE("the doctor says that the pods of a network have different GID indexes", "[doctor][rdma]") {
    NEEDS(!rdma_parent().empty(), "an RDMA parent");
    const Pod till("till");
    const Pod desk("desk");
    const auto call_of = [](const Pod& pod) {
        return as_pod(call_for(pod, concat("'master':'", rdma_parent(), "','rdma':true,", ipam("10.74.0.0/24"))),
                      pod.name());
    };
    (void)add(call_of(till));
    CHECK(found_by("pod-gid-index", kTill) == "");
    (void)add(call_of(desk));
    const std::string found = found_by("pod-gid-index", kTill);
    INFO(found);
    CHECK(is_documented(source_text("docs/doctor.md"), "pod-gid-index", "two pods on children of one parent", found));
    CHECK_THAT(found, Names("info", "shop/till net1", "NCCL_IB_GID_INDEX", "NCCL 2.21"));
    CHECK(del(call_of(desk)) == "");
    CHECK(found_by("pod-gid-index", kTill) == "");
    CHECK(del(call_of(till)) == "");
}

TEST_CASE("the doctor finds why an IPoIB interface of a pod does not reach others", "[doctor][ipoib]") {
    NEEDS(OtherNic::possible(), "an InfiniBand card");
    const InfinibandNode infiniband;
    const std::string& parent = infiniband.parent(0);
    const Pod pod("till");
    const PluginCall call =
        as_pod(call_for(pod, concat("'attach':'ipoib','master':'", parent, "','pkey':'0x8001',", ipam("10.96.0.0/24"))),
               "till");
    (void)add(call);
    wait_until("ip -n till link show net1 | grep -q LOWER_UP");
    shell("modprobe ib_umad");
    const std::string port = debugfs("rnic0p0");
    std::set<std::string> tried;
    try_all({{"pod-ipoib",
              "the subnet manager is away",
              concat("echo 0 >", port, "/subnet_manager"),
              concat("echo 1 >", port, "/subnet_manager"),
              {"failure", "shop/till net1", "| start a subnet manager"}},
             {"pod-ipoib",
              "the cable is unplugged",
              concat("echo 0 >", port, "/cable"),
              concat("echo 1 >", port, "/cable"),
              {"failure", "shop/till net1", "| check the cable"}},
             {"pod-ipoib",
              "a child with P_Key 0x8004, which its port does not have",
              concat("ip link add link ", parent,
                     " name data0 netns till type ipoib pkey 0x8004; ip -n till link set data0 up"),
              "ip -n till link delete data0",
              {"failure", "shop/till data0", "0x8004", "partitions.conf"}},
             {"pod-ipoib",
              "the parent changes to mode connected",
              set_mode(parent, "connected"),
              set_mode(parent, "datagram"),
              {"info", "shop/till net1", parent, "\"mode\""}},
             {"pod-ipoib",
              "`ip link set ib0 mtu 1500` for the parent",
              concat("ip link set ", parent, " mtu 1500"),
              concat("ip link set ", parent, " mtu 2044"),
              {"warning", "shop/till net1", concat("`ip link set ", parent, " mtu 2044` on the host")}},
             {"pod-management-files",
              "a container with /dev/infiniband/umad0",
              in_background(pod, "", "/tmp/tenant7"),
              end_of("/tmp/tenant7"),
              {"info", "tenant7", "another user than root"}}},
            kTill, tried);

    shell(in_background(pod, "setpriv --reuid 65534 --clear-groups", "/tmp/tenant8"));
    wait_until("pgrep -x tenant8");
    CHECK(found_by("pod-management-files", kTill) == "");
    shell(end_of("/tmp/tenant8"));
    CHECK(del(call) == "");
    shell("modprobe -r ib_umad");
}

TEST_CASE("the doctor warns of limited membership in a partition", "[doctor][ipoib]") {
    NEEDS(OtherNic::possible(), "an InfiniBand card");
    const InfinibandNode infiniband("shared", "nics=1 ports=1 vfs=2 link_layer=ib ib_limited=1");
    const Pod pod("till");
    const auto call_of = [&](const std::string& more) {
        return as_pod(call_for(pod, concat("'attach':'ipoib','master':'", infiniband.parent(0), "',", more,
                                           ipam("10.97.0.0/24"))),
                      "till");
    };
    const auto found_with = [&](const std::string& more) {
        (void)add(call_of(more));
        wait_until("ip -n till link show net1 | grep -q LOWER_UP");
        std::string found = found_by("pod-ipoib", kTill);
        CHECK(del(call_of(more)) == "");
        return found;
    };
    CHECK(found_with("'pkey':'0x8001',") == "");
    const std::string found = found_with("");
    INFO(found);
    CHECK(is_documented(source_text("docs/doctor.md"), "pod-ipoib", "a limited member of the partition", found));
    CHECK_THAT(found, Names("warning", "shop/till net1", "0x7fff", "=full"));
}

} // namespace rdmanet::test
