// The specification's protocol in every version: environment and standard input in, one JSON document or nothing out.
#include "shell_call.hpp"

#include "support/concat.hpp"
#include "support/names.hpp"

#include <catch2/catch.hpp>

#include <string>
#include <vector>

using namespace rdmanet::test;
using Catch::Matchers::StartsWith;

namespace {

const std::vector<std::string> kVersions = {"0.1.0", "0.2.0", "0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0"};

const std::string kVersionOutput =
    R"({"cniVersion":"1.1.0","supportedVersions":["0.1.0","0.2.0","0.3.0","0.3.1","0.4.0","1.0.0","1.1.0"]})"
    "\n";

constexpr const char* kOldest =
    R"({"cniVersion":"VERSION",)"
    R"("dns":{"nameservers":["10.60.0.53"],"search":["a.b"]},)"
    R"("ip4":{"gateway":"10.60.0.1","ip":"10.60.0.2/24","routes":[{"dst":"10.61.0.0/16","gw":"10.60.0.1"}]},)"
    R"("ip6":{"ip":"fd60::1/64","routes":[{"dst":"fd61::/64","gw":"fd60::ff"}]}})";
constexpr const char* kMiddle =
    R"({"cniVersion":"VERSION","dns":{"nameservers":["10.60.0.53"],"search":["a.b"]},)"
    R"("interfaces":[{"mac":"MAC","name":"net1","sandbox":"/run/netns/pod"}],)"
    R"("ips":[{"address":"10.60.0.2/24","gateway":"10.60.0.1","interface":0,"version":"4"},)"
    R"({"address":"fd60::1/64","interface":0,"version":"6"}],)"
    R"("routes":[{"dst":"10.61.0.0/16","gw":"10.60.0.1","priority":7},{"dst":"fd61::/64","gw":"fd60::ff"}]})";
constexpr const char* kNewest =
    R"({"cniVersion":"VERSION","dns":{"nameservers":["10.60.0.53"],"search":["a.b"]},)"
    R"("interfaces":[{"mac":"MAC","mtu":1500,"name":"net1","sandbox":"/run/netns/pod"}],)"
    R"("ips":[{"address":"10.60.0.2/24","gateway":"10.60.0.1","interface":0},)"
    R"({"address":"fd60::1/64","interface":0}],)"
    R"("routes":[{"dst":"10.61.0.0/16","gw":"10.60.0.1","priority":7},{"dst":"fd61::/64","gw":"fd60::ff"}]})";

std::string golden(const std::string& version) {
    return version < "0.3.0" ? kOldest : version < "1.0.0" ? kMiddle : kNewest;
}

} // namespace

TEST_CASE("VERSION answers whatever the environment and the input are", "[protocol]") {
    PluginCall call;
    call.command = "VERSION";
    call.netns = call.ifname = call.path = "dummy"; // libcni calls it so
    for (const char* input : {R"({"cniVersion":"0.4.0"})", "", "rubbish"}) {
        call.config = input;
        const ProcessResult result = call.run();
        CHECK(result.exit_status == 0);
        CHECK(result.out == kVersionOutput);
        CHECK(result.err.empty());
    }
    CHECK(run_by_shell("exec \"$0\" <&-", call).out == kVersionOutput);
    CHECK(run_by_shell("exec env -i CNI_COMMAND=VERSION \"$0\" 2>&- </dev/null", call).out == kVersionOutput);
    CHECK(run_by_shell("mkdir /tmp/gone && cd /tmp/gone && rmdir /tmp/gone && exec \"$0\"", call).out ==
          kVersionOutput);
}

TEST_CASE("ADD, CHECK and DEL work for every version, and the result has the version's shape", "[protocol]") {
    const Stage stage;
    for (const std::string& version : kVersions) {
        INFO(version);
        const PluginCall call = dual_stack(stage.pod, version);
        const ProcessResult added = call.run();
        REQUIRE(added.exit_status == 0);
        const std::string result = document_of(added).root().to_text();
        CHECK(result == replaced(replaced(golden(version), "VERSION", version), "MAC", mac_of(stage.pod)));
        CHECK_THAT(added.out, StartsWith("{\n    \"cniVersion\": \"" + version + "\",\n"));
        if (version >= "0.4.0")
            CHECK(check(call, result) == "");
        else
            CHECK_THAT(check(call, result), Names("code 1", "CHECK", version, "0.4.0"));
        CHECK(del(version >= "0.4.0" ? after(call, result) : call).empty());
        const PluginCall bare = call_for(stage.pod, "'master':'par0'", version);
        if (version < "0.3.0")
            CHECK_THAT(refusal(bare), Names("code 7", "cniVersion", version, "address"));
        else
            CHECK(addresses(add(bare)).empty());
        CHECK(del(bare).empty());
        CHECK(stage.node.difference() == "");
    }
}

