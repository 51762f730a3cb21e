// RDMA for pods on a shared parent: GIDs for their addresses, and refusals if GIDs are impossible.
#include "vf_stage.hpp"

#include "support/concat.hpp"
#include "support/names.hpp"
#include "support/other_nic.hpp"
#include "support/patience.hpp"
#include "support/reporter.hpp"

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

} // namespace

TEST_CASE("the GIDs of all addresses exist when ADD returns, and vanish with DEL", "[rdma][core]") {
    NEEDS(kernel_has("macvlan") && kernel_has("ipvlan") && !rdma_parent().empty(), "children and an RDMA parent");
    const std::string parent = rdma_parent();
    const std::string device = rdma_device_of(parent);
    const Pod pod("pod");
    const UnchangedNode node;
    for (const std::string kind : {"macvlan", "ipvlan"}) {
        const PluginCall call = call_for(pod, concat("'master':'", parent, "','attach':'", kind, "','rdma':true,",
                                                     ipam("10.41.0.0/24", "'ipRanges':[{'range':'fd41::/64'}]")));
        const std::string result = add(call);
        const std::string v4 = entries(device, "0000:0000:0000:0000:0000:ffff:0a29:0001");
        const std::string v6 = entries(device, "fd41:0000:0000:0000:0000:0000:0000:0001");
        CHECK_THAT(v4, Contains("net1 RoCE v2") && Contains("net1 IB/RoCE v1"));
        CHECK_THAT(v6, Contains("net1 RoCE v2") && Contains("net1 IB/RoCE v1"));
        CHECK(check(call, result) == "");
        CHECK(del(call) == "");
        CHECK(node.difference() == "");
    }
}

TEST_CASE("a parent works although its VLAN has GIDs of the same link-local address", "[rdma]") {
    NEEDS(kernel_has("macvlan") && succeeds("modprobe 8021q") && !rdma_parent().empty(),
          "macvlan, VLANs and an RDMA parent");
    const std::string parent = rdma_parent();
    const std::string gids = concat("/sys/class/infiniband/", rdma_device_of(parent), "/ports/1/gid_attrs/ndevs/*");
    shell(concat("ip link add link ", parent,
                 " name vlan5 type vlan id 5 && echo 0 >/proc/sys/net/ipv6/conf/vlan5/accept_dad && ip link set vlan5 "
                 "up"));
    wait_until(concat("grep -qsx vlan5 ", gids));
    {
        const Pod pod("pod");
        const UnchangedNode node;
        const PluginCall call = call_for(pod, concat("'master':'", parent, "','rdma':true,", ipam("10.41.6.0/24")));
        const std::string result = add(call);
        CHECK(check(call, result) == "");
        CHECK(del(call) == "");
        CHECK(node.difference() == "");
    }
    shell("ip link delete vlan5");
}

TEST_CASE("required RDMA is refused if the parent has no RDMA device", "[rdma]") {
    NEEDS(kernel_has("macvlan"), "macvlan");
    const Stage stage;
    const std::string members = concat("'master':'par0',", ipam("10.41.2.0/24"));
    // A kernel without RDMA drivers produces its own message.
    CHECK_THAT(refusal(call_for(stage.pod, concat("'rdma':true,", members))),
               Contains("code 103") && (Contains("`rdma link`") || Contains("`modprobe mlx5_ib`")));
    CHECK(stage.node.difference() == "");
    for (const std::string without : {"", "'rdma':false,"}) {
        const PluginCall call = call_for(stage.pod, concat(without, members));
        const std::string result = add(call);
        CHECK(check(call, result) == "");
        CHECK(del(call) == "");
    }
    CHECK(stage.node.difference() == "");
}

TEST_CASE("a parent with software RDMA serves its pods until the RDMA device is removed", "[rdma][check]") {
    NEEDS(kernel_has("macvlan") && succeeds("modprobe rdma_rxe"), "macvlan and rdma_rxe");
    const Stage stage;
    shell("rdma link add rxe0 type rxe netdev par0");
    const UnchangedNode with_rxe;
    const PluginCall call = call_for(stage.pod, concat("'master':'rxe0','rdma':true,", ipam("10.41.3.0/24")));
    const std::string result = add(call);
    CHECK_THAT(entries("rxe0", "0000:0000:0000:0000:0000:ffff:0a29:0301"), Contains("net1 RoCE v2"));
    CHECK(check(call, result) == "");
    CHECK(del(call) == "");
    CHECK(with_rxe.difference() == "");
    const PluginCall by_name = call_for(stage.pod, concat("'master':'par0','rdma':true,", ipam("10.41.3.0/24")));
    const std::string again = add(by_name);
    shell("rdma link delete rxe0");
    CHECK_THAT(check(by_name, again), Names("code 107", "RDMA", "rxe0/1", "par0", "gone"));
    CHECK(del(by_name) == "");
    CHECK(stage.node.difference() == "");
}

