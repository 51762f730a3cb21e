// How the kernel shows a macvlan attachment.
#include "attachment_stage.hpp"

#include "support/concat.hpp"
#include "support/names.hpp"

#include <catch2/catch.hpp>

#include <string_view>
#include <tuple>
#include <utility>

namespace rdmanet::test {

using Catch::Contains;

TEST_CASE(
    "a macvlan child has the configured mode, MTU, flags and broadcast queue, by default bridge and the parent's MTU",
    "[macvlan]") {
    const CheckedStage stage;
    for (const auto& [members, mode, mtu] :
         {std::tuple("", "bridge", "1500"),
          {",'mode':'private'", "private", "1500"},
          {",'mode':'vepa','mtu':1400,'bcqueuelen':4321,'promisc':true,'allmulti':true", "vepa", "1400"},
          {",'mode':'passthru'", "passthru", "1500"}}) {
        INFO(members);
        const PluginCall call = call_for(stage.pod, concat("'master':'par0'", members));
        const std::string result = add(call);
        const std::string link = stage.pod.run("ip -d link show net1");
        CHECK_THAT(link, Contains(concat("macvlan mode ", mode, ' ')) && Contains(concat("mtu ", mtu, ' ')) &&
                             Contains(",UP"));
        if (std::string_view(mtu) == "1400")
            CHECK_THAT(link, Contains("bcqueuelen 4321 ") && Contains("PROMISC") && Contains("ALLMULTI"));
        CHECK(value(result, "interfaces.0.name") == "net1");
        CHECK(value(result, "interfaces.0.mtu") == mtu);
        CHECK(value(result, "interfaces.0.sandbox") == "/run/netns/pod");
        CHECK(value(result, "interfaces.0.mac") == mac_of(stage.pod));
        CHECK(check(call, result) == "");
        CHECK(del(call) == "");
    }
}

TEST_CASE("a child with an IPv4 address announces it when its link goes up or gets another MAC", "[macvlan]") {
    for (const auto& [range, announces] : {std::pair{"10.69.0.0/24", "1"}, {"fd69::/64", "0"}}) {
        INFO(range);
        const AttachedStage attached(concat("'master':'par0',", ipam(range)));
        CHECK(attached.stage.pod.run("sysctl -n net.ipv4.conf.net1.arp_notify") == concat(announces, "\n"));
        CHECK(attached.end() == "");
    }
}

TEST_CASE("the pod's interface may share its name with an interface of the host", "[macvlan]") {
    const VethParent namesake("net1");
    const CheckedStage stage;
    const PluginCall call =
        call_for(stage.pod, concat("'master':'par0','mac':'02:00:00:00:00:42',", ipam("10.69.0.0/24")));
    const std::string result = add(call);
    CHECK_THAT(stage.pod.run("ip -d link show net1"),
               Contains("macvlan mode bridge ") && Contains("02:00:00:00:00:42"));
    CHECK(check(call, result) == "");
    CHECK(del(call) == "");
}

TEST_CASE("passthru gives the parent the requested MAC, and DEL restores the parent's own, also after the pod's death",
          "[macvlan]") {
    const VethParent parent("par0");
    const UnchangedNode node;
    for (const bool dies : {false, true}) {
        INFO(dies);
        {
            Pod pod("pod");
            const PluginCall call = call_for(pod, "'master':'par0','mode':'passthru','mac':'02:00:00:00:0a:01'");
            const std::string result = add(call);
            CHECK(mac_of(pod) == "02:00:00:00:0a:01");
            CHECK_THAT(shell("ip -d link show par0"),
                       Contains("link/ether 02:00:00:00:0a:01") && Contains("promiscuity 1 "));
            CHECK(check(call, result) == "");
            if (dies) pod.destroy();
            CHECK(del(call) == "");
        }
        CHECK(node.difference() == "");
    }
}

TEST_CASE("the log file has a line for each ADD and DEL", "[macvlan]") {
    const CheckedStage stage;
    const std::string file = "/var/log/rdmanet-e2e.log";
    const PluginCall call = call_for(stage.pod, concat("'logFile':'", file, "','master':'par0',", ipam("10.5.0.0/24")));
    add(call);
    CHECK(del(call) == "");
    const std::string lines = shell(concat("cat ", file, "; rm ", file));
    CHECK_THAT(lines, Names("ADD of", "DEL of", "net", "c1", "net1", "10.5.0.1/24", "macvlan", "after"));
}

TEST_CASE("a MAC that another pod has is refused", "[macvlan][again]") {
    const Pod other("other");
    const CheckedStage stage;
    const std::string members = concat("'master':'par0','mac':'02:00:00:00:07:01',", ipam("10.4.0.0/24"));
    const PluginCall first = of(call_for(other, members), "first");
    add(first);
    CHECK_THAT(refusal(call_for(stage.pod, members)), Names("code 102", "MAC", "02:00:00:00:07:01"));
    CHECK(del(first) == "");
}

TEST_CASE("the parent can be an interface in the pod", "[macvlan][parent]") {
    const Stage stage;
    stage.pod.run("ip link add inner type veth peer name innerpeer");
    stage.pod.run("ip link set inner addrgenmode none");
    stage.pod.run("ip link set inner up");
    const CheckedNode node;
    const PluginCall call =
        call_for(stage.pod, concat("'linkInContainer':true,'master':'inner',", ipam("10.2.0.0/24")));
    const std::string result = add(call);
    CHECK_THAT(stage.pod.run("ip link show net1"), Contains("net1@inner:"));
    CHECK(check(call, result) == "");
    CHECK(del(call) == "");
}

} // namespace rdmanet::test
