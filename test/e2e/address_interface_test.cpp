// Addresses on the interface, and how neighbours learn of them.
#include "attachment_stage.hpp"

#include "support/concat.hpp"
#include "support/patience.hpp"

#include <catch2/catch.hpp>

namespace rdmanet::test {

using Catch::Contains;

namespace {

bool comes_to_succeed(const std::string& command) {
    return comes_true([&] { return succeeds(command); });
}

} // namespace

TEST_CASE("both families are usable after ADD", "[address]") {
    const Stage stage;
    shell("ip address add 10.11.0.254/24 dev par0peer; ip address add fd11::ff/64 dev par0peer nodad");
    const CheckedNode node;
    const PluginCall call =
        call_for(stage.pod, concat("'master':'par0',", ipam("10.11.0.0/24", "'ipRanges':[{'range':'fd11::/64'}]")));
    const std::string result = add(call);
    CHECK_THAT(stage.pod.run("ip -6 address show dev net1 scope global"), Contains("inet6 fd11::1/64"));
    CHECK(stage.pod.succeeds("ping -6 -c 1 -W 10 fd11::ff"));
    CHECK(stage.pod.succeeds("ping -4 -c 1 -W 5 10.11.0.254"));
    CHECK(addresses(result) == "10.11.0.1/24 fd11::1/64");
    CHECK(value(result, "ips.1.interface") == "0");
    CHECK(check(call, result) == "");
    CHECK(del(call) == "");
}

TEST_CASE("IPv6 is switched on for the interface in a pod where IPv6 is off by default", "[address]") {
    const Stage stage;
    stage.pod.run("sysctl -q net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1");
    const CheckedNode node;
    const PluginCall call = call_for(stage.pod, concat("'master':'par0',", ipam("fd12::/64")));
    const std::string result = add(call);
    CHECK(stage.pod.run("cat /proc/sys/net/ipv6/conf/net1/disable_ipv6") == "0\n");
    CHECK_THAT(stage.pod.run("ip -6 address show dev net1 scope global"), Contains("inet6 fd12::1/64"));
    CHECK(stage.pod.run("cat /proc/sys/net/ipv6/conf/default/disable_ipv6") == "1\n");
    CHECK(check(call, result) == "");
    CHECK(del(call) == "");
    // Loopback gets IPv6 too, as the reference plugins do it: programs in such a pod look for ::1.
    CHECK(stage.pod.run("ip -6 address show dev lo") != "");
    stage.pod.run("sysctl -q net.ipv6.conf.lo.disable_ipv6=1");
}

TEST_CASE("single addresses without a subnet are set and checked", "[address]") {
    const CheckedStage stage;
    const PluginCall call =
        call_for(stage.pod, concat("'master':'par0',", ipam("10.11.1.7/32", "'enable_l3':true,'ipRanges':"
                                                                            "[{'range':'fd11:1::7/128'}]")));
    const std::string result = add(call);
    CHECK(addresses(result) == "10.11.1.7/32 fd11:1::7/128");
    CHECK_THAT(stage.pod.run("ip address show dev net1"),
               Contains("inet 10.11.1.7/32") && Contains("inet6 fd11:1::7/128"));
    CHECK(check(call, result) == "");
    CHECK(del(call) == "");
}

TEST_CASE("neighbours with an outdated entry for an IPv4 address are updated at once", "[address]") {
    const Stage stage;
    shell("ip address add 10.11.2.254/24 dev par0peer;"
          "ip neighbour add 10.11.2.1 lladdr 02:00:00:00:00:99 dev par0peer nud stale");
    const CheckedNode node;
    const PluginCall call = call_for(stage.pod, concat("'master':'par0',", ipam("10.11.2.0/24")));
    const std::string mac = value(add(call), "interfaces.0.mac");
    CHECK(comes_to_succeed(concat("ip neighbour show 10.11.2.1 dev par0peer | grep -q ", mac)));
    CHECK(del(call) == "");
}

TEST_CASE("neighbours are updated when the pod's interface changes its MAC address", "[address]") {
    const Stage stage;
    shell("ip address add 10.11.3.254/24 dev par0peer; ip address add fd11:3::ff/64 dev par0peer nodad");
    const CheckedNode node;
    const PluginCall call =
        call_for(stage.pod, concat("'master':'par0',", ipam("10.11.3.0/24", "'ipRanges':[{'range':'fd11:3::/64'}]")));
    (void)add(call);
    CHECK(stage.pod.succeeds("ping -6 -c 1 -W 10 fd11:3::ff"));
    CHECK(stage.pod.succeeds("ping -4 -c 1 -W 5 10.11.3.254"));
    stage.pod.run("ip link set net1 address 02:00:00:00:00:77");
    for (const std::string address : {"10.11.3.1", "fd11:3::1"})
        CHECK(comes_to_succeed(concat("ip neighbour show ", address, " dev par0peer | grep -q 02:00:00:00:00:77")));
    CHECK(del(call) == "");
}

TEST_CASE("an interface without addresses is up", "[address]") {
    const AttachedStage attached("'master':'par0','ipam':{}");
    const auto& [stage, call, result] = attached;
    CHECK(addresses(result).empty());
    CHECK(stage.pod.run("ip -4 address show net1") == "");
    CHECK(stage.pod.run("ip -6 address show net1 scope global") == "");
    CHECK(check(call, result) == "");
    CHECK(attached.end() == "");
}

} // namespace rdmanet::test
