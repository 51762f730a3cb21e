// The configurations of device plugins, in the images of processes that run here.
#include "machine.hpp"

#include <algorithm>
#include <string>

namespace rdmanet::doctor {
namespace {

/// A node where both plugins run. Its NIC 0000:3b:00.0 (ens1) has the VF 0000:3b:00.1.
class PluginMachine : public VfMachine {
public:
    PluginMachine() {
        vf().pci->vendor = 0x15b3;
        vf().pci->device = 0x1018;
        inventory.devices.front().net.front().hardware_address = "02:00:00:00:00:01";
        vf().net.front().hardware_address = "02:00:00:00:00:02";
        make(in_image("7", "/etc/pcidp"));
        make(in_image("8", "/k8s-rdma-shared-dev-plugin"));
        set_arguments("");
        run("8", "k8s-rdma-shared"); // 15 letters, as the kernel has it
        set_sriov(R"({"resourceName": "vfs", "selectors": {}})");
        set_shared(R"({"resourceName": "hca", "selectors": {"vendors": ["15b3"]}})");
    }

    void set_arguments(const std::string& arguments) const { run("7", "sriovdp", arguments); }
    void set_sriov(const std::string& resources) const {
        write(in_image("7", "/etc/pcidp/config.json"), R"({"resourceList": [)" + resources + "]}");
    }
    void set_shared(const std::string& resources) const {
        write(in_image("8", "/k8s-rdma-shared-dev-plugin/config.json"), R"({"configList": [)" + resources + "]}");
    }

    [[nodiscard]] std::string says() const { return found_by("device-plugins"); }

