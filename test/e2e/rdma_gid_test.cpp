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
    const UnchangedNode node;
    const auto expect_gids = [&](const std::string& members) {
        INFO(members);
        const UnchangedNode present;
        const PluginCall call =
            call_for(pod, concat(members, ",'rdma':true,", ipam("10.41.0.0/24", "'ipRanges':[{'range':'fd41::/64'}]")));
        const std::string result = add(call);
        CHECK(pod.run("cat /sys/class/net/net1/iflink") == shell(concat("cat /sys/class/net/", parent, "/ifindex")));
        for (const char* gid : {"0000:0000:0000:0000:0000:ffff:0a29:0001", "fd41:0000:0000:0000:0000:0000:0000:0001"})
            CHECK_THAT(entries(device, gid), Contains("net1 RoCE v2") && Contains("net1 IB/RoCE v1"));
        CHECK(check(call, result) == "");
        CHECK(del(call) == "");
        CHECK(present.difference() == "");
    };
    expect_gids(concat("'attach':'ipvlan','master':'", parent, '\''));
    expect_gids(concat("'master':'", device, '\'')); // the parent by the name of its RDMA device
    // The VLAN has GIDs of the same link-local address.
    shell(concat("ip link add link ", parent,
                 " name vlan5 type vlan id 5 && echo 0 >/proc/sys/net/ipv6/conf/vlan5/accept_dad && ip link set vlan5 "
                 "up"));
    wait_until(concat("grep -qsx vlan5 /sys/class/infiniband/", device, "/ports/1/gid_attrs/ndevs/*"));
    expect_gids(concat("'master':'", parent, '\''));
    shell("ip link delete vlan5");
    CHECK(node.difference() == "");
}

TEST_CASE("a parent with software RDMA serves its pods", "[rdma][gid]") {
    NEEDS(succeeds("modprobe rdma_rxe"), "rdma_rxe");
    const Stage stage;
    shell("rdma link add rxe0 type rxe netdev par0");
    const UnchangedNode with_rxe;
    const PluginCall call = call_for(stage.pod, concat("'master':'rxe0','rdma':true,", ipam("10.41.3.0/24")));
    const std::string result = add(call);
    CHECK_THAT(entries("rxe0", "0000:0000:0000:0000:0000:ffff:0a29:0301"), Contains("net1 RoCE v2"));
    CHECK(check(call, result) == "");
    CHECK(del(call) == "");
    CHECK(with_rxe.difference() == "");
    shell("rdma link delete rxe0");
    CHECK(stage.node.difference() == "");
}

TEST_CASE("a full GID table refuses a pod or warns, as configured", "[rdma][gid]") {
    NEEDS(OtherNic::possible() && succeeds("test -x /usr/lib/cni/static"), "the software NIC and the plugin static");
    const OtherNic nic("nics=1 gid_table_len=4"); // the port itself uses two entries
    const std::string parent = rdma_parent();
    const std::string device = rdma_device_of(parent);
    const Pod pod("pod");
    pod.run("sysctl -q net.ipv6.conf.default.addr_gen_mode=1"); // link-local addresses would have GIDs too
    const UnchangedNode node;
    const auto numbered = [&](int number, const std::string& rdma) {
        return numbered_call(pod, number, concat("'master':'", parent, "','rdma':", rdma));
    };
    const PluginCall first = numbered(1, "true");
    const std::string result = add(first);
    const PluginCall second = numbered(2, "true");
    const Names full(device, parent, "full", "4 of 4", "2 more");
    CHECK_THAT(refusal(second), full && Names("code 103", "c1", "net1", "(2)"));
    CHECK_THAT(outcome(second, "STATUS"), full && Names("code 50"));
    CHECK(del(second) == "");
    CHECK(check(first, result) == "");
    const PluginCall lenient = numbered(2, "{'onMissingGid':'warn','gidTimeoutMs':50}");
    const ProcessResult warned = lenient.run();
    CHECK(warned.exit_status == 0);
    CHECK_THAT(warned.err, Contains("4 of 4 entries used"));
    CHECK(check(lenient, warned.out) == "");
    CHECK(del(lenient) == "");
    CHECK(del(first) == "");
    CHECK(node.difference() == "");
    // rdmanet learns how many addresses another plugin gives only after the interface exists.
    const auto limited = [&](const std::string& rdma) {
        return call_for(pod,
                        concat("'master':'", parent, "','rdma':{", rdma,
                               "},'ipam':{'type':'static','addresses':"
                               "[{'address':'10.41.5.1/24'},{'address':'10.41.5.2/24'}]}"),
                        "1.0.0");
    };
    CHECK_THAT(refusal(limited("'gidTimeoutMs':50")),
               Names("code 103", "GID", "10.41.5.2", "50 ms", "4 of 4", "net1", "(2)"));
    CHECK_THAT(refusal(limited("'maxGids':5")), Contains("code 7: rdma.maxGids: 5 entries") && Contains("need 6"));
    CHECK(node.difference() == "");
}

TEST_CASE("more pods fit into a small GID table without link-local addresses", "[rdma][gid]") {
    NEEDS(OtherNic::possible(), "the software NIC");
    const OtherNic nic("nics=1 gid_table_len=6"); // the port itself uses two entries
    const std::string parent = rdma_parent();
    const Pod pod("pod");
    const UnchangedNode node;
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
    CHECK(node.difference() == "");
}

TEST_CASE("in RDMA mode exclusive a shared network works without RDMA, and STATUS refuses mode shared", "[rdma]") {
    NEEDS(!rdma_parent().empty(), "an RDMA parent");
    NEEDS(set_rdma_mode("exclusive"), "a node without network namespaces");
    const ExclusiveMode mode;
    const Pod pod("pod");
    const UnchangedNode node;
    const std::string members = concat("'master':'", rdma_parent(), "',", ipam("10.42.0.0/24"));
    const auto status_of_vfs = [&](const std::string& wanted) {
        return outcome(call_for(pod, concat("'attach':'sriov','rdma':{'mode':'", wanted, "'}")), "STATUS");
    };
    CHECK_THAT(status_of_vfs("shared"), Names("code 50", "exclusive", "net", "shared"));
    CHECK(status_of_vfs("exclusive") == "");
    const PluginCall modest = call_for(pod, members);
    const std::string result = add(modest);
    CHECK(addresses(result) == "10.42.0.1/24");
    CHECK(check(modest, result) == "");
    CHECK(del(modest) == "");
    CHECK(node.difference() == "");
}

} // namespace rdmanet::test
