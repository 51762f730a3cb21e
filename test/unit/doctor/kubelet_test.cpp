// What the kubelet says of devices: from its socket, which gRPC's own server serves, and from its file.
#include "machine.hpp"

#include "support/kubelet.hpp"

namespace rdmanet::doctor {
namespace {

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
    CHECK_THAT(node.why_not("resources"), Has("has no file", "kubelet.sock"));
    const test::Kubelet kubelet(socket_of(node),
                                R"({"allocatable": {"example.com/vf": ["0000:3b:00.0"]}, "pods": []})");
    CHECK(node.found_by("resources").empty());
    CHECK(node.why_not("resources").empty());

    kubelet.set(R"({"allocatable": {}, "pods": []})");
    node.must_find("resources", "the kubelet has no resource", "tolerations");

    kubelet.set(R"({"allocatable": {"nvidia.com/gpu": ["GPU-1"]}, "pods": []})");
    node.must_find("resources", "only the plugin for GPUs has registered");
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
    CHECK_THAT(unhealthy, Documented("resources", "a device plugin has ended", "log"));

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
    CHECK_THAT(node.found_by("resources"), Has("info") && !Has("warning"));
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
    CHECK_THAT(other, Documented("allocations", "the kubelet's socket names another pod", "| 0000:3b:00.0 (net1) | ",
                                 "\"deviceID\""));
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
    CHECK_THAT(node.found_by("allocations"), Has("the kubelet gave it to the pod with UID uid-2"));
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
               Has("no answer in time", ", and /var/lib/kubelet/pod-re") && !Has(node.root()));
    node.write(kFile, checkpoint(R"("0000:3b:00.0")"));
    CHECK(node.why_not("allocations").empty());
}

} // namespace rdmanet::doctor
