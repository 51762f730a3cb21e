// Routes: every field of CNI 1.1, and which network sets the pod's default route.
#include "attachment_stage.hpp"

#include "support/concat.hpp"

#include <catch2/catch.hpp>

namespace rdmanet::test {

using Catch::Contains;

TEST_CASE("every field of a route reaches the kernel", "[route]") {
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

} // namespace rdmanet::test
