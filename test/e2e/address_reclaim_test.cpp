// Addresses of pods that died without DEL.
#include "attachment_stage.hpp"

#include "support/concat.hpp"
#include "support/patience.hpp"
#include "support/process.hpp"
#include "support/reporter.hpp"

#include <rdmanet/base/deadline.hpp>

#include <catch2/catch.hpp>

#include <sys/stat.h>

#include <cstdint>
#include <string>
#include <vector>

namespace rdmanet::test {

using Catch::Contains;

namespace {

std::uint64_t inode_of(const std::string& path) {
    struct stat status {};
    return ::stat(path.c_str(), &status) == 0 ? status.st_ino : 0;
}

/// Makes a named namespace that has this inode number. The kernel gives the lowest free number, so this function
/// keeps namespaces with lower numbers until the end. Another program on this machine may hold the number for a
/// while.
bool make_namespace_with_inode(const std::string& name, std::uint64_t inode) {
    const auto deadline = base::Deadline::in(kPatience);
    const std::string path = "/run/netns/" + name;
    std::vector<std::string> lower;
    bool found = false;
    while (!found && !deadline.passed()) {
        shell("ip netns add " + name);
        found = inode_of(path) == inode;
        if (found) break;
        if (inode_of(path) < inode) {
            lower.push_back(concat(name, lower.size()));
            shell(concat("touch /run/netns/", lower.back(), " && mount --bind ", path, " /run/netns/", lower.back()));
        }
        shell("ip netns delete " + name);
    }
    for (const std::string& kept : lower) shell("ip netns delete " + kept);
    return found;
}

PluginCall only_address(const Pod& pod, const std::string& range) {
    return call_for(pod, concat("'master':'par0',", ipam(range, "'enable_l3':true")));
}

} // namespace

TEST_CASE("an exhausted range reclaims the addresses of dead pods", "[ipam][reclaim]") {
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
    // A late DEL of the dead pod takes nothing from the living one.
    PluginCall late = of(call, "dead");
    late.netns.clear();
    CHECK(del(late) == "");
    CHECK(check(call, result) == "");
    CHECK(del(call) == "");
    CHECK(stage.node.difference() == "");
}

TEST_CASE("a namespace that got a dead pod's inode number is not mistaken for the pod's", "[ipam][reclaim]") {
    NEEDS(kernel_has("macvlan"), "macvlan");
    const Stage stage;
    Pod dying("dying");
    const std::uint64_t inode = inode_of(dying.path());
    const PluginCall dead = of(only_address(dying, "10.23.1.1/32"), "dead");
    add(dead);
    dying.destroy();
    const bool is_reused = make_namespace_with_inode("dying", inode);
    if (!is_reused) CHECK(del(dead) == "");
    NEEDS(is_reused, "reuse of inode numbers");
    const PluginCall call = only_address(stage.pod, "10.23.1.1/32");
    CHECK(addresses(add(call)) == "10.23.1.1/32");
    shell("ip netns delete dying");
    CHECK(del(dead) == "");
    CHECK(del(call) == "");
    CHECK(stage.node.difference() == "");
}

TEST_CASE("the next container of a pod takes over the address of the dead container", "[ipam][reclaim]") {
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

TEST_CASE("no address is given twice after the lease store was lost", "[ipam][reclaim]") {
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
