// Children of IPoIB interfaces: InfiniBand in shared mode.
#include "attachment_stage.hpp"

#include "support/concat.hpp"
#include "support/infiniband_node.hpp"
#include "support/names.hpp"
#include "support/patience.hpp"
#include "support/reporter.hpp"

#include <catch2/catch.hpp>

#include <array>
#include <string>
#include <vector>

namespace rdmanet::test {

using Catch::Contains;
using Catch::StartsWith;

namespace {

std::string parent_mode(const std::string& parent) {
    return line_of(concat("/sys/class/net/", parent, "/mode"));
}

PluginCall ipoib_call(const Pod& pod, const std::string& parent, const std::string& members) {
    return call_for(pod, concat("'attach':'ipoib','master':'", parent, "',", members));
}

} // namespace

TEST_CASE("pods on IPoIB children of two cards reach each other in their partition, and wrong parents are refused",
          "[ipoib][core]") {
    NEEDS(OtherNic::possible(), "an InfiniBand card");
    const InfinibandNode infiniband;
    const Pod one("one");
    const Pod other("other");
    const VethParent veth("par0");
    const UnchangedNode node;
    const PluginCall first =
        ipoib_call(one, infiniband.parent(0), concat("'pkey':'0x8001','rdma':true,", ipam("10.96.0.0/24")));
    const PluginCall second =
        of(ipoib_call(other, "ib1p0", concat("'pkey':32769,", ipam("10.96.0.0/24"))), "c2"); // the RDMA device
    const std::string result = add(first);
    (void)add(second);
    CHECK_THAT(one.run("ip -d link show net1"), Contains("ipoib pkey 0x8001 mode datagram") && Contains(",UP"));
    CHECK_THAT(one.run("ip link show net1"), Contains(concat("link/infiniband ", value(result, "interfaces.0.mac"))));
    CHECK(value(result, "interfaces.0.mtu") ==
          shell(concat("tr -d '\\n' </sys/class/net/", infiniband.parent(0), "/mtu")));
    CHECK(succeeds("for i in $(seq 10); do ip netns exec one ping -c 1 -W 1 10.96.0.2 && exit 0; done; exit 1"));
    CHECK(check(first, result) == "");
    CHECK_THAT(check(with(first, "'mode':'connected'"), result), Contains("code 107") && Contains("mode datagram"));
    CHECK(del(first) == "");
    CHECK(del(second) == "");
    shell(concat("ip link add link ", infiniband.parent(0), " name child0 type ipoib pkey 0x8002 && ",
                 "ip link set child0 up"));
    const auto refused = [&](const std::string& members) { return refusal(call_for(one, members)); };
    CHECK_THAT(refused("'attach':'ipoib','master':'par0'"), Names("code 102", "par0", "ipoib"));
    CHECK_THAT(refused("'attach':'ipoib','master':'child0'"), Names("code 102", "child0", "IPoIB child"));
    CHECK_THAT(refused(concat("'master':'", infiniband.parent(0), '\'')), Contains("set \"attach\": \"ipoib\""));
    shell("ip link delete child0");
    CHECK(node.difference() == "");
}

TEST_CASE("pods on connected IPoIB children send packets of 60000 bytes", "[ipoib]") {
    NEEDS(OtherNic::possible(), "an InfiniBand card");
    const InfinibandNode infiniband;
    const std::array<Pod, 4> pods{Pod("one"), Pod("two"), Pod("far"), Pod("small")};
    const UnchangedNode node;
    std::vector<PluginCall> calls;
    std::vector<std::string> results;
    const auto attach = [&](unsigned card, const std::string& mode) {
        const std::string members = concat("'pkey':'0x8001','mode':'", mode, "',", ipam("10.95.0.0/24"));
        const PluginCall call = ipoib_call(pods.at(calls.size()), infiniband.parent(card), members);
        calls.push_back(of(call, concat("c", calls.size())));
        results.push_back(add(calls.back()));
    };
    const auto sends = [&](const Pod& pod, unsigned address, unsigned bytes) {
        return pod.succeeds(concat("ping -c 1 -W 1 -M \"do\" -s ", bytes, " 10.95.0.", address));
    };
    const auto connections = [] {
        return shell("rdma resource show qp type RC state RTS | grep -o ' ib.p0/1 ' | sort | uniq -c | xargs");
    };

    attach(0, "connected");
    attach(0, "connected");
    attach(1, "connected");
    attach(1, "datagram");
    CHECK(comes_true([&] { return sends(pods[0], 2, 60000); })); // between children of one port
    CHECK(comes_true([&] { return sends(pods[0], 3, 60000); }));
    CHECK_THAT(connections(), StartsWith("6 ib0p0/1 2 ib1p0/1"));
    CHECK(comes_true([&] { return sends(pods[3], 1, 1400); }));
    CHECK_FALSE(sends(pods[3], 1, 60000));
    CHECK(comes_true([&] { return sends(pods[0], 4, 60000); })); // answered in fragments
    for (std::size_t i = 0; i < calls.size(); ++i) CHECK(check(calls[i], results[i]) == "");
    for (const PluginCall& call : calls) CHECK(del(call) == "");
    CHECK(connections() == "\n");
    CHECK(node.difference() == "");
}

TEST_CASE("an IPoIB child has the mode and the MTU of its network, not of its parent", "[ipoib]") {
    NEEDS(OtherNic::possible(), "an InfiniBand card");
    const InfinibandNode infiniband;
    const std::string parent = infiniband.parent(0);
    const Pod pod("pod");
    const UnchangedNode node;
    const auto expect = [&](const std::string& members, const std::string& mode, const std::string& mtu) {
        INFO(members);
        const PluginCall call = ipoib_call(pod, parent, concat(members, ipam("10.98.0.0/24")));
        const std::string result = add(call);
        const auto link = [&] { return pod.run("ip -d link show net1"); };
        CHECK_THAT(link(), Contains(concat(" mode ", mode)));
        CHECK(comes_true([&] { return link().find(concat(" mtu ", mtu)) != std::string::npos; }));
        const bool is_known = result.find("\"mtu\":") != std::string::npos;
        CHECK(is_known == (mode == "connected" || parent_mode(parent) == "datagram"));
        if (is_known) CHECK(value(result, "interfaces.0.mtu") == mtu);
        CHECK(check(call, result) == "");
        CHECK(del(call) == "");
    };
    const auto refused = [&](const std::string& members) { return refusal(ipoib_call(pod, parent, members)); };

    expect("", "datagram", "2044");
    expect("'mtu':1400,", "datagram", "1400");
    expect("'mode':'connected',", "connected", "65520");
    expect("'mode':'connected','mtu':9000,", "connected", "9000");
    CHECK_THAT(refused("'mtu':2045"), Names("MTU 2044", parent));
    CHECK_THAT(refused("'mode':'connected','mtu':65521"),
               Names("code 7", "mtu", "65521", "above 65520", "ipoib", "0xffff"));

    shell(concat("echo connected >/sys/class/net/", parent, "/mode"));
    expect("", "connected", "65520");
    expect("'mode':'datagram',", "datagram", "2044");
    expect("'mode':'datagram','mtu':1400,", "datagram", "1400");
    CHECK_THAT(refused("'mode':'datagram','mtu':4093"), Names("above 4092", "ipoib"));
    shell(concat("echo datagram >/sys/class/net/", parent, "/mode"));
    CHECK(node.difference() == "");

    // The kernel gives this child its parent's index, in its own namespace. 1 is the loopback's.
    const std::string index = shell(concat("tr -d '\\n' </sys/class/net/", parent, "/ifindex"));
    const Pod numbered("numbered");
    numbered.run(concat("sh -c 'for i in $(seq ", std::stoi(index) - 2,
                        "); do echo link add gone0 type dummy; echo link delete gone0; done | ip -batch -'"));
    const PluginCall call = ipoib_call(numbered, parent, ipam("10.98.0.0/24"));
    const std::string result = add(call);
    CHECK_THAT(numbered.run("ip -o link show net1"), StartsWith(concat(index, ": net1: ")));
    CHECK(check(call, result) == "");
    CHECK(del(call) == "");
}

} // namespace rdmanet::test
