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

TEST_CASE("rdmanet gives addresses to two pods on Debian's bridge, and one pod's DEL keeps the other's",
          "[ipam-plugin]") {
    NEEDS(fs::exists(concat(kDebianPlugins, "/bridge")) && kernel_has("bridge"), "bridge");
    const Installed installed;
    const Pod first("pod");
    const Pod second("pod2");
    const UnchangedNode node;
    const PluginCall one = call_of("bridge", first, "'bridge':'e2ebr0'");
    const PluginCall two = of(call_of("bridge", second, "'bridge':'e2ebr0'"), "c2");
    (void)add(one);
    (void)add(two);
    CHECK(first.succeeds("ping -c 1 -W 5 10.65.0.3 || ip address show net1 | grep -q 10.65.0.2"));
    CHECK(leases() == "10.65.0.2/24 10.65.0.3/24");
    CHECK(del(one) == "");
    CHECK(leases() == "10.65.0.3/24");
    CHECK(del(two) == "");
    CHECK(leases().empty());
    shell("ip link delete e2ebr0");
    CHECK(node.difference() == "");
}

TEST_CASE("as an IPAM plugin: abbreviated result, same address for a repeated ADD, release without a namespace",
          "[ipam-plugin]") {
    const Stage stage;
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
    CHECK(stage.node.difference() == "");
}

TEST_CASE("as an IPAM plugin: a refused repetition of ADD keeps the first address", "[ipam-plugin]") {
    const Stage stage;
    PluginCall call = call_for(stage.pod, ipam("10.68.9.0/24"));
    call.config = json_text(concat("{'cniVersion':'1.0.0','name':'net','type':'macvlan',", ipam("10.68.9.0/24"), '}'));
    CHECK(addresses(add(call)) == "10.68.9.1/24");
    PluginCall again = call;
    again.args = "IgnoreUnknown=1;IP=10.68.9.7";
    CHECK_THAT(refusal(again), Contains("already holds 10.68.9.1/24"));
    CHECK_THAT(shell(concat(binary(), " state --json")), Contains("10.68.9.1/24"));
    CHECK(addresses(add(call)) == "10.68.9.1/24");
    CHECK(del(call) == "");
    CHECK(stage.node.difference() == "");
}

TEST_CASE("as an IPAM plugin: DEL works after the range was edited or became invalid", "[ipam-plugin]") {
    const Stage stage;
    const PluginCall call = direct(call_of("macvlan", stage.pod, "'master':'par0'", "1.0.0"));
    for (const char* edited : {"'ipam':{'type':'rdmanet','range':'10.99.0.0/24'}", "'ipam':{'type':'rdmanet'}",
                               "'ipam':{'type':'rdmanet','range':7}"}) {
        (void)add(call);
        PluginCall other = call;
        other.config = json_text(concat("{'cniVersion':'1.0.0','name':'net','type':'macvlan',", edited, '}'));
        CHECK(del(other) == "");
        CHECK(stage.node.difference() == "");
    }
}

TEST_CASE("as an IPAM plugin: GC keeps listed and living attachments", "[ipam-plugin]") {
    const Stage stage;
    Pod dead("pod2");
    const PluginCall living = direct(call_of("macvlan", stage.pod, "'master':'par0'", "1.1.0"));
    const PluginCall dying = of(direct(call_of("macvlan", dead, "'master':'par0'", "1.1.0")), "c2");
    (void)add(living);
    (void)add(dying);
    CHECK(outcome(with(living, "'cni.dev/valid-attachments':null"), "GC") == "");
    CHECK(leases() == "10.65.0.2/24 10.65.0.3/24"); // the list is empty, but both pods live
    dead.destroy();
    CHECK(outcome(with(living, "'cni.dev/valid-attachments':[{'containerID':'c1','ifname':'net1'},"
                               "{'containerID':'c2','ifname':'net1'}]"),
                  "GC")
              .empty());
    CHECK(leases() == "10.65.0.2/24 10.65.0.3/24");
    CHECK(outcome(with(living, "'cni.dev/attachments':[{'containerID':'c1','ifname':'net1'}]"), "GC") == "");
    CHECK(leases() == "10.65.0.2/24");
    CHECK(del(living) == "");
    CHECK(leases().empty());
    CHECK(stage.node.difference() == "");
}

TEST_CASE("as an IPAM plugin: STATUS reports an exhausted range, and a refused ADD leaves nothing", "[ipam-plugin]") {
    const Stage stage;
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
    CHECK(stage.node.difference() == "");
}

namespace {

/// The same network after somebody changed its type to another plugin's.
PluginCall edited(PluginCall call) {
    call.config = replaced(call.config, R"("type":"rdmanet","master")", R"("type":"macvlan","master")");
    return call;
}

/// Turns the record into one of an earlier version, which did not record the role.
void forget_roles() {
    shell("cd /run/rdmanet/attachments && sed -i 's/\"role\": \"ipam\"/\"role\": \"\"/' c1:net1:net:ipam.json && "
          "mv c1:net1:net:ipam.json c1:net1:net.json");
}

} // namespace

TEST_CASE("an attachment survives and is undone whole after its network's type became another plugin's",
          "[ipam-plugin][role]") {
    NEEDS(kernel_has("macvlan"), "macvlan");
    const Stage stage;
    stage.pod.run("sysctl -q net.ipv6.conf.default.addr_gen_mode=1"); // so that no link-local address appears later
    const PluginCall call = call_for(stage.pod, concat("'master':'par0',", ipam("10.67.0.0/24")));
    const std::string result = add(call);
    SECTION("DEL of the other plugin removes it") {
        CHECK(del(edited(call)) == "");
    }
    SECTION("ADD and a refused ADD of the other plugin leave it and its address alone") {
        CHECK(addresses(add(edited(call))) == "10.67.0.1/24");
        PluginCall again = edited(call);
        again.args = "IgnoreUnknown=1;IP=10.67.0.7";
        CHECK_THAT(refusal(again), Contains("already holds 10.67.0.1/24"));
        CHECK(check(call, result) == "");
        CHECK(leases() == "10.67.0.1/24");
        CHECK(del(call) == "");
    }
    CHECK(leases().empty());
    CHECK(stage.node.difference() == "");
}

TEST_CASE("another plugin's addresses are released after the network's type changed, and from old records",
          "[ipam-plugin][role]") {
    Pod dead("dead");
    const Stage stage;
    const PluginCall call = call_for(stage.pod, concat("'master':'par0',", ipam("10.67.0.0/24")));
    for (const PluginCall& undoing : {edited(call), call})
        for (const bool is_old : {false, true}) {
            CHECK(addresses(add(edited(call))) == "10.67.0.1/24");
            if (is_old) forget_roles();
            CHECK(addresses(add(edited(call))) == "10.67.0.1/24");
            CHECK(del(undoing) == "");
            CHECK(leases().empty());
        }
    PluginCall of_dead = edited(call);
    of_dead.netns = dead.path();
    (void)add(of_dead);
    dead.destroy();
    CHECK(shell(concat(binary(), " gc | grep -c 10.67.0.1")) == "1\n");
    CHECK(leases().empty());
    shell("! ls /run/rdmanet/attachments | grep .");
}
