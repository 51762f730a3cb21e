// What the kubelet says of devices: from its socket, which gRPC's own server serves, and from its file.
#include "machine.hpp"

#include "support/kubelet.hpp"

namespace rdmanet::doctor {
namespace {

using Catch::Contains;

constexpr const char* kFolder = "var/lib/kubelet/device-plugins";
constexpr const char* kFile = "var/lib/kubelet/device-plugins/kubelet_internal_checkpoint";

std::string socket_of(const Machine& machine) {
    return machine.root() + "/var/lib/kubelet/pod-resources/kubelet.sock";
}

/// The kubelet's file with one resource, and the pod that has its device.
std::string checkpoint(const std::string& healthy, const std::string& uid = "") {
    const std::string entry = R"({"PodUID": ")" + uid + R"(", "DeviceIDs": {"-1": ["0000:3b:00.0"]}})";
    return R"({"Data": {"PodDeviceEntries": [)" + (uid.empty() ? "" : entry) +
           R"(], "RegisteredDevices": {"example.com/vf": [)" + healthy + "]}}}";
}

std::string owned_by(const std::string& pod) {
    return R"({"allocatable": {"example.com/vf": ["0000:3b:00.0"]}, "pods": [{"namespace": "shop", "name": ")" + pod +
           R"(", "devices": {"example.com/vf": ["0000:3b:00.0"]}}]})";
}

/// A machine whose RDMA works.
class WorkingMachine : public Machine {
public:
    WorkingMachine() {
        inventory.devices.front().rdma.front().ports.push_back({.number = 1, .state = kernel::PortState::active});
    }

    /// The NIC is in a pod.
    void give_nic(const state::Pod& pod, const std::string& pod_uid) {
        inventory.namespaces.push_back({.inode = 2, .path = "/proc/2/ns/net", .pod_uid = pod_uid, .pod = pod});
        inventory.devices.front().net.push_back({.place = 1, .name = "net1"});
    }
};

} // namespace

TEST_CASE("the kubelet's socket says which resources it can give") {
    const WorkingMachine node;
    CHECK_THAT(node.why_not("resources"), Contains("has no file") && Contains("kubelet.sock"));
    const test::Kubelet kubelet(socket_of(node),
                                R"({"allocatable": {"example.com/vf": ["0000:3b:00.0"]}, "pods": []})");
    CHECK(node.found_by("resources").empty());
    CHECK(node.why_not("resources").empty());

    kubelet.set(R"({"allocatable": {}, "pods": []})");
    const std::string none = node.found_by("resources");
    CHECK_THAT(none, Contains("warning") && Contains("tolerations"));
    CHECK(is_documented("resources", "the kubelet has no resource", none));

    kubelet.set(R"({"allocatable": {"nvidia.com/gpu": ["GPU-1"]}, "pods": []})");
    const std::string others = node.found_by("resources");
    CHECK(is_documented("resources", "only the plugin for GPUs has registered", others));
    for (const char* resource : {R"("nvidia.com/gpu": ["GPU-1"], "rdma/any": ["x"])", R"("example.com/any": ["17"])",
                                 R"("example.com/any": ["mlx5_0"])"}) {
        kubelet.set(std::string(R"({"pods": [], "allocatable": {)") + resource + "}}");
        CHECK(node.found_by("resources").empty());
    }
}

