// `rdmanet state`: who holds what, and what the kernel shows of it.
#include "vf_stage.hpp"

#include "support/concat.hpp"
#include "support/infiniband_node.hpp"
#include "support/names.hpp"
#include "support/patience.hpp"
#include "support/reporter.hpp"

#include <catch2/catch.hpp>

namespace rdmanet::test {

using Catch::Contains;
using Catch::Matches;

namespace {

std::string state_json() {
    return shell(concat(binary(), " state --json"));
}

std::string state_table() {
    return shell(concat(binary(), " state"));
}

/// A shell script that prints the GID's indexes for interface net1 in a device's table, "1 (RoCE v1), 2 (RoCE v2)".
std::string look_for(const std::string& device, const std::string& gid) {
    return concat("cd /sys/class/infiniband/", device, "/ports/1; for file in $(grep -lx ", gid,
                  " gids/* 2>/dev/null | sort -t/ -k2n); do i=${file#gids/}; [ $(<gid_attrs/ndevs/$i) = net1 ] && ",
                  "echo -n \"$i ($(sed s,IB/,, gid_attrs/types/$i)), \"; done | sed \"s/, $//\"");
}

std::string inside(const Pod& pod, const std::string& script) {
    return pod.run(concat("bash -c '", script, '\''));
}

const char* const kV4 = "0000:0000:0000:0000:0000:ffff:0a2b:0001";
const char* const kV6 = "fd43:0000:0000:0000:0000:0000:0000:0001";

/// The addresses of these two GIDs.
std::string two_addresses() {
    return ipam("10.43.0.0/24", "'ipRanges':[{'range':'fd43::/64'}]");
}

/// `expression` matches a whole line of the table.
auto has_row(const std::string& expression) {
    return Matches(concat("(.|\n)*\n", expression, "\n(.|\n)*"));
}

/// Quotes `text` for a regular expression.
std::string literally(const std::string& text) {
    std::string expression;
    for (const char character : text) expression += concat('[', character, ']');
    return expression;
}

} // namespace

TEST_CASE("a pod's name may be any UTF-8 text, and the terminal gets its control characters escaped", "[state]") {
    const CheckedStage stage;
    PluginCall call = call_for(stage.pod, concat("'master':'par0','logLevel':'debug',", ipam("10.36.1.0/24")));
    const std::string hostile = "\x1b[2J\r\n\x7f\xc2\x9b'\"\\\t";
    const std::string long_name = concat(hostile, std::string(std::size_t{64} << 10U, 'n'));
    call.args =
        concat("IgnoreUnknown=1;K8S_POD_NAMESPACE=", hostile, ";K8S_POD_NAME=", long_name, ";K8S_POD_UID=", hostile);
    const std::string result = add(call);
    CHECK(check(call, result) == "");
    const std::string state = state_json();
    CHECK(value(state, "attachments.0.podNamespace") == hostile);
    CHECK(value(state, "attachments.0.podName") == long_name);
    CHECK(value(state, "leases.0.podUID") == hostile);
    const std::string table = state_table();
    CHECK_THAT(table, Contains(R"("\x1b[2J\x0d\x0a\x7f\xc2\x9b'\"\\\x09/\x1b)") && !Contains("\x1b") &&
                          !Contains("\r") && !Contains("\x7f") && !Contains("\xc2\x9b"));
    CHECK(table.size() < 10'000);
    PluginCall other = of(call, "other");
    other.args = "IP=10.36.1.1";
    other.ifname = "net2";
    CHECK_THAT(refusal(other), Contains(R"(is taken by pod "\x1b[2J)") && !Contains("\x1b"));
    CHECK(del(call) == "");
}

TEST_CASE("rdmanet state shows the GID indexes of a pod on the parent's RDMA device", "[state][rdma]") {
    NEEDS(!rdma_parent().empty(), "an RDMA parent");
    const std::string parent = rdma_parent();
    const std::string device = rdma_device_of(parent);
    const Pod one("one");
    const Pod other("other");
    const CheckedNode node;
    // Both pods' interfaces have the same name on the same device.
    const PluginCall first = call_for(one, concat("'master':'", parent, "','rdma':true,", two_addresses()));
    const PluginCall second =
        of(call_for(other, concat("'master':'", parent, "','rdma':true,", two_addresses())), "c2");
    (void)add(first);
    (void)add(second);
    const std::string v4 = shell(look_for(device, kV4));
    CHECK_THAT(v4, Contains("(RoCE v1), ") && Contains("(RoCE v2)"));
    const std::string row = concat(device, "/1 +host +uverbs[0-9]+,rdma_cm +- +c1 +net1 +");
    const std::string table = state_table();
    CHECK_THAT(table, has_row(concat(row, "10[.]43[.]0[.]1 +", literally(v4))));
    CHECK_THAT(table, has_row(concat(row, "fd43::1 +", literally(shell(look_for(device, kV6))))));
    const std::string state = state_json();
    CHECK(concat(value(state, "attachments.0.rdma.0.gids.0.index"), " (",
                 value(state, "attachments.0.rdma.0.gids.0.type"), ')') == v4.substr(0, v4.find(',')));
    CHECK(value(state, "attachments.0.rdma.0.gids.0.netdev") == "net1");
    CHECK(value(state, "attachments.1.rdma.0.gids.0.address") == "10.43.0.2");
    CHECK(value(state, "attachments.1.rdma.0.trouble") == "");
    CHECK(del(first) == "");
    CHECK(del(second) == "");
}

TEST_CASE("rdmanet state reads the GIDs inside the pod for its own RDMA device, and works without them",
          "[state][sriov][rdma]") {
    const Vfs vfs;
    const UnchangedNode node; // the pod ends before the attachment does
    Pod pod("pod");
    const PluginCall call = vf_call(vfs, pod, 0, concat("'rdma':true,", two_addresses()));
    const std::string device = vfs.rdma(0);
    (void)add(call);
    const std::string file =
        shell("basename $(dirname $(grep -lx " + device + " /sys/class/infiniband_verbs/uverbs*/ibdev)) | tr -d '\\n'");
    const std::string v4 = inside(pod, look_for(device, kV4));
    CHECK_THAT(v4, Contains("(RoCE v1), ") && Contains("(RoCE v2)"));
    const std::string row = concat(device, "/1 +pod +", file, ",rdma_cm +- +c1 +net1 +");
    const std::string table = state_table();
    CHECK_THAT(table, has_row(concat(row, "10[.]43[.]0[.]1 +", literally(v4))));
    CHECK_THAT(table, has_row(concat(row, "fd43::1 +", literally(inside(pod, look_for(device, kV6))))));

    // Entering a namespace requires CAP_SYS_ADMIN.
    const std::string without = "setpriv --bounding-set -sys_admin --inh-caps -sys_admin ";
    const std::string recorded = shell(concat(without, binary(), " state"));
    CHECK_THAT(recorded, Names("RDMA", "net", "c1", "net1", "recorded") &&
                             has_row(concat(device, " +- +", file, ",rdma_cm +- +c1 +net1 +10[.]43[.]0[.]1 +-")));
    CHECK_THAT(value(shell(concat(without, binary(), " state --json")), "attachments.0.rdma.0.trouble"),
               Contains("not permitted"));

    pod.destroy(); // the kernel returns the device to the host
    wait_until(concat("rdma dev show ", device));
    CHECK(value(state_json(), "attachments.0.rdma.0.where") == "host");
    CHECK(del(call) == "");
    CHECK(node.difference() == "");

    // All GIDs of a device that followed another plugin's interface.
    const Pod chained("chained");
    const UnchangedNode with_pod;
    const std::string netdev = vfs.netdev(0);
    shell(concat("ip link set ", netdev, " netns chained name net1"));
    inside(chained, "ip address add 10.43.0.1/24 dev net1 && ip link set net1 up");
    const PluginCall follower = call_for(
        chained, "'attach':'rdma','prevResult':{'cniVersion':'1.0.0','interfaces':[{'name':'net1'}]}", "1.0.0");
    (void)add(follower);
    wait_until(concat("ip netns exec ", chained.name(), " grep -qsx ", kV4, " -r /sys/class/infiniband/", device,
                      "/ports/1/gids"));
    const std::string all = inside(chained, look_for(device, kV4));
    CHECK_THAT(all, Contains("(RoCE v2)"));
    CHECK_THAT(state_table(), has_row(concat(device, "/1 +pod +uverbs[0-9]+,rdma_cm +- +c1 +net1 +10[.]43[.]0[.]1 +",
                                             literally(all))));
    CHECK(del(follower) == "");
    inside(chained, concat("ip address flush dev net1 && ip link set net1 down netns 1 name ", netdev));
    CHECK(with_pod.difference() == "");
}

TEST_CASE("rdmanet state shows the port's GID and every character device of InfiniBand", "[state][ipoib]") {
    NEEDS(OtherNic::possible(), "an InfiniBand card");
    const InfinibandNode infiniband;
    const Pod pod("pod");
    shell("modprobe ib_umad");
    const UnchangedNode node;
    const PluginCall call = call_for(
        pod, concat("'attach':'ipoib','master':'", infiniband.parent(0), "','rdma':true,", ipam("10.43.0.0/24")));
    (void)add(call);
    const std::string state = state_json();
    CHECK(value(state, "attachments.0.rdma.0.device") == "ib0p0");
    CHECK(value(state, "attachments.0.rdma.0.gids") ==
          R"([{"address":"fe80::52:ff:fe00:0","index":0,"netdev":"","type":"InfiniBand"}])");
    CHECK_THAT(
        state_table(),
        has_row("ib0p0/1 +host +uverbs0,umad0,issm0,rdma_cm +- +c1 +net1 +fe80::52:ff:fe00:0 +0 [(]InfiniBand[)]"));
    CHECK(del(call) == "");
    CHECK(node.difference() == "");
    shell("modprobe -r ib_umad");
}

} // namespace rdmanet::test
