// Which addresses the built-in allocator gives.
#include "attachment_stage.hpp"

#include "support/concat.hpp"
#include "support/names.hpp"
#include "support/reporter.hpp"

#include <catch2/catch.hpp>

namespace rdmanet::test {

using Catch::Contains;

namespace {

/// A second attachment of the pod: another container ID and another interface name.
PluginCall numbered(PluginCall call, int number) {
    call.container = concat('c', number);
    call.ifname = concat("net", number);
    return call;
}

std::string give(const PluginCall& call) {
    return addresses(add(call));
}

} // namespace

TEST_CASE("addresses are given lowest first, without the gateway and excluded ones", "[ipam]") {
    NEEDS(kernel_has("macvlan"), "macvlan");
    const Stage stage;
    const PluginCall call = call_for(
        stage.pod, concat("'master':'par0',", ipam("10.21.0.0/29", "'gateway':'10.21.0.1','exclude':['10.21.0.3/32',"
                                                                   "'10.21.0.5']")));
    CHECK(give(numbered(call, 1)) == "10.21.0.2/29");
    CHECK(give(numbered(call, 2)) == "10.21.0.4/29");
    CHECK(give(numbered(call, 3)) == "10.21.0.6/29");
    CHECK_THAT(refusal(numbered(call, 4)), Names("code 104", "10.21.0.0/29", "3 leases", "0 of them"));
    CHECK(del(numbered(call, 2)) == "");
    CHECK(give(numbered(call, 4)) == "10.21.0.4/29");
    for (const int number : {1, 3, 4}) CHECK(del(numbered(call, number)) == "");
    CHECK(stage.node.difference() == "");
}

TEST_CASE("a released address rests until no other address is free", "[ipam]") {
    NEEDS(kernel_has("macvlan"), "macvlan");
    const Stage stage;
    const PluginCall call =
        call_for(stage.pod, "'master':'par0','ipam':{'type':'rdmanet','range':'10.21.1.0/30','cooldown':3600}");
    CHECK(give(call) == "10.21.1.1/30");
    CHECK(del(call) == "");
    CHECK(give(call) == "10.21.1.2/30");
    CHECK(give(numbered(call, 2)) == "10.21.1.1/30");
    CHECK(del(call) == "");
    CHECK(del(numbered(call, 2)) == "");
    CHECK(stage.node.difference() == "");
}

TEST_CASE("an attachment gets one address of each range", "[ipam]") {
    NEEDS(kernel_has("macvlan"), "macvlan");
    const Stage stage;
    const PluginCall call = call_for(
        stage.pod, concat("'master':'par0',", ipam("10.21.2.10-10.21.2.20/24",
                                                   "'ipRanges':[{'range':'fd21::/64','range_start':'fd21::100'},"
                                                   "{'range':'10.21.3.0/24','range_end':'10.21.3.9'}]")));
    CHECK(give(call) == "10.21.2.10/24 fd21::100/64 10.21.3.1/24");
    CHECK(del(call) == "");
    CHECK(stage.node.difference() == "");
}

TEST_CASE("networks with overlapping ranges never give one address twice, unless network_name separates them",
          "[ipam]") {
    NEEDS(kernel_has("macvlan"), "macvlan");
    const Stage stage;
    const auto network = [&](const char* name, int number, const std::string& range, const std::string& more) {
        return numbered(call_for(stage.pod, concat("'master':'par0',", ipam(range, more)), "1.1.0", name), number);
    };
    const PluginCall first = network("wide", 1, "10.21.4.0/24", "");
    const PluginCall second = network("narrow", 2, "10.21.4.0/25", "");
    const PluginCall apart = network("apart", 3, "10.21.4.0/24", "'network_name':'blue'");
    CHECK(give(first) == "10.21.4.1/24");
    CHECK(give(second) == "10.21.4.2/25");
    CHECK(give(apart) == "10.21.4.1/24");
    for (const PluginCall& call : {first, second, apart}) CHECK(del(call) == "");
    CHECK(stage.node.difference() == "");
}

TEST_CASE("a pod gets the address that it asks for, by each way of asking", "[ipam]") {
    NEEDS(kernel_has("macvlan"), "macvlan");
    const Stage stage;
    const PluginCall call =
        call_for(stage.pod, concat("'master':'par0',", ipam("10.21.5.0/24", "'ipRanges':[{'range':'fd21:5::/64'}]")));
    const auto given = [&](const PluginCall& asking) {
        const std::string text = give(asking);
        CHECK(del(asking) == "");
        return text;
    };
    CHECK(given(with(call, "'runtimeConfig':{'ips':['10.21.5.50']}")) == "10.21.5.50/24 fd21:5::1/64");
    CHECK(given(with(call, "'args':{'cni':{'ips':['fd21:5::51/64']}}")) == "10.21.5.1/24 fd21:5::51/64");
    PluginCall with_args = call;
    with_args.args = "IgnoreUnknown=1;IP=10.21.5.52,fd21:5::52";
    CHECK(given(with_args) == "10.21.5.52/24 fd21:5::52/64");
    CHECK(stage.node.difference() == "");
}

TEST_CASE("a requested address that is taken or outside the range is refused, and the error names its owner",
          "[ipam]") {
    NEEDS(kernel_has("macvlan"), "macvlan");
    const Stage stage;
    const PluginCall call =
        call_for(stage.pod, concat("'master':'par0',", ipam("10.21.6.0/24", "'gateway':'10.21.6.254'")));
    PluginCall holder = with(numbered(call, 1), "'runtimeConfig':{'ips':['10.21.6.7']}");
    holder.args = "IgnoreUnknown=1;K8S_POD_NAMESPACE=shop;K8S_POD_NAME=till";
    CHECK(give(holder) == "10.21.6.7/24");
    const UnchangedNode held;
    const PluginCall other = numbered(call, 2);
    CHECK_THAT(refusal(with(other, "'runtimeConfig':{'ips':['10.21.6.7']}")),
               Names("code 105", "10.21.6.7", "taken", "shop/till"));
    CHECK_THAT(refusal(with(other, "'runtimeConfig':{'ips':['10.22.6.7']}")),
               Contains("code 7") && Contains("10.22.6.7"));
    CHECK_THAT(refusal(with(other, "'runtimeConfig':{'ips':['10.21.6.254']}")),
               Contains("code 7") && Contains("10.21.6.254"));
    CHECK(give(other) == "10.21.6.1/24");
    CHECK(del(other) == "");
    CHECK(del(holder) == "");
    CHECK(stage.node.difference() == "");
}

} // namespace rdmanet::test
