#include "namespaces.hpp"

#include <catch2/catch.hpp>

namespace rdmanet::inventory {
namespace {

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
