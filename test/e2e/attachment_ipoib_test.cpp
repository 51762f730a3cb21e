// Children of IPoIB interfaces: InfiniBand in shared mode.
#include "attachment_stage.hpp"

#include "support/concat.hpp"
#include "support/infiniband_node.hpp"
#include "support/patience.hpp"
#include "support/reporter.hpp"

#include <catch2/catch.hpp>

#include <string>

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

TEST_CASE("pods on IPoIB children of two cards reach each other in their partition", "[ipoib][core]") {
    NEEDS(OtherNic::possible(), "an InfiniBand card");
    const InfinibandNode infiniband;
    const Pod one("one");
    const Pod other("other");
    const CheckedNode node;
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
    CHECK(del(first) == "");
    CHECK(del(second) == "");
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

    expect("", "datagram", "2044");
    expect("'mtu':1400,", "datagram", "1400");
    expect("'mode':'connected',", "connected", "65520");
    expect("'mode':'connected','mtu':9000,", "connected", "9000");

    shell(concat("echo connected >/sys/class/net/", parent, "/mode"));
    expect("", "connected", "65520");
    expect("'mode':'datagram',", "datagram", "2044");
    expect("'mode':'datagram','mtu':1400,", "datagram", "1400");
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