TEST_CASE("a registered resource without a healthy device is in the kubelet's file only") {
    const WorkingMachine node;
    node.make(kFolder);
    const auto registered = [](const std::string& resources) {
        return R"({"Data": {"PodDeviceEntries": [], "RegisteredDevices": {)" + resources + "}}}";
    };
    node.write(kFile, registered(R"("example.com/sriov": ["0000:3b:00.0"])"));
    CHECK(node.found_by("resources").empty());
    node.write(kFile, registered(R"("example.com/sriov": [])"));
    const std::string unhealthy = node.found_by("resources");
    CHECK_THAT(unhealthy, Contains("warning") && Contains("log"));
    CHECK(is_documented("resources", "a device plugin has ended", unhealthy));

    const test::Kubelet kubelet(socket_of(node), R"({"allocatable": {"example.com/sriov": ["x"]}, "pods": []})");
    CHECK(node.found_by("resources").empty()); // the socket is right
    kubelet.set(R"({"allocatable": {}, "pods": []})");
    CHECK(node.found_by("resources") == unhealthy);
    node.write(kFile, registered(R"("example.com/sriov": ["0000:3b:00.0"])"));
    CHECK(node.found_by("resources") == unhealthy); // the file may be of yesterday
    node.write(kFile, registered(R"("example.com/sriov": [])"));
    kubelet.set(R"({"pods": []})"); // before Kubernetes 1.23
    CHECK(node.found_by("resources") == unhealthy);
    node.write(kFile, registered(R"("example.com/sriov": ["x"], "devices.kubevirt.io/sev": [])"));
    CHECK_THAT(node.found_by("resources"), Contains("info") && !Contains("warning"));
}

TEST_CASE("a node whose RDMA does not work has another fault than its device plugin") {
    const Machine machine;
    const test::Kubelet kubelet(socket_of(machine), R"({"allocatable": {"nvidia.com/gpu": ["GPU-1"]}, "pods": []})");
    CHECK(machine.found_by("resources").empty());
    kubelet.set(R"({"allocatable": {}, "pods": []})");
    CHECK(machine.found_by("resources").empty());
    CHECK(machine.why_not("resources").empty());
}

TEST_CASE("the kubelet's socket says the names of pods") {
    WorkingMachine node;
    node.give_nic({.pod_namespace = "shop", .name = "till", .uid = "uid-1"}, "uid-1");
    const test::Kubelet kubelet(socket_of(node), owned_by("till"));
    CHECK(node.found_by("allocations").empty());
    kubelet.set(owned_by("door"));
    const std::string other = node.found_by("allocations");
    CHECK_THAT(other, Contains("failure | 0000:3b:00.0 (net1) | ") && Contains("\"deviceID\""));
    CHECK(is_documented("allocations", "the kubelet's socket names another pod", other));
    node.make(kFolder);
    node.write(kFile, checkpoint(R"("0000:3b:00.0")", "uid-1"));
    CHECK(node.found_by("allocations") == other); // the file may be of yesterday
    kubelet.set(R"({"allocatable": {}, "pods": []})");
    CHECK(node.found_by("allocations").empty());
}

TEST_CASE("a pod that only its UID is known of is looked for in the kubelet's file") {
    WorkingMachine node;
    node.give_nic({}, "uid-1");
    node.make(kFolder);
    node.write(kFile, checkpoint(R"("0000:3b:00.0")", "uid-2"));
    const test::Kubelet kubelet(socket_of(node), owned_by("till"));
    CHECK_THAT(node.found_by("allocations"), Contains("the kubelet gave it to the pod with UID uid-2"));
    node.write(kFile, checkpoint(R"("0000:3b:00.0")", "uid-1"));
    CHECK(node.found_by("allocations").empty());
}

TEST_CASE("a kubelet that says nothing is not waited for, and its file is read") {
    const WorkingMachine node;
    node.make(kFolder);
    node.write(kFile, checkpoint(R"("0000:3b:00.0")"));
    // After ten minutes it ends the call with an error of gRPC: only the deadline is "no answer in time".
    const test::Kubelet kubelet(socket_of(node), R"({"silent": true})");
    node.remove(kFile);
    // The file and the socket are named as on the host.
    CHECK_THAT(node.why_not("allocations"),
               Contains("no answer in time") && Contains(", and /var/lib/kubelet/pod-re") && !Contains(node.root()));
    node.write(kFile, checkpoint(R"("0000:3b:00.0")"));
    CHECK(node.why_not("allocations").empty());
}

} // namespace rdmanet::doctor
