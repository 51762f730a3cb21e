// Addresses of pods that died without a DEL.
#include "attachment_stage.hpp"

#include "support/process.hpp"
#include "support/reporter.hpp"

#include <rdmanet/base/deadline.hpp>

#include <catch2/catch.hpp>

namespace rdmanet::test {

using Catch::Contains;

namespace {

std::string inode_of(const Pod& pod) {
    return shell(concat("stat -L -c %i ", pod.path()));
}

/// A pod whose namespace has this inode number: the kernel gives the lowest that is free.
std::optional<std::string> make_namespace_with_inode(const std::string& name, const std::string& inode) {
    const auto deadline = base::Deadline::in(std::chrono::seconds{5});
    while (!deadline.passed()) {
        const bool same = shell(concat("ip netns add ", name, " && stat -L -c %i /run/netns/", name)) == inode;
        if (same) return name;
        shell(concat("ip netns delete ", name));
    }
    return std::nullopt;
}

PluginCall only_address(const Pod& pod, const std::string& range) {
    return call_for(pod, concat("'master':'par0',", ipam(range, "'enable_l3':true")));
}

} // namespace

TEST_CASE("an exhausted range takes back what a dead pod held", "[ipam][reclaim]") {
    NEEDS(kernel_has("macvlan"), "macvlan");
    const Stage stage;
    {
        Pod dying("dying");
        add(of(only_address(dying, "10.23.0.1/32"), "dead"));
        CHECK_THAT(refusal(only_address(stage.pod, "10.23.0.1/32")), Contains("code 104"));
        dying.destroy();
    }
    const PluginCall call = only_address(stage.pod, "10.23.0.1/32");
    const std::string result = add(call);
    CHECK(addresses(result) == "10.23.0.1/32");
    CHECK(check(call, result) == "");
    // A late DEL of the dead takes nothing from the living.
    PluginCall late = of(call, "dead");
    late.netns.clear();
    CHECK(del(late) == "");
    CHECK(check(call, result) == "");
    CHECK(del(call) == "");
    CHECK(stage.node.difference() == "");
}

TEST_CASE("a namespace with a dead one's inode number is not taken for it", "[ipam][reclaim]") {
    NEEDS(kernel_has("macvlan"), "macvlan");
    const Stage stage;
    Pod dying("dying");
    const std::string inode = inode_of(dying);
    const PluginCall dead = of(only_address(dying, "10.23.1.1/32"), "dead");
    add(dead);
    dying.destroy();
    NEEDS(make_namespace_with_inode("dying", inode), "reuse of inode numbers");
    const PluginCall call = only_address(stage.pod, "10.23.1.1/32");
    CHECK(addresses(add(call)) == "10.23.1.1/32");
    shell("ip netns delete dying");
    CHECK(del(dead) == "");
    CHECK(del(call) == "");
    CHECK(stage.node.difference() == "");
}

TEST_CASE("the next container of a pod gets the address of the one that died", "[ipam][reclaim]") {
    NEEDS(kernel_has("macvlan"), "macvlan");
    const Stage stage;
    const std::string members = concat("'master':'par0',", ipam("10.23.2.0/24"));
    const PluginCall neighbour = of(call_for(stage.pod, members), "neighbour");
    CHECK(addresses(add(neighbour)) == "10.23.2.1/24");
    Pod old("old");
    PluginCall before = of(call_for(old, members), "before");
    before.args = "IgnoreUnknown=1;K8S_POD_NAMESPACE=shop;K8S_POD_NAME=till;K8S_POD_UID=uid-1";
    CHECK(addresses(add(before)) == "10.23.2.2/24");
    old.destroy();
    CHECK(del(neighbour) == "");

    PluginCall next = before;
    next.container = "next";
    next.netns = stage.pod.path();
    const std::string result = add(next);
    CHECK(addresses(result) == "10.23.2.2/24");
    before.netns.clear();
    CHECK(del(before) == "");
    CHECK(check(next, result) == "");
    CHECK(del(next) == "");
    CHECK(stage.node.difference() == "");
}

TEST_CASE("no address is given twice, though the leases were lost", "[ipam][reclaim]") {
    NEEDS(kernel_has("macvlan"), "macvlan");
    const Stage stage;
    const PluginCall first = call_for(stage.pod, concat("'master':'par0',", ipam("10.23.3.0/24")));
    PluginCall second = of(first, "c2");
    second.ifname = "net2";
    CHECK(addresses(add(first)) == "10.23.3.1/24");
    shell("rm /run/rdmanet/leases.sqlite*");
    CHECK(addresses(add(second)) == "10.23.3.2/24");
    CHECK(del(first) == "");
    CHECK(del(second) == "");
    CHECK(stage.node.difference() == "");
}

} // namespace rdmanet::test
