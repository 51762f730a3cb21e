// How the kernel shows an ipvlan attachment.
#include "attachment_stage.hpp"

#include "support/concat.hpp"
#include "support/names.hpp"
#include "support/reporter.hpp"

#include <catch2/catch.hpp>

#include <optional>

namespace rdmanet::test {

using Catch::Contains;

TEST_CASE("an ipvlan child has the configured mode and flag", "[ipvlan]") {
    NEEDS(kernel_has("ipvlan"), "ipvlan");
    const Stage stage;
    for (const std::string mode : {"l2", "l3", "l3s"})
        for (const std::string flag : {"bridge", "private", "vepa"}) {
            const PluginCall call =
                call_for(stage.pod, concat("'master':'par0','mode':'", mode, "','flag':'", flag, '\''));
            const std::string result = add(call);
            CHECK_THAT(stage.pod.run("ip -d link show net1"), Contains(concat("ipvlan  mode ", mode, ' ', flag, ' ')));
            CHECK(check(call, result) == "");
            CHECK(del(call) == "");
        }
    CHECK(stage.node.difference() == "");
}

TEST_CASE("ipvlan without addresses works for every version whose results may lack addresses", "[ipvlan]") {
    NEEDS(kernel_has("ipvlan"), "ipvlan");
    const Stage stage;
    for (const std::string version : {"0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0"}) {
        const PluginCall call = call_for(stage.pod, "'master':'par0','attach':'ipvlan'", version);
        const std::string result = add(call);
        CHECK(value(result, "cniVersion") == version);
        CHECK(value(result, "interfaces.0.name") == "net1");
        CHECK(addresses(result).empty());
        CHECK_THAT(stage.pod.run("ip -d link show net1"), Contains("mode l2 bridge") && Contains(",UP"));
        CHECK(stage.pod.run("ip -4 address show net1") == "");
        CHECK(del(call) == "");
    }
    for (const std::string version : {"0.1.0", "0.2.0"})
        CHECK_THAT(refusal(call_for(stage.pod, "'master':'par0','attach':'ipvlan'", version)),
                   Contains("code 7") && Contains("cniVersion is \"" + version));
    CHECK(stage.node.difference() == "");
}

TEST_CASE("a pod that requests a MAC starts on ipvlan, with a warning", "[ipvlan]") {
    NEEDS(kernel_has("ipvlan"), "ipvlan");
    const Stage stage;
    const PluginCall plain = call_for(stage.pod, "'master':'par0','attach':'ipvlan'");
    PluginCall by_arguments = plain;
    by_arguments.args = "IgnoreUnknown=1;MAC=02:00:00:00:00:42";
    for (const auto& [source, call] :
         {std::pair("CNI_ARGS MAC", by_arguments),
          {"runtimeConfig.mac", with(plain, "'runtimeConfig':{'mac':'02:00:00:00:00:42'}")},
          {"args.cni.mac", with(plain, "'args':{'cni':{'mac':'02:00:00:00:00:42'}}")}}) {
        const ProcessResult added = call.run();
        CHECK(added.exit_status == 0);
        CHECK_THAT(added.err, Names("not set", "warning", source, "02:00:00:00:00:42", "ipvlan", "MAC", "macvlan"));
        CHECK(check(call, added.out) == "");
        CHECK(del(call) == "");
    }
    CHECK(stage.node.difference() == "");
}

TEST_CASE("ipvlan without ipam sets up the addresses of an earlier plugin", "[ipvlan]") {
    NEEDS(kernel_has("ipvlan"), "ipvlan");
    const Stage stage;
    const std::string earlier =
        "{'cniVersion':'1.1.0','interfaces':[{'name':'par0'},{'name':'eth0','sandbox':'/run/netns/pod'}],"
        "'ips':[{'address':'10.97.0.5/24','gateway':'10.97.0.1','interface':0},{'address':'fd97::5/64'},"
        "{'address':'10.98.0.5/24','interface':1}],"
        "'routes':[{'dst':'10.99.0.0/16','gw':'10.97.0.1'}]}";
    const PluginCall call = call_for(stage.pod, concat("'attach':'ipvlan','master':'par0','prevResult':", earlier));
    const std::string result = add(call);
    CHECK_THAT(stage.pod.run("ip address show net1"),
               Contains("inet 10.97.0.5/24") && Contains("inet6 fd97::5/64") && !Contains("10.98.0.5"));
    CHECK_THAT(stage.pod.run("ip route show dev net1"), Contains("10.99.0.0/16 via 10.97.0.1"));
    CHECK(addresses(result) == "10.98.0.5/24 10.97.0.5/24 fd97::5/64");
    CHECK(value(result, "ips.0.interface") == "1");
    CHECK(value(result, "ips.1.interface") == "2");
    CHECK(value(result, "ips.2.interface") == "2");
    CHECK(value(result, "routes.0.dst") == "10.99.0.0/16");
    CHECK_THROWS(value(result, "routes.1.dst"));
    CHECK(check(call, result) == "");
    CHECK_THAT(check_between(call, result, "ip -n pod address del 10.97.0.5/24 dev net1",
                             "ip -n pod address add 10.97.0.5/24 dev net1 && ip -n pod route replace 10.99.0.0/16 "
                             "via 10.97.0.1"),
               Contains("lacks address 10.97.0.5/24"));
    CHECK(del(call) == "");
    CHECK(stage.node.difference() == "");
}

TEST_CASE("an ipvlan child that differs from its siblings is refused, and the siblings stay as they are",
          "[ipvlan][core]") {
    NEEDS(kernel_has("ipvlan") && kernel_has("macvlan"), "macvlan and ipvlan");
    const Pod other("other");
    const Stage stage;
    const std::string members = "'master':'par0','mode':'l2','flag':'private'";
    const PluginCall first = of(call_for(stage.pod, members), "first");
    const std::string result = add(first);
    for (const std::string differing : {"'mode':'l2'", "'mode':'l3','flag':'private'", "'mode':'l3s','flag':'vepa'"})
        CHECK_THAT(refusal(call_for(other, concat("'master':'par0',", differing), "1.1.0", "others")),
                   Names("code 102", "child", "ipvlan", "mode l2", "flag private"));
    CHECK_THAT(stage.pod.run("ip -d link show net1"), Contains("ipvlan  mode l2 private "));
    CHECK(check(first, result) == "");

    const PluginCall same = call_for(other, members, "1.1.0", "others");
    add(same);
    CHECK(del(same) == "");
    CHECK(del(first) == "");
    const PluginCall later = call_for(other, "'master':'par0','mode':'l3'", "1.1.0", "others");
    add(later);
    CHECK(del(later) == "");
    CHECK(stage.node.difference() == "");
}

TEST_CASE("a pod that returns with its address on ipvlan waits for its earlier attachment", "[ipvlan][again]") {
    NEEDS(kernel_has("ipvlan"), "ipvlan");
    const VethParent parent("par0");
    const UnchangedNode node;
    const std::string members =
        concat("'master':'par0','attach':'ipvlan','runtimeConfig':{'ips':['10.4.7.7/24']},", ipam("10.4.7.0/24"));
    auto before = std::make_optional<Pod>("before");
    add(of(call_for(*before, members), "before"));
    Pod after("after");
    before->destroy();
    const PluginCall call = of(call_for(after, members), "after");
    CHECK(addresses(add(call)) == "10.4.7.7/24");
    CHECK(del(call) == "");
    CHECK_THAT(shell(concat(binary(), " state --json")), !Contains("10.4.7.7"));
    after.destroy();
    CHECK(node.difference() == "");
}

TEST_CASE("a MAC in the configuration is refused for ipvlan", "[ipvlan]") {
    NEEDS(kernel_has("ipvlan"), "ipvlan");
    const Stage stage;
    const PluginCall call = call_for(stage.pod, "'master':'par0','attach':'ipvlan'");
    CHECK_THAT(refusal(with(call, "'mac':'02:00:00:00:00:02'")), Contains("code 2: mac: \"02:00:00:00:00:02\" "));
    CHECK_THAT(refusal(with(call, "'bcqueuelen':100")), Contains("code 2") && Contains("bcqueuelen"));
    CHECK(stage.node.difference() == "");
}

TEST_CASE("pods on ipvlan children of one parent reach each other", "[ipvlan]") {
    NEEDS(kernel_has("ipvlan"), "ipvlan");
    const Stage stage;
    const Pod other("pod2");
    const UnchangedNode node;
    const std::string members = concat("'master':'par0','attach':'ipvlan','mtu':1400,", ipam("10.3.0.0/24"));
    const PluginCall first = call_for(stage.pod, members);
    const PluginCall second = of(call_for(other, members), "c2");
    CHECK(addresses(add(first)) == "10.3.0.1/24");
    CHECK(addresses(add(second)) == "10.3.0.2/24");
    CHECK_THAT(other.run("ip link show net1"), Contains("mtu 1400 "));
    CHECK(stage.pod.succeeds("ping -c 1 -W 5 10.3.0.2"));
    CHECK(del(first) == "");
    CHECK(del(second) == "");
    CHECK(node.difference() == "");
}

} // namespace rdmanet::test
