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

} // namespace
} // namespace rdmanet::inventory
