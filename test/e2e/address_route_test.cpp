// Routes: every field of CNI 1.1, and which network sets the pod's default route.
#include "attachment_stage.hpp"

#include "support/concat.hpp"
#include "support/reporter.hpp"

#include <catch2/catch.hpp>

namespace rdmanet::test {

using Catch::Contains;

TEST_CASE("every field of a route reaches the kernel", "[route]") {
    NEEDS(kernel_has("macvlan"), "macvlan");
    const AttachedStage attached(
        concat("'master':'par0',",
               ipam("10.12.0.0/24",
                    "'ipRanges':[{'range':'fd13::/64'}],'routes':["
                    "{'dst':'10.13.0.0/16','gw':'10.12.0.254','mtu':1300,'advmss':1200,'priority':77,'table':101},"
                    "{'dst':'10.14.1.1/16','scope':253},"
                    "{'dst':'fd14::/32','gw':'fd13::ff','mtu':1310,'advmss':1210,'priority':78,'table':102}]")));
    const auto& [stage, call, result] = attached;
    const std::string v4 = stage.pod.run("ip route show table 101");
    CHECK_THAT(v4, Contains("10.13.0.0/16 via 10.12.0.254 dev net1") && Contains("metric 77") && Contains("mtu 1300") &&
                       Contains("advmss 1200"));
    CHECK_THAT(stage.pod.run("ip route show"), Contains("10.14.0.0/16 dev net1") && Contains("scope link"));
    const std::string v6 = stage.pod.run("ip -6 route show table 102");
    CHECK_THAT(v6, Contains("fd14::/32 via fd13::ff dev net1") && Contains("metric 78") && Contains("mtu 1310") &&
                       Contains("advmss 1210"));
    CHECK(value(result, "routes.0.advmss") == "1200");
    CHECK(value(result, "routes.2.table") == "102");
    CHECK(check(call, result) == "");
    CHECK(attached.end() == "");
}

TEST_CASE("a route without a gateway uses the gateway of the addresses", "[route]") {
    NEEDS(kernel_has("macvlan"), "macvlan");
    const AttachedStage attached(
        concat("'master':'par0',", ipam("10.15.0.0/24", "'gateway':'10.15.0.1','routes':["
                                                        "{'dst':'10.16.0.0/16'},{'dst':'0.0.0.0/0'}]")));
    const auto& [stage, call, result] = attached;
    CHECK(addresses(result) == "10.15.0.2/24");
    CHECK(value(result, "ips.0.gateway") == "10.15.0.1");
    CHECK_THAT(stage.pod.run("ip route show"),
               Contains("10.16.0.0/16 via 10.15.0.1 dev net1") && Contains("default via 10.15.0.1 dev net1"));
    // Multus copies the gateway of each default route into the pod's network status. It writes "<nil>" if the gateway
    // is missing.
    CHECK(value(result, "routes.0.gw") == "10.15.0.1");
    CHECK(value(result, "routes.1.gw") == "10.15.0.1");
    CHECK(check(call, result) == "");
    CHECK(attached.end() == "");
}

namespace {

/// Makes the pod's first interface, as a cluster's default network does.
void make_eth0(const Pod& pod) {
    for (const char* command :
         {"ip link add eth0 type veth peer name eth0peer", "ip link set eth0 addrgenmode none", "ip link set eth0 up",
          "ip link set eth0peer addrgenmode none", "ip link set eth0peer up", "ip address add 10.88.0.2/24 dev eth0",
          "ip address add fd88::2/64 dev eth0 nodad"})
        pod.run(command);
}

} // namespace

TEST_CASE("defaultRoute decides which network sets the pod's default route", "[route]") {
    NEEDS(kernel_has("macvlan"), "macvlan");
    const Stage stage;
    make_eth0(stage.pod);
    stage.pod.run("ip route add default via 10.88.0.1");
    stage.pod.run("ip -6 route add default via fd88::1");
    const UnchangedNode node;
    const auto devices = [&](const std::string& policy) {
        const PluginCall call = call_for(
            stage.pod, concat("'master':'par0',", policy,
                              ipam("10.17.0.0/24", "'gateway':'10.17.0.254','ipRanges':[{'range':'fd17::/64','gateway':"
                                                   "'fd17::ff'}],'routes':[{'dst':'0.0.0.0/0'},{'dst':'::/0'}]")));
        const std::string result = add(call);
        const std::string text = concat(stage.pod.run("ip route get 192.0.2.1"), stage.pod.run("ip route get fd99::1"));
        CHECK(check(call, result) == "");
        CHECK(del(call) == "");
        return text;
    };
    CHECK_THAT(devices(""), Contains("dev eth0") && !Contains("dev net1"));
    CHECK_THAT(devices("'defaultRoute':'if-none',"), Contains("dev eth0") && !Contains("dev net1"));
    CHECK_THAT(devices("'defaultRoute':'never',"), Contains("dev eth0") && !Contains("dev net1"));
    CHECK_THAT(devices("'defaultRoute':'always',"), Contains("dev net1") && !Contains("dev eth0"));
    CHECK(node.difference() == "");
}

TEST_CASE("a default route that a router advertises later wins, unless defaultRoute is always", "[route]") {
    NEEDS(kernel_has("macvlan"), "macvlan");
    const Stage stage;
    make_eth0(stage.pod);
    const UnchangedNode node;
    const auto device = [&](const std::string& policy) {
        const PluginCall call =
            call_for(stage.pod, concat("'master':'par0',", policy,
                                       ipam("fd18::/64", "'gateway':'fd18::ff','routes':[{'dst':'::/0'}]")));
        const std::string result = add(call);
        CHECK_THAT(stage.pod.run("ip route get fd99::1"), Contains("dev net1"));
        // The kernel adds such a route with metric IP6_RT_PRIO_USER (rt6_add_dflt_router(), net/ipv6/route.c).
        stage.pod.run("ip -6 route add default via fd88::1 dev eth0 proto ra metric 1024");
        const std::string chosen = stage.pod.run("ip route get fd99::1");
        stage.pod.run("ip -6 route del default via fd88::1 dev eth0");
        CHECK(check(call, result) == "");
        CHECK(del(call) == "");
        return chosen;
    };
    CHECK_THAT(device(""), Contains("dev eth0"));
    CHECK_THAT(device("'defaultRoute':'if-none',"), Contains("dev eth0"));
    CHECK_THAT(device("'defaultRoute':'always',"), Contains("dev net1"));
    CHECK(node.difference() == "");
}

TEST_CASE("a default route that conflicts with an existing one produces a warning that names the keys", "[route]") {
    NEEDS(kernel_has("macvlan"), "macvlan");
    const Stage stage;
    make_eth0(stage.pod);
    stage.pod.run("ip route add default via 10.88.0.1");
    const UnchangedNode node;
    const auto log_of_add = [&](const std::string& policy) {
        const PluginCall call =
            call_for(stage.pod, concat("'master':'par0',", policy,
                                       ipam("10.17.0.0/24", "'gateway':'10.17.0.254','routes':[{'dst':'0.0.0.0/0'}]")));
        const ProcessResult result = call.with_command("ADD").run();
        CHECK(result.exit_status == 0);
        CHECK(del(call) == "");
        return result.err;
    };
    CHECK_THAT(log_of_add(""), Contains("warning") && Contains("route 0.0.0.0/0 of interface \"net1\" is not added") &&
                                   Contains("\"defaultRoute\": \"always\""));
    CHECK_THAT(log_of_add("'defaultRoute':'never',"), !Contains("0.0.0.0/0"));
    CHECK_THAT(log_of_add("'defaultRoute':'always',"), !Contains("0.0.0.0/0"));
    CHECK(node.difference() == "");
}

TEST_CASE("a suppressed default route is absent from both kernel and result", "[route]") {
    NEEDS(kernel_has("macvlan"), "macvlan");
    const Stage stage;
    const PluginCall call =
        call_for(stage.pod, concat("'master':'par0','defaultRoute':'never',",
                                   ipam("10.18.0.0/24", "'gateway':'10.18.0.254','routes':[{'dst':'0.0.0.0/0'}]")));
    const std::string result = add(call);
    CHECK(stage.pod.run("ip route show default") == "");
    CHECK_FALSE(succeeds(concat("grep -q 0.0.0.0/0 <<<'", result, '\'')));
    CHECK(check(call, result) == "");
    CHECK(del(call) == "");
    CHECK(stage.node.difference() == "");
}

} // namespace rdmanet::test
