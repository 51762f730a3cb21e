// The binary as the IPAM plugin of Debian's macvlan and bridge. Newer commands, which Debian's plugins lack, are
// called directly.
#include "attachment_stage.hpp"
#include "runtime.hpp"
#include "support/concat.hpp"
#include "support/names.hpp"
#include "support/reporter.hpp"

#include <catch2/catch.hpp>

#include <filesystem>

using namespace rdmanet;
using namespace rdmanet::test;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;

namespace {

namespace fs = std::filesystem;

/// A call of another plugin that delegates IPAM to rdmanet.
PluginCall call_of(const std::string& plugin, const Pod& pod, const std::string& members,
                   const std::string& version = "1.0.0") {
    PluginCall call;
    call.netns = pod.path();
    call.config = json_text(
        concat("{'cniVersion':'", version, "','name':'net','type':'", plugin, "',", members, ',',
               ipam("10.65.0.0/24", "'gateway':'10.65.0.1','routes':[{'dst':'10.66.0.0/16','gw':'10.65.0.1'}]"), '}'));
    call.path = Installed::path();
    call.program = concat(kDebianPlugins, '/', plugin);
    return call;
}

/// The call as the other plugin delegates it.
PluginCall direct(PluginCall call) {
    call.program = binary();
    return call;
}

std::string leases() {
    const ProcessResult state = run_process(
        {"/bin/bash", "-c", concat(binary(), " state --json --state-dir ${RDMANET_STATE_DIR:-/run/rdmanet}")},
        {.input = "{}",
         .environment = {concat("RDMANET_STATE_DIR=",
                                std::getenv("RDMANET_STATE_DIR") != nullptr ? std::getenv("RDMANET_STATE_DIR") : "")}});
    std::string text;
    const json::Document document = document_of(state);
    for (const auto& lease : document.root().at("leases").elements())
        text += concat(text.empty() ? "" : " ", lease.at("address").string());
    return text;
}

} // namespace

TEST_CASE("rdmanet gives addresses to Debian's macvlan for every version that it knows", "[ipam-plugin]") {
    NEEDS(fs::exists(concat(kDebianPlugins, "/macvlan")), "Debian's macvlan");
    const Installed installed;
    const Stage stage;
    for (const char* version : {"0.1.0", "0.2.0", "0.3.0", "0.3.1", "0.4.0", "1.0.0"}) {
        INFO(version);
        const PluginCall call = call_of("macvlan", stage.pod, "'master':'par0'", version);
        const std::string result = add(call);
        CHECK_THAT(result, Contains("\"10.65.0.2/24\""));
        CHECK(stage.pod.succeeds("ip route get 10.66.1.1 | grep -q 'via 10.65.0.1 dev net1'"));
        CHECK(leases() == "10.65.0.2/24");
        if (std::string(version) >= "0.4.0") CHECK(check(call, result) == "");
        CHECK(del(call) == "");
        CHECK(del(call) == "");
        CHECK(stage.node.difference() == "");
    }
}

TEST_CASE("as an IPAM plugin: abbreviated result, same address for a repeated ADD, release without a namespace",
          "[ipam-plugin]") {
    const CheckedStage stage;
    const PluginCall call = direct(call_of("macvlan", stage.pod, "'master':'par0'", "1.1.0"));
    const std::string result = add(call);
    CHECK(result == R"({"cniVersion":"1.1.0","ips":[{"address":"10.65.0.2/24","gateway":"10.65.0.1"}],)"
                    R"("routes":[{"dst":"10.66.0.0/16","gw":"10.65.0.1"}]})");
    CHECK(add(call) == result); // a repeated ADD never takes a second address
    CHECK(leases() == "10.65.0.2/24");
    CHECK(check(call, result) == "");
    CHECK(outcome(call, "STATUS") == "");
    PluginCall without_netns = call;
    without_netns.netns = "";
    CHECK(del(without_netns) == "");
    CHECK(del(without_netns) == "");
    CHECK_THAT(check(call, result), Names("code 107", "leased"));
}

TEST_CASE("as an IPAM plugin: STATUS reports an exhausted range, and a refused ADD leaves nothing", "[ipam-plugin]") {
    const CheckedStage stage;
    PluginCall call = direct(call_of("macvlan", stage.pod, "'master':'par0'", "1.1.0"));
    call.config = json_text(concat("{'cniVersion':'1.1.0','name':'net','type':'macvlan',",
                                   ipam("10.65.0.0/29", "'range_end':'10.65.0.1'"), '}'));
    CHECK(addresses(add(call)) == "10.65.0.1/29");
    CHECK_THAT(outcome(call, "STATUS"), Names("code 50", "10.65.0.0/29"));
    CHECK_THAT(refusal(of(call, "c2")), StartsWith("code 104: "));
    CHECK(leases() == "10.65.0.1/29");
    CHECK(del(call) == "");
    call.config = json_text("{'cniVersion':'1.1.0','name':'net','type':'macvlan','ipam':{'type':'rdmanet'}}");
    CHECK_THAT(refusal(call), StartsWith("code 7: "));
    call.config = json_text(
        concat("{'cniVersion':'1.1.0','name':'net','type':'ib-sriov','attach':'sriov',", ipam("10.65.0.0/29"), '}'));
    CHECK_THAT(refusal(call), Names("code 7", "attach", "type", "ib-sriov"));
    call.netns = "/run/netns/absent";
    CHECK_THAT(refusal(call), StartsWith("code "));
}