    /// What is said of one resource with these selectors.
    [[nodiscard]] std::string says_of(const std::string& selectors) const {
        set_sriov(R"({"resourceName": "vfs", "resourcePrefix": "example.com", "selectors": )" + selectors + "}");
        return says();
    }
    [[nodiscard]] std::string says_of_shared(const std::string& selectors) const {
        set_shared(R"({"resourceName": "hca", "selectors": )" + selectors + "}");
        return says();
    }
};

} // namespace

TEST_CASE("a resource of a device plugin must have a device here") {
    PluginMachine node;
    CHECK(node.why_not("device-plugins").empty());
    CHECK(node.says().empty());
    for (const char* selectors :
         {R"({"vendors": ["8086", "15b3"], "devices": ["1018"], "drivers": ["mlx5_core"], "linkTypes": ["ether"]})",
          R"({"pfNames": ["ens1"]})", R"({"pfNames": ["ens9", "ens1#4,0-2"]})",
          R"({"rootDevices": ["0000:3b:00.0#0"]})", R"({"pciAddresses": ["0000:3b:00.1"]})",
          R"([{"vendors": ["8086"]}, {"vendors": ["15b3"]}])", R"({"ddpProfiles": ["x"], "vendors": []})"}) {
        INFO(selectors);
        CHECK(node.says_of(selectors).empty());
    }
    CHECK_THAT(node.says_of(R"({"vendors": ["8086"], "devices": ["154c"]})"),
               Documented("device-plugins", "selectors for another vendor's NIC",
                          "correct \"vendors\" of resource example.com/vfs in the plugin's ConfigMap",
                          "`kubectl get configmaps -A`"));

    CHECK_THAT(node.says_of(R"({"devices": ["1017"]})"), Has("devices 1017: this node has 1018")); // that is the PF
    CHECK_THAT(node.says_of(R"({"drivers": ["mlx5_ib"]})"), Has("drivers mlx5_ib: this node has mlx5_core"));
    CHECK_THAT(node.says_of(R"({"pfNames": ["ens1#1-3"]})"), Has("pfNames ens1#1-3: this node has ens1#0"));
    CHECK_THAT(node.says_of(R"({"rootDevices": ["0000:3c:00.0"]})"), Has("this node has 0000:3b:00.0#0"));
    CHECK_THAT(node.says_of(R"({"pciAddresses": ["0000:3b:00.0"]})"), Has("this node has 0000:3b:00.1"));
    CHECK_THAT(node.says_of(R"({"linkTypes": ["infiniband"]})"), Has("this node has ether"));
    CHECK_THAT(node.says_of(R"({"isRdma": true, "vendors": ["15b3"]})"), Has("none of its devices has RDMA"));
    CHECK(node.says_of(R"({"isRdma": false})").empty());
    CHECK_THAT(node.says_of(R"([{"vendors": ["8086"]}, {"vendors": ["1af4"]}])"), Has("vendors 8086"));
    node.vf().net.clear();
    CHECK_THAT(node.says_of(R"({"linkTypes": ["ether"]})"), Has("linkTypes ether: this node has none"));
    node.set_sriov(R"({"resourceName": "fpga", "deviceType": "accelerator", "selectors": {"vendors": ["8086"]}})");
    CHECK(node.says().empty());
}

TEST_CASE("a renamed interface is a warning, and a resource for other nodes may be meant") {
    PluginMachine node;
    node.inventory.devices.front().net.front().name = "enp3s0f0np0";
    node.vf().net.front().name = "enp3s0f0v0";
    CHECK_THAT(node.says_of_shared(R"({"ifNames": ["enp3s0f0"]})"),
               Documented("device-plugins", "a new driver renames the interface"));
    const std::string good = R"({"resourceName": "good", "selectors": {"vendors": ["15b3"]}}, )";
    node.set_shared(good + R"({"resourceName": "hca", "devices": ["enp3s0f0"]})");
    CHECK_THAT(node.says(), Has("warning | ", "devices enp3s0f0: this node has enp3s0f0np0"));
    node.set_shared(good + R"({"resourceName": "hca", "devices": ["enp3s0f00"]})");
    CHECK_THAT(node.says(),
               Documented("device-plugins", "one of two resources is for other nodes", "if pods shall get it here"));
}

TEST_CASE("the RDMA shared device plugin leaves functions without RDMA out") {
    PluginMachine node;
    CHECK(node.says_of_shared(R"({"deviceIDs": ["1017"], "drivers": ["mlx5_core"], "ifNames": ["ens1"]})").empty());
    CHECK_THAT(node.says_of_shared(R"({"deviceIDs": ["1018"]})"), Has("none of its devices has RDMA here"));
    node.inventory.namespaces.push_back({.inode = 2, .path = "/proc/2/ns/net"});
    node.inventory.devices.front().net.front().place = 1; // in a pod it has another name
    CHECK(node.says_of_shared(R"({"ifNames": ["ens7"]})").empty());
    CHECK(node.says_of(R"({"pfNames": ["ens7"]})").empty());
}

TEST_CASE("a device plugin's file with many resources for other nodes gives few findings") {
    PluginMachine node;
    std::string resources;
    for (int number = 0; number < 100; ++number)
        resources += (number == 0 ? "" : ", ") + (R"({"resourceName": "r)" + std::to_string(number)) +
                     R"(", "selectors": {"vendors": ["8086"]}})";
    node.set_sriov(resources);
    const std::string found = node.says();
    CHECK(std::count(found.begin(), found.end(), '\n') == 9);
    CHECK_THAT(found, Has("resource r7 of") && !Has("resource r8 of"));
    CHECK_THAT(found.substr(found.find("info | ")),
               Documented("device-plugins", "a file with 100 resources for other nodes"));
}

TEST_CASE("the file of a device plugin is that of its option, in its image") {
    PluginMachine node;
    node.write(PluginMachine::in_image("7", "/etc/pcidp/worker-1"),
               R"({"resourceList": [{"resourceName": "x", "selectors": {"vendors": ["1"]}}]})");
    for (const char* arguments : {"--config-file=/etc/pcidp/worker-1", "-config-file /etc/pcidp/worker-1",
                                  "--log-level=10 --config-file /etc/pcidp/worker-1"}) {
        node.set_arguments(arguments);
        CHECK_THAT(node.says(), Has("resource x of sriovdp"));
    }
    node.set_arguments("--config-files=/etc/pcidp/worker-1");
    CHECK(node.says().empty());
    node.set_arguments("--config-file=/etc/pcidp/no-such-file");
    CHECK_THAT(node.why_not("device-plugins"),
               Has("process 7 (sriovdp): there is no file /etc/pcidp/no-such-file in its image"));
    node.set_arguments("");
    node.set_sriov("{");
    CHECK_THAT(node.says(), Documented("device-plugins", "a file that is not JSON"));
    node.remove("proc");
    CHECK_THAT(node.why_not("device-plugins"), Has("neither sriovdp nor k8s-rdma-shared-dp runs here"));
}

TEST_CASE("a process that took a device plugin's name hides nothing from the check") {
    PluginMachine node;
    node.run("6", "sriovdp"); // before the real one, and without a file in its image
    CHECK_THAT(node.says_of(R"({"vendors": ["8086"]})"), Has("warning | ", "vendors 8086"));
    CHECK_THAT(node.why_not("device-plugins"), Has("process 6 (sriovdp)"));
    node.set_users("1", "1");
    node.set_users("7", "1");
    node.set_users("6", "2"); // its root is root of a user namespace
    CHECK(node.why_not("device-plugins").empty());
    node.set_users("6", "1");
    node.write("proc/6/status", "Uid:\t0\t1000\t0\t0");
    CHECK(node.why_not("device-plugins").empty());
    CHECK_THAT(node.says(), Has("vendors 8086"));
}

} // namespace rdmanet::doctor
