#include "namespaces.hpp"

#include <rdmanet/base/error.hpp>
#include <rdmanet/inventory/inventory.hpp>

#include <catch2/catch.hpp>

namespace rdmanet::inventory {
namespace {

using Catch::Contains;

std::string error_of(const Inventory& inventory, const std::string& pod) try {
    (void)get_pod(inventory, pod);
    return {};
} catch (const base::Error& error) {
    return error.what();
}

Inventory with_pods() {
    Inventory all;
    all.namespaces = {{.inode = 1, .path = "/proc/1/ns/net"},
                      {.inode = 2, .path = "/proc/7/ns/net", .pid = 7, .process = "pause", .pod_uid = "uid-1"},
                      {.inode = 3, .path = "/run/netns/a", .mount_point = "/run/netns/a"}};
    all.namespaces[2].pod = {.pod_namespace = "shop", .name = "till", .uid = "uid-2"};
    return all;
}

TEST_CASE("a pod is found by name, UID and path") {
    const Inventory all = with_pods();
    CHECK(find_pod(all, "shop/till") == 2U);
    CHECK(find_pod(all, "/run/netns/a") == 2U);
    CHECK(find_pod(all, "uid-1") == 1U);
    CHECK(find_pod(all, "pod uid-1") == 1U);
    CHECK(get_pod(all, "shop/till") == 2U);
}

TEST_CASE("a pod that is not on this node is no error, and a wrong form of its name is one") {
    const Inventory all = with_pods();
    CHECK(find_pod(all, "shop/stuck") == std::nullopt);
    CHECK_THROWS_WITH(find_pod(all, "till"), "pod \"till\": expected NAMESPACE/NAME: give shop/till");
    CHECK_THROWS_WITH(find_pod(all, "stuck"), Contains("expected NAMESPACE/NAME: no pod of that name is known here"));
    CHECK_THROWS_WITH(find_pod(all, "/run/netns/b"),
                      "\"/run/netns/b\" is not a network namespace of this node: give one of pod uid-1, shop/till");
    CHECK_THROWS_WITH(find_pod(all, "shop/"), Contains("expected NAMESPACE/NAME"));
    CHECK_THROWS_WITH(find_pod(all, "a/b/c"), Contains("expected NAMESPACE/NAME"));
}

TEST_CASE("who needs a pod's namespace gets an error with those that there are") {
    CHECK(error_of(with_pods(), "shop/stuck") ==
          "pod \"shop/stuck\" has no network namespace on this node: give one of pod uid-1, shop/till");
    Inventory alone;
    alone.namespaces.push_back({.inode = 1, .path = "/proc/1/ns/net"});
    CHECK(error_of(alone, "shop/stuck") == "pod \"shop/stuck\" has no network namespace on this node: this node has no "
                                           "network namespace but the host's");
}

TEST_CASE("a process in a pod's cgroup names the pod's UID") {
    const std::string uid = "0cf8ff2c-44a4-4b3f-a07e-8a5d3a1b0c5d";
    CHECK(pod_uid_of_cgroup(
              "0::/kubepods.slice/kubepods-burstable.slice/"
              "kubepods-burstable-pod0cf8ff2c_44a4_4b3f_a07e_8a5d3a1b0c5d.slice/cri-containerd-1.scope") == uid);
    CHECK(pod_uid_of_cgroup("11:memory:/kubepods/besteffort/pod" + uid + "/1234") == uid);
    CHECK(pod_uid_of_cgroup("0::/kubepods.slice/kubepods-pod" + uid) == uid); // a guaranteed pod has no level between
    CHECK(pod_uid_of_cgroup("0::/user.slice/pod" + uid).empty());
    CHECK(pod_uid_of_cgroup("0::/kubepods.slice/podman").empty());
    CHECK(pod_uid_of_cgroup("0::/kubepods/pod0cf8ff2c").empty());
    CHECK(pod_uid_of_cgroup("").empty());
}

TEST_CASE("a namespace is called by the best that is known of it") {
    Namespace each{.inode = 5, .path = "/proc/7/ns/net", .pid = 7, .process = "pause"};
    CHECK(each.to_string() == "process 7 (pause)");
    each.pod_uid = "uid-1";
    CHECK(each.to_string() == "pod uid-1");
    each.pod = {.pod_namespace = "default", .name = "web", .uid = "uid-1"};
    CHECK(each.to_string() == "default/web");
    CHECK(Namespace{.inode = 5, .path = "/proc/7/root/run/netns/a", .mount_point = "/run/netns/a", .pid = 7}
              .to_string() == "/run/netns/a");
    CHECK(Namespace{.inode = 1, .path = "/proc/1/ns/net"}.to_string().empty());
}

} // namespace
} // namespace rdmanet::inventory
