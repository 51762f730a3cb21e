// How the kernel shows a macvlan attachment.
#include "attachment_stage.hpp"

#include "support/concat.hpp"
#include "support/names.hpp"
#include "support/reporter.hpp"

#include <catch2/catch.hpp>

namespace rdmanet::test {

using Catch::Contains;

TEST_CASE("a macvlan child has the configured mode", "[macvlan]") {
    NEEDS(kernel_has("macvlan"), "macvlan");
    const Stage stage;
    for (const std::string mode : {"bridge", "private", "vepa", "passthru"}) {
        const PluginCall call = call_for(stage.pod, concat("'master':'par0','mode':'", mode, '\''));
        const std::string result = add(call);
        CHECK_THAT(stage.pod.run("ip -d link show net1"), Contains("macvlan mode " + mode + ' '));
        CHECK_THAT(stage.pod.run("ip link show net1"), Contains(",UP"));
        CHECK(check(call, result) == "");
        CHECK(del(call) == "");
    }
    CHECK(stage.node.difference() == "");
}

TEST_CASE("a macvlan child has mode bridge and its parent's MTU by default", "[macvlan]") {
    NEEDS(kernel_has("macvlan"), "macvlan");
    const AttachedStage attached("'master':'par0'");
    const auto& [stage, call, result] = attached;
    const std::string link = stage.pod.run("ip -d link show net1");
    CHECK_THAT(link, Contains("macvlan mode bridge "));
    CHECK_THAT(link, Contains("mtu 1500 "));
    CHECK(value(result, "interfaces.0.name") == "net1");
    CHECK(value(result, "interfaces.0.mtu") == "1500");
    CHECK(value(result, "interfaces.0.sandbox") == "/run/netns/pod");
    CHECK(value(result, "interfaces.0.mac") == mac_of(stage.pod));
    CHECK(attached.end() == "");
}

TEST_CASE("a child with an IPv4 address announces it when its link goes up or gets another MAC", "[macvlan]") {
    NEEDS(kernel_has("macvlan"), "macvlan");
    for (const auto& [range, announces] : {std::pair{"10.69.0.0/24", "1"}, {"fd69::/64", "0"}}) {
        INFO(range);
        const AttachedStage attached(concat("'master':'par0',", ipam(range)));
        CHECK(attached.stage.pod.run("sysctl -n net.ipv4.conf.net1.arp_notify") == concat(announces, "\n"));
        CHECK(attached.end() == "");
    }
}

TEST_CASE("the pod's interface may share its name with an interface of the host", "[macvlan]") {
    NEEDS(kernel_has("macvlan"), "macvlan");
    const VethParent namesake("net1");
    const Stage stage;
    const PluginCall call =
        call_for(stage.pod, concat("'master':'par0','mac':'02:00:00:00:00:42',", ipam("10.69.0.0/24")));
    const std::string result = add(call);
    CHECK_THAT(stage.pod.run("ip -d link show net1"),
               Contains("macvlan mode bridge ") && Contains("02:00:00:00:00:42"));
    CHECK(check(call, result) == "");
    CHECK(del(call) == "");
    CHECK(stage.node.difference() == "");
}

TEST_CASE("MTU and length of the broadcast queue are set on the macvlan child", "[macvlan]") {
    NEEDS(kernel_has("macvlan"), "macvlan");
    const AttachedStage attached("'master':'par0','mtu':1400,'bcqueuelen':4321");
    const auto& [stage, call, result] = attached;
    const std::string link = stage.pod.run("ip -d link show net1");
    CHECK_THAT(link, Contains("mtu 1400 "));
    CHECK_THAT(link, Contains("bcqueuelen 4321 "));
    CHECK(value(result, "interfaces.0.mtu") == "1400");
    CHECK(check(call, result) == "");
    CHECK(attached.end() == "");
}

TEST_CASE("a pod that requests an address from a network without addresses gets a warning", "[macvlan]") {
    NEEDS(kernel_has("macvlan"), "macvlan");
    const Stage stage;
    PluginCall call = call_for(stage.pod, "'master':'par0'");
    call.args = "IgnoreUnknown=1;IP=10.68.9.7";
    const ProcessResult made = call.run();
    CHECK(made.exit_status == 0);
    CHECK_THAT(made.err, Names("10.68.9.7", "network \"net\"", "\"ipam\""));
    CHECK(del(call) == "");
    CHECK(stage.node.difference() == "");
}

TEST_CASE("the MAC that the pod requests overrides the configured one", "[macvlan]") {
    NEEDS(kernel_has("macvlan"), "macvlan");
    const Stage stage;
    const auto mac_with = [&](const std::string& members, const std::string& args) {
        PluginCall call = call_for(stage.pod, concat("'master':'par0'", members));
        call.args = args;
        const std::string result = add(call);
        const std::string mac = mac_of(stage.pod);
        CHECK(value(result, "interfaces.0.mac") == mac);
        CHECK(del(call) == "");
        return mac;
    };
    std::string members = ",'mac':'02:00:00:00:00:01'";
    CHECK(mac_with(members, "") == "02:00:00:00:00:01");
    CHECK(mac_with(members, "IgnoreUnknown=1;MAC=02:00:00:00:00:02") == "02:00:00:00:00:02");
    members += ",'args':{'cni':{'mac':'02:00:00:00:00:03'}}";
    CHECK(mac_with(members, "IgnoreUnknown=1;MAC=02:00:00:00:00:02") == "02:00:00:00:00:03");
    members += ",'runtimeConfig':{'mac':'02-00-00-00-00-04'}";
    CHECK(mac_with(members, "IgnoreUnknown=1;MAC=02:00:00:00:00:02") == "02:00:00:00:00:04");
    CHECK(stage.node.difference() == "");
}

TEST_CASE("a MAC that nobody requested is specific to the attachment, and stable", "[macvlan]") {
    NEEDS(kernel_has("macvlan"), "macvlan");
    const Stage stage;
    const PluginCall call = call_for(stage.pod, "'master':'par0'");
    PluginCall second = call;
    second.ifname = "net2";
    add(call);
    add(second);
    const std::string mac = mac_of(stage.pod);
    CHECK(mac != mac_of(stage.pod, "net2"));
    CHECK_THAT(mac, Catch::Matches("[0-9a-f][26ae]:.*")); // unicast, locally administered
    CHECK(del(call) == "");
    CHECK(del(second) == "");
    add(call);
    CHECK(mac_of(stage.pod) == mac);
    CHECK(del(call) == "");
    const PluginCall other = of(call, "c2");
    add(other);
    CHECK(mac_of(stage.pod) != mac);
    CHECK(del(other) == "");
    CHECK(stage.node.difference() == "");
}

TEST_CASE("passthru gives the parent the requested MAC, and DEL restores the parent's own", "[macvlan]") {
    NEEDS(kernel_has("macvlan"), "macvlan");
    const AttachedStage attached("'master':'par0','mode':'passthru','mac':'02:00:00:00:0a:01'");
    const auto& [stage, call, result] = attached;
    CHECK(mac_of(stage.pod) == "02:00:00:00:0a:01");
    CHECK_THAT(shell("ip link show par0"), Contains("link/ether 02:00:00:00:0a:01"));
    CHECK_THAT(shell("ip -d link show par0"), Contains("promiscuity 1 "));
    CHECK(check(call, result) == "");
    CHECK(attached.end() == "");
}

TEST_CASE("a parent gets its own MAC back when the pod with its passthru child is dead", "[macvlan]") {
    NEEDS(kernel_has("macvlan"), "macvlan");
    const VethParent parent("par0");
    const UnchangedNode node;
    Pod pod("pod");
    const PluginCall call = call_for(pod, "'master':'par0','mode':'passthru','mac':'02:00:00:00:0a:02'");
    add(call);
    pod.destroy();
    CHECK(del(call) == "");
    CHECK(node.difference() == "");
}

TEST_CASE("the log file has a line for each ADD and DEL", "[macvlan]") {
    NEEDS(kernel_has("macvlan"), "macvlan");
    const Stage stage;
    const std::string file = "/var/log/rdmanet-e2e.log";
    const PluginCall call = call_for(stage.pod, concat("'logFile':'", file, "','master':'par0',", ipam("10.5.0.0/24")));
    add(call);
    CHECK(del(call) == "");
    const std::string lines = shell(concat("cat ", file, "; rm ", file));
    CHECK_THAT(lines, Names("ADD of", "DEL of", "net", "c1", "net1", "10.5.0.1/24", "macvlan", "after"));
    CHECK(stage.node.difference() == "");
}

TEST_CASE("the log does not write to another program's file, not even through a link", "[macvlan]") {
    NEEDS(kernel_has("macvlan"), "macvlan");
    const Stage stage;
    const auto logging_to = [&](const std::string& file) {
        return call_for(stage.pod, concat("'logFile':'/var/log/", file, "','logLevel':'debug','master':'par0'"));
    };
    shell("mkdir /var/log/pods && touch /var/log/wtmp /var/log/pods/0.log /var/log/rdmanet-foreign.log"
          " && ln -s pods /var/log/rdmanet && ln -s wtmp /var/log/rdmanet-linked.log"
          " && chown 12345 /var/log/rdmanet-foreign.log");
    for (const char* file : {"wtmp", "pods/0.log", "rdmanet/0.log", "rdmanet-linked.log", "rdmanet-foreign.log"}) {
        INFO(file);
        CHECK_THAT(refusal(logging_to(file)), Contains("code 7: logFile: "));
        CHECK(del(logging_to(file)) == ""); // DEL does its work and logs to standard error
    }
    CHECK(shell("cat /var/log/wtmp /var/log/pods/0.log /var/log/rdmanet-foreign.log") == "");
    CHECK(shell("ls /var/log/pods") == "0.log\n");
    shell("rm /var/log/rdmanet");
    add(logging_to("rdmanet/vf.log"));
    CHECK(del(logging_to("rdmanet/vf.log")) == "");
    CHECK_THAT(shell("cat /var/log/rdmanet/vf.log"), Names("ADD", "net"));
    shell(
        "rm -r /var/log/wtmp /var/log/pods /var/log/rdmanet /var/log/rdmanet-linked.log /var/log/rdmanet-foreign.log");
    CHECK(stage.node.difference() == "");
}

TEST_CASE("a macvlan child beside a passthru child is refused, and the error says why", "[macvlan]") {
    NEEDS(kernel_has("macvlan"), "macvlan");
    const Stage stage;
    const PluginCall first = call_for(stage.pod, "'master':'par0','mode':'passthru'");
    const std::string result = add(first);
    PluginCall second = call_for(stage.pod, "'master':'par0','mode':'bridge'");
    second.ifname = "net2";
    const std::string error = refusal(second);
    CHECK_THAT(error, Contains("code 102") && Contains("passthru") && Contains("\"par0\""));
    CHECK(del(second) == "");
    CHECK(check(first, result) == "");
    CHECK(del(first) == "");
    CHECK(stage.node.difference() == "");
}

TEST_CASE("macvlan and ipvlan children of one parent exclude each other, and the error names the fix",
          "[macvlan][ipvlan]") {
    NEEDS(kernel_has("macvlan") && kernel_has("ipvlan"), "macvlan and ipvlan");
    const Stage stage;
    const PluginCall macvlan = call_for(stage.pod, "'master':'par0','attach':'macvlan'");
    PluginCall ipvlan = call_for(stage.pod, "'master':'par0','attach':'ipvlan'");
    ipvlan.ifname = "net2";
    for (const auto& [first, second] : {std::pair(macvlan, ipvlan), std::pair(ipvlan, macvlan)}) {
        add(first);
        // The journal shows that the parent has an ipvlan child. For a macvlan child the kernel refuses the attempt.
        CHECK_THAT(refusal(second), Names("code 102", "another parent", "macvlan", "ipvlan"));
        CHECK(del(second) == "");
        CHECK(del(first) == "");
    }
    CHECK(stage.node.difference() == "");
}

TEST_CASE("a requested GUID without an InfiniBand VF produces a warning", "[macvlan]") {
    NEEDS(kernel_has("macvlan"), "macvlan");
    const Stage stage;
    for (const std::string place : {"'runtimeConfig':{'infinibandGUID':'02:00:00:00:00:00:00:99'}",
                                    "'args':{'cni':{'guid':'02:00:00:00:00:00:00:99'}}"}) {
        const PluginCall call = call_for(stage.pod, concat("'master':'par0',", place));
        const ProcessResult result = call.with_command("ADD").run();
        CHECK(result.exit_status == 0);
        CHECK_THAT(result.err, Names("02:00:00:00:00:00:00:99", "ignored", "InfiniBand", "VF"));
        CHECK(del(call) == "");
    }
    CHECK(stage.node.difference() == "");
}

} // namespace rdmanet::test
