// STATUS reports whether ADD would work now.
#include "attachment_stage.hpp"
#include "golden.hpp"

#include "support/concat.hpp"
#include "support/names.hpp"

#include <catch2/catch.hpp>

namespace rdmanet::test {

using Catch::Contains;

namespace {

std::string status_of(const Pod& pod, const std::string& members) {
    return outcome(call_for(pod, members), "STATUS");
}

} // namespace

TEST_CASE("STATUS has code 50 where ADD would fail now, and messages.golden has its words", "[status][golden]") {
    const CheckedStage stage;
    Golden golden("STATUS");
    const auto status = [&](const std::string& members) { return status_of(stage.pod, members); };
    CHECK(status("'master':'par0'") == "");
    for (const char* members : {"'master':'par9'", "'master':'par0','mtu':9000"}) golden.add(status(members));
    CHECK_THAT(status("'master':'par0','rdma':true"), Contains("code 50") && Contains("RDMA"));
    shell("ip link set par0 down");
    golden.add(status("'master':'par0'"));
    shell("ip link set par0 up");
    // The only address of a range. ADD would reclaim it from a dead pod.
    const std::string one = concat("'master':'par0',", ipam("10.35.2.1/32", "'enable_l3':true"));
    CHECK(status(one) == "");
    Pod dying("dying");
    (void)add(of(call_for(dying, one), "dead"));
    golden.add(status(one));
    dying.destroy();
    CHECK(status(one) == "");
    const PluginCall call = call_for(stage.pod, one);
    (void)add(call);
    CHECK_THAT(shell(concat(binary(), " state --json")), !Contains("\"dead\""));
    CHECK(del(call) == "");
    CHECK(golden.difference() == "");
}

TEST_CASE("STATUS warns while the kubeconfig is whereabouts' own", "[status]") {
    const CheckedStage stage;
    const auto says = [&](const std::string& kubeconfig) {
        PluginCall call =
            call_for(stage.pod, concat("'master':'par0','ipam':{'type':'rdmanet',",
                                       "'range':'10.35.1.0/24','kubernetes':{'kubeconfig':'", kubeconfig, "'}}"));
        call.command = "STATUS";
        return call.run().err;
    };
    const std::string own = "/etc/cni/net.d/whereabouts.d/whereabouts.kubeconfig";
    CHECK_THAT(says(own), Names("warning kubeconfig " + own + " belongs to whereabouts", "ends its token"));
    CHECK_THAT(says("/etc/cni/net.d/rdmanet.d/rdmanet.kubeconfig"), !Contains("belongs to whereabouts"));
}

} // namespace rdmanet::test
