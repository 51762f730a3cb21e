// STATUS says whether ADD would work now.
#include "attachment_stage.hpp"

#include "support/reporter.hpp"

#include <catch2/catch.hpp>

namespace rdmanet::test {

using Catch::Contains;

namespace {

std::string status_of(const Pod& pod, const std::string& members) {
    PluginCall call = call_for(pod, members);
    call.container.clear();
    call.netns.clear();
    call.ifname.clear();
    return outcome(call, "STATUS");
}

} // namespace

TEST_CASE("STATUS is fine where ADD works, and changes nothing", "[status]") {
    NEEDS(kernel_has("macvlan"), "macvlan");
    const Stage stage;
    CHECK(status_of(stage.pod, concat("'master':'par0',", ipam("10.35.0.0/24"))) == "");
    CHECK(status_of(stage.pod, "'master':'par0'") == "");
    CHECK(stage.node.difference() == "");
}

TEST_CASE("STATUS has code 50 for a parent that is missing, down or too small", "[status]") {
    NEEDS(kernel_has("macvlan"), "macvlan");
    const Stage stage;
    CHECK_THAT(status_of(stage.pod, "'master':'par9'"), Contains("code 50") && Contains("par9"));
    CHECK_THAT(status_of(stage.pod, "'master':'par0','mtu':9000"), Contains("code 50") && Contains("9000"));
    CHECK_THAT(status_of(stage.pod, "'master':'par0','rdma':true"), Contains("code 50") && Contains("RDMA"));
    shell("ip link set par0 down");
    CHECK_THAT(status_of(stage.pod, "'master':'par0'"), Contains("code 50") && Contains("down"));
    shell("ip link set par0 up");
    CHECK(stage.node.difference() == "");
}

TEST_CASE("STATUS has code 50 for an exhausted range", "[status]") {
    NEEDS(kernel_has("macvlan"), "macvlan");
    const Stage stage;
    const std::string members = concat("'master':'par0',", ipam("10.35.1.1/32", "'enable_l3':true"));
    const PluginCall call = call_for(stage.pod, members);
    add(call);
    CHECK_THAT(status_of(stage.pod, members), Contains("code 50") && Contains("10.35.1.1/32") && Contains("exhausted"));
    CHECK(del(call) == "");
    CHECK(status_of(stage.pod, members) == "");
    CHECK(stage.node.difference() == "");
}

TEST_CASE("STATUS counts on what an exhausted range gets back from the dead, and that goes with its record",
          "[status]") {
    NEEDS(kernel_has("macvlan"), "macvlan");
    const Stage stage;
    const std::string members = concat("'master':'par0',", ipam("10.35.2.1/32", "'enable_l3':true"));
    Pod dying("dying");
    add(of(call_for(dying, members), "dead"));
    CHECK_THAT(status_of(stage.pod, members), Contains("code 50"));
    dying.destroy();
    CHECK(status_of(stage.pod, members) == "");
    const PluginCall call = call_for(stage.pod, members);
    add(call);
    CHECK_THAT(shell(concat(binary(), " state --json")), !Contains("\"dead\""));
    CHECK(del(call) == "");
    CHECK(stage.node.difference() == "");
}

} // namespace rdmanet::test
