// `rdmanet doctor`: faults of the node beside its NICs, and of images.
#include "doctor_provocation.hpp"
#include "vf_stage.hpp"

#include "support/concat.hpp"
#include "support/patience.hpp"
#include "support/reporter.hpp"

#include <catch2/catch.hpp>

#include <set>
#include <string>

namespace rdmanet::test {
namespace {

/// A pod of Kubernetes with a VF.
struct Shop {
    Shop() : call(vf_call(vfs, pod, 0, ipam("10.73.0.0/24"))) {
        call.args = "K8S_POD_NAMESPACE=shop;K8S_POD_NAME=till;K8S_POD_UID=uid-1";
        (void)add(call);
    }
    Shop(const Shop&) = delete;
    Shop& operator=(const Shop&) = delete;
    ~Shop() { (void)outcome(call, "DEL"); }

    Vfs vfs;
    Pod pod{"pod"};
    PluginCall call;
};

std::string says(const std::string& message) {
    return concat("echo '", message, "' >/dev/kmsg");
}

} // namespace

TEST_CASE("the doctor sees faults of the node beside its NICs", "[doctor][sriov]") {
    const Shop shop;
    const VfNode& vfs = shop.vfs;
    const std::string other = rdma_parent(1);
    NEEDS(!other.empty(), "a second RDMA parent");
    std::set<std::string> tried;
    try_all({{"module-signatures",
              "Secure Boot refuses a module",
              says("Loading of unsigned module is rejected"),
              "dmesg --clear",
              {"info", "none for RDMA", "mokutil"}},
             {"denials",
              "AppArmor refuses a mount to rdmanet",
              says("audit: type=1400 audit('$(date +%s)'.1:7): apparmor=\"DENIED\" operation=\"mount\" profile=\"cni\" "
                   "pid=7 "
                   "comm=\"rdmanet\""),
              "dmesg --clear",
              {"AppArmor refused", "mount", "apparmor_parser"}},
             {"neighbours",
              "150 neighbours for a table of 100",
              concat("sysctl net.ipv4.neigh.default.gc_thresh3=100; for i in $(seq 1 150); do echo neighbour add "
                     "10.76.0.$i lladdr 02:00:00:00:00:01 dev ",
                     other, " nud reachable; done | ip -force -batch - 2>/dev/null || true"),
              concat("ip neighbour flush dev ", other, "; sysctl net.ipv4.neigh.default.gc_thresh3=1024"),
              {"neighbour table of ipv4", "gc_thresh3 is 100", "gc_thresh3=800"}},
             {"bonds",
              "a NIC becomes a port of a bond",
              concat("modprobe bonding; ip link add bond7 type bond; ip link set ", other, " down master bond7"),
              concat("ip link delete bond7; ip link set ", other, " up"),
              {other, "port of bond7", rdma_device_of(other), "RoCE LAG"}},
             {"strays",
              "a VF is in a namespace without a pod",
              concat("ip netns add stray; ip link set ", vfs.netdev(1), " netns stray"),
              concat("ip netns del stray; until ip link show ", vfs.netdev(1), "; do sleep 0.1; done"), // the fix
              {vfs.vf(1), "/run/netns/stray", "`ip netns del stray`"}},
             {"leases",
              "the record of an attachment is lost",
              "mkdir /tmp/records; mv /run/rdmanet/attachments/*.json /tmp/records",
              "mv /tmp/records/* /run/rdmanet/attachments",
              {"1 attachment has addresses and no record", "shop/till", "`rdmanet ipam check`"}}},
            "", tried);
}

TEST_CASE("the doctor looks at a pod's addresses and images as the pod sees them", "[doctor][sriov]") {
    const Shop shop;
    const std::string pf = shop.vfs.pf();
    std::set<std::string> tried;
    try_all({{"pod-addresses",
              "a host on the network has the pod's IPv6 address",
              concat("ip addr add fd00:0:0:73::9/64 dev ", pf, " nodad; ip -n pod addr add fd00:0:0:73::9/64 dev net1"),
              concat("ip addr del fd00:0:0:73::9/64 dev ", pf, "; ip -n pod addr del fd00:0:0:73::9/64 dev net1"),
              {"shop/till net1", "another host has fd00:0:0:73::9", "\"exclude\""}},
             {"pod-memlock",
              "a process with a limit, as root of a user namespace",
              in_background(shop.pod, "unshare --user --map-root-user prlimit --memlock=65536", "/tmp/tenant5"),
              end_of("/tmp/tenant5"),
              {"tenant5", "outside of its user namespace", "\"hostUsers\": true"}}},
            "--pod shop/till", tried);

    // An absolute link of an image leads to the image's /etc, which is empty, and not to the host's.
    shell("libraries=/tmp/image/usr/lib/x86_64-linux-gnu; mkdir -p $libraries /tmp/image/etc "
          "/tmp/image/dev/infiniband; touch "
          "/tmp/image/dev/infiniband/uverbs$(seq -s ' /tmp/image/dev/infiniband/uverbs' 0 9) "
          "$libraries/libibverbs.so.1; ln -s /etc $libraries/libibverbs; cp $(command -v busybox) /tmp/image/sleep; "
          "ip netns exec pod chroot /tmp/image /sleep 1000 >/dev/null 2>&1 &");
    CHECK(comes_true([] { return !found_by("pod-provider", "--pod shop/till").empty(); }));
    shell("touch /tmp/image/etc/librxe-rdmav34.so");
    CHECK(found_by("pod-provider", "--pod shop/till") == "");
    shell("rm /tmp/image/etc/librxe-rdmav34.so; mkdir /tmp/image/usr/lib64");
    CHECK_FALSE(found_by("pod-provider", "--pod shop/till").empty());
    shell("touch /tmp/image/usr/lib64/librxe-rdmav2.so"); // where old versions have it
    CHECK(found_by("pod-provider", "--pod shop/till") == "");
    shell("pkill -x sleep; rm -r /tmp/image");
}

} // namespace rdmanet::test