TEST_CASE("a full GID table refuses a pod or warns, as configured, and CHECK detects it", "[rdma][check]") {
    NEEDS(kernel_has("macvlan") && OtherNic::possible(), "macvlan and the software NIC");
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
    CHECK(outcome(numbered(2, "{'onMissingGid':'warn'}"), "STATUS") == "");
    CHECK(del(second) == "");
    CHECK(check(first, result) == "");
    const PluginCall lenient = numbered(2, "{'onMissingGid':'warn','gidTimeoutMs':50}");
    const ProcessResult warned = lenient.run();
    CHECK(warned.exit_status == 0);
    CHECK_THAT(warned.err, Contains("4 of 4 entries used"));
    CHECK(check(lenient, warned.out) == "");
    CHECK_THAT(check(second, warned.out), Names("code 107", "GID", "10.41.4.2"));
    CHECK(del(lenient) == "");
    CHECK(del(first) == "");
    CHECK(outcome(second, "STATUS") == "");
    CHECK(node.difference() == "");
}

TEST_CASE("more pods fit into a small GID table without link-local addresses", "[rdma]") {
    NEEDS(kernel_has("macvlan") && OtherNic::possible(), "macvlan and the software NIC");
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

    const PluginCall greedy = numbered(1, "{'maxGids':3}");
    CHECK_THAT(refusal(greedy), Names("code 7", "rdma.maxGids", "3 entries", "4"));
    CHECK_THAT(outcome(greedy, "STATUS"), Names("code 50", "rdma.maxGids", "3 entries"));
    const PluginCall modest = numbered(1, "{'maxGids':2,'linkLocalGids':false}");
    const std::string result = add(modest);
    CHECK(check(modest, result) == "");
    pod.run("ip address add 10.41.4.99/24 dev net1");
    CHECK(comes_true([&] { return check(modest, result).find("4 entries") != std::string::npos; }));
    CHECK_THAT(check(modest, result), Names("code 107", "net1", "4 entries", "2"));
    CHECK(del(modest) == "");
    CHECK(node.difference() == "");
}

TEST_CASE("CHECK detects missing GIDs of a VF's RDMA device, in the pod and on the host", "[rdma][check][sriov]") {
    NEEDS(OtherNic::possible(), "the software NIC");
    const OtherNic nic("nics=1 gid_table_len=4");
    for (const std::string mode : {"exclusive", "shared"}) {
        INFO(mode);
        const VfNode vfs(mode, 1);
        const Pod pod("pod");
        pod.run("sysctl -q net.ipv6.conf.default.addr_gen_mode=1");
        const UnchangedNode node;
        const PluginCall lenient = vf_call(vfs, pod, 0,
                                           concat("'rdma':{'onMissingGid':'warn','gidTimeoutMs':50},",
                                                  ipam("10.41.6.0/24", "'ipRanges':[{'range':'fd41:6::/64'}]")));
        const ProcessResult warned = lenient.run();
        CHECK_THAT(warned.err, Names("GID", "fd41:6::1"));
        CHECK(check(lenient, warned.out) == "");
        CHECK_THAT(check(with(lenient, "'rdma':true"), warned.out), Names("code 107", "RDMA", "GID", "fd41:6::1"));
        CHECK(del(lenient) == "");
        CHECK(node.difference() == "");
    }
}

TEST_CASE("a pod whose GIDs do not fit is refused after all, and leaves nothing", "[rdma]") {
    NEEDS(kernel_has("macvlan") && OtherNic::possible() && succeeds("test -x /usr/lib/cni/static"),
          "macvlan, the software NIC and the plugin static");
    const OtherNic nic("nics=1 gid_table_len=4");
    const std::string parent = rdma_parent();
    const Pod pod("pod");
    pod.run("sysctl -q net.ipv6.conf.default.addr_gen_mode=1");
    const UnchangedNode node;
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

} // namespace rdmanet::test