TEST_CASE("the result has what earlier plugins of the chain did, and then ours", "[protocol]") {
    const Stage stage;
    const std::string earlier =
        R"({"cniVersion":"VERSION","interfaces":[{"name":"cali0","mac":"ee:ee:ee:ee:ee:ee"},)"
        R"({"name":"eth0","mac":"02:00:00:00:00:09","sandbox":"/run/netns/pod"}],)"
        R"("ips":[{"version":"4","interface":1,"address":"10.0.0.9/32","gateway":"169.254.1.1"}],)"
        R"("routes":[{"dst":"0.0.0.0/0","gw":"169.254.1.1"}],"dns":{"domain":"cluster.local"}})";
    for (const std::string& version : kVersions) {
        if (version < "0.3.0") continue;
        INFO(version);
        const PluginCall call = after(dual_stack(stage.pod, version), replaced(earlier, "VERSION", version));
        const std::string result = add(call);
        CHECK_THAT(value(result, "interfaces"),
                   StartsWith(R"([{"mac":"ee:ee:ee:ee:ee:ee","name":"cali0"},)"
                              R"({"mac":"02:00:00:00:00:09","name":"eth0","sandbox":"/run/netns/pod"},{"mac":")" +
                              mac_of(stage.pod) + '"'));
        CHECK(addresses(result) == "10.0.0.9/32 10.60.0.2/24 fd60::1/64");
        CHECK(value(result, "ips.0.interface") + value(result, "ips.1.interface") + value(result, "ips.2.interface") ==
              "122");
        CHECK(value(result, "routes") ==
              R"([{"dst":"0.0.0.0/0","gw":"169.254.1.1"},{"dst":"10.61.0.0/16","gw":"10.60.0.1","priority":7},)"
              R"({"dst":"fd61::/64","gw":"fd60::ff"}])");
        if (version >= "0.4.0") CHECK(check(dual_stack(stage.pod, version), result).empty());
        CHECK(del(after(dual_stack(stage.pod, version), result)).empty());
        CHECK(stage.node.difference() == "");
    }
}

TEST_CASE("the result has the DNS settings of earlier plugins if rdmanet has none", "[protocol]") {
    const CheckedStage stage;
    const PluginCall call = call_for(stage.pod, "'master':'par0'", "1.0.0");
    const std::string result = add(after(call, R"({"cniVersion":"1.0.0","dns":{"domain":"cluster.local"}})"));
    CHECK(del(call).empty());
    CHECK(value(result, "dns.domain") == "cluster.local");
}

TEST_CASE("a refusal has the version of the configuration, or the newest if that is not known yet", "[protocol]") {
    const CheckedStage stage;
    const PluginCall good = dual_stack(stage.pod, "0.4.0");
    PluginCall unknown_command = good;
    unknown_command.command = "add";
    PluginCall no_netns = good;
    no_netns.netns = "/run/netns/absent";
    PluginCall no_object = good;
    no_object.config = "[]";
    for (const auto& [call, version] : {std::pair(unknown_command, "1.1.0"),
                                        {no_object, "1.1.0"},
                                        {no_netns, "0.4.0"},
                                        {with(good, "'name':null"), "0.4.0"},
                                        {with(good, "'cniVersion':'2.0.0'"), "1.1.0"}}) {
        const ProcessResult result = call.run();
        CHECK_THAT(error_of(result), StartsWith("code "));
        CHECK(document_of(result).root().at("cniVersion").string() == version);
    }
}

TEST_CASE("the plugin's own namespace is only accepted with CNI_NETNS_OVERRIDE", "[protocol]") {
    const CheckedStage stage;
    PluginCall call = dual_stack(stage.pod, "1.0.0");
    call.netns = "/proc/self/ns/net";
    CHECK_THAT(refusal(call), StartsWith("code 8: "));
    CHECK(del(call).empty());
    for (const char* yes : {"1", "TRUE", "true"}) {
        call.more_environment = {concat("CNI_NETNS_OVERRIDE=", yes)};
        const std::string result = add(call);
        CHECK(succeeds("ip link show net1"));
        CHECK(check(call, result).empty());
        CHECK(del(call).empty());
        CHECK(stage.node.difference() == "");
    }
    call.more_environment = {"CNI_NETNS_OVERRIDE=0"};
    CHECK_THAT(refusal(call), StartsWith("code 8: "));
}
