// RDMA for pods on a shared parent: GIDs for their addresses, and refusals if GIDs are impossible.
#include "attachment_stage.hpp"

#include "support/concat.hpp"
#include "support/names.hpp"
#include "support/other_nic.hpp"
#include "support/patience.hpp"
#include "support/reporter.hpp"
#include "support/vf_node.hpp"

#include <catch2/catch.hpp>

namespace rdmanet::test {

using Catch::Contains;

namespace {

/// "NETDEV TYPE" of each table entry with this GID, sorted.
std::string entries(const std::string& device, const std::string& gid) {
    return shell(concat("cd /sys/class/infiniband/", device, "/ports/1; for file in $(grep -lx ", gid,
                        " gids/* 2>/dev/null); do i=${file#gids/}; "
                        "echo -n \"$(<gid_attrs/ndevs/$i) $(<gid_attrs/types/$i), \"; done | cat"));
}

/// A call for one of several attachments of a pod.
PluginCall numbered_call(const Pod& pod, int number, const std::string& members) {
    PluginCall call = of(call_for(pod, concat(members, ',', ipam("10.41.4.0/24"))), concat('c', number));
    call.ifname = concat("net", number);
    return call;
}

struct ExclusiveMode {
    ~ExclusiveMode() { (void)set_rdma_mode("shared"); }
};

} // namespace

TEST_CASE("the GIDs of all addresses exist when ADD returns, and vanish with DEL",
          "[rdma][ipvlan][parent][core][gid]") {
    NEEDS(kernel_has("ipvlan") && succeeds("modprobe 8021q") && !rdma_parent().empty(),
          "children, VLANs and an RDMA parent");
    const std::string parent = rdma_parent();
    const std::string device = rdma_device_of(parent);
    const Pod pod("pod");
    const CheckedNode node;
    const auto expect_gids = [&](const std::string& members, const std::string& lower) {
        INFO(members);
        const PluginCall call =
            call_for(pod, concat(members, ",'rdma':true,", ipam("10.41.0.0/24", "'ipRanges':[{'range':'fd41::/64'}]")));
        const std::string result = add(call);
        CHECK(pod.run("cat /sys/class/net/net1/iflink") == shell(concat("cat /sys/class/net/", lower, "/ifindex")));
        for (const char* gid : {"0000:0000:0000:0000:0000:ffff:0a29:0001", "fd41:0000:0000:0000:0000:0000:0000:0001"})
            CHECK_THAT(entries(device, gid), Contains("net1 RoCE v2") && Contains("net1 IB/RoCE v1"));
        CHECK(check(call, result) == "");
        CHECK(del(call) == "");
    };
    expect_gids(concat("'attach':'ipvlan','master':'", parent, '\''), parent);
    expect_gids(concat("'master':'", device, '\''), parent); // the parent by the name of its RDMA device
    // The VLAN has GIDs of the same link-local address.
    shell(concat("ip link add link ", parent,
                 " name vlan5 type vlan id 5 && echo 0 >/proc/sys/net/ipv6/conf/vlan5/accept_dad && ip link set vlan5 "
                 "up"));
    wait_until(concat("grep -qsx vlan5 /sys/class/infiniband/", device, "/ports/1/gid_attrs/ndevs/*"));
    expect_gids(concat("'master':'", parent, '\''), parent);
    // The port is that of the interface below a VLAN or a bridge.
    expect_gids("'master':'vlan5'", "vlan5");
    shell("ip link delete vlan5");
    shell(concat("ip link add br5 type bridge && ip link set br5 addrgenmode none up && ip link set ", parent,
                 " master br5"));
    wait_until_up("br5");
    expect_gids("'master':'br5'", "br5");
    shell("ip link delete br5");
}

TEST_CASE("a parent with software RDMA serves its pods", "[rdma][gid]") {
    NEEDS(succeeds("modprobe rdma_rxe"), "rdma_rxe");
    const CheckedStage stage;
    shell("rdma link add rxe0 type rxe netdev par0");
    const UnchangedNode with_rxe;
    const PluginCall call = call_for(stage.pod, concat("'master':'rxe0','rdma':true,", ipam("10.41.3.0/24")));
    const std::string result = add(call);
    CHECK_THAT(entries("rxe0", "0000:0000:0000:0000:0000:ffff:0a29:0301"), Contains("net1 RoCE v2"));
    CHECK(check(call, result) == "");
    CHECK(del(call) == "");
    CHECK(with_rxe.difference() == "");
    shell("rdma link delete rxe0");
}

TEST_CASE("more pods fit into a small GID table without link-local addresses", "[rdma][gid]") {
    NEEDS(OtherNic::possible(), "the software NIC");
    const OtherNic nic("nics=1 gid_table_len=6"); // the port itself uses two entries
    const std::string parent = rdma_parent();
    const Pod pod("pod");
    const CheckedNode node;
    const auto numbered = [&](int number, const std::string& rdma) {
        return numbered_call(pod, number, concat("'master':'", parent, "','rdma':", rdma));
    };
    PluginCall with_link_local = numbered(1, "true");
    with_link_local.args = "IgnoreUnknown=1;K8S_POD_NAMESPACE=;K8S_POD_NAME=till"; // podman calls plugins so
    (void)add(with_link_local);
    wait_until(concat("test $(cat /sys/class/infiniband/", rdma_device_of(parent),
                      "/ports/1/gid_attrs/ndevs/* 2>/dev/null | grep -cx net1) = 4"));
    CHECK_THAT(refusal(numbered(2, "true")), Names("full", "6 of 6", "till", "net1", "(4)"));
    CHECK(del(with_link_local) == "");
    for (const int number : {1, 2}) {
        const PluginCall call = numbered(number, "{'linkLocalGids':false}");
        CHECK(check(call, add(call)) == "");
        CHECK(pod.run(concat("ip -6 address show dev net", number)) == "");
    }
    for (const int number : {1, 2}) CHECK(del(numbered(number, "true")) == "");
}

} // namespace rdmanet::test
