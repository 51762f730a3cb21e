// Functions with several RDMA devices, and RDMA devices that are slow or cannot move.
#include "vf_stage.hpp"

#include "support/concat.hpp"
#include "support/names.hpp"
#include "support/other_nic.hpp"
#include "support/patience.hpp"
#include "support/reporter.hpp"

#include <catch2/catch.hpp>

namespace rdmanet::test {

using Catch::Contains;

namespace {

/// RDMA mode exclusive, and two VFs of a NIC with these parameters.
struct OtherVfStage {
    explicit OtherVfStage(const std::string& parameters) : nic(concat("nics=1 vfs=2 ", parameters)) {}

    void set_fault(const std::string& name, unsigned value) const {
        shell(concat("echo ", value, " >/sys/kernel/debug/simrnic/", vfs.pf(), '/', name));
    }

    OtherNic nic;
    Vfs vfs;
    UnchangedNode node;
};

/// Moves the interface of VF 0 into the pod, and returns a call for its RDMA devices.
PluginCall rdma_alone(const VfNode& vfs, const Pod& pod, const std::string& members) {
    shell(concat("ip link set ", vfs.netdev(0), " netns ", pod.name(), " name net1"));
    return after(call_for(pod, concat("'attach':'rdma',", members), "1.0.0"),
                 "{\"cniVersion\":\"1.0.0\",\"interfaces\":[{\"name\":\"net1\"}]}");
}

/// Waits until the kernel has returned the interface, which comes after the RDMA devices with the pod's name, and
/// renames it.
void take_back(const VfNode& vfs) {
    wait_until(concat("ip link set net1 name ", vfs.netdev(0)));
}

} // namespace

TEST_CASE("all RDMA devices of a VF move into the pod and return, or the one that the configuration chooses",
          "[sriov][rdma]") {
    NEEDS(OtherNic::possible(), "a NIC with two RDMA devices of two ports for each function");
    const OtherVfStage stage("rdma_devices=2 rdma_ports=2");
    const std::string info = "/var/run/k8s.cni.cncf.io/devinfo/cni/two-devices-c1_net1";
    const std::string members =
        concat("'rdma':true,'runtimeConfig':{'CNIDeviceInfoFile':'", info, "'},", ipam("10.112.0.0/24"));
    {
        const Pod pod("pod");
        const PluginCall call = vf_call(stage.vfs, pod, 0, members);
        const std::string result = add(call);
        const std::string ports = pod.run("rdma link");
        for (const std::string device : {"roce0p0v0", "roce0p0v0d1"}) {
            CHECK_THAT(ports, Contains(concat("link ", device, "/1 ")) && Contains(concat("link ", device, "/2 ")));
            CHECK_FALSE(succeeds(concat("rdma dev show ", device)));
            CHECK(pod.succeeds(concat("grep -rqs ffff:0a70:0001 /sys/class/infiniband/", device, "/ports/1/gids")));
        }
        CHECK(value(shell(concat("cat ", info)), "pci.rdma-device") == "roce0p0v0,roce0p0v0d1");
        CHECK(check(call, result) == "");
        CHECK(del(call) == "");
    }
    CHECK(stage.node.difference() == "");

    const std::string info_of_one = "/var/run/k8s.cni.cncf.io/devinfo/cni/one-device-c1_net1";
    {
        const Pod pod("pod");
        const UnchangedNode node;
        const PluginCall call = vf_call(stage.vfs, pod, 0,
                                        concat("'rdma':{'device':1},'runtimeConfig':{'CNIDeviceInfoFile':'",
                                               info_of_one, "'},", ipam("10.115.0.0/24")));
        const std::string result = add(call);
        CHECK_THAT(pod.run("rdma link"), Contains("link roce0p0v0d1/1 "));
        CHECK_FALSE(pod.succeeds("rdma dev show roce0p0v0"));
        CHECK(succeeds("rdma dev show roce0p0v0"));
        CHECK(value(shell(concat("cat ", info_of_one)), "pci.rdma-device") == "roce0p0v0d1");
        CHECK(check(call, result) == "");
        CHECK(del(call) == "");
        CHECK(node.difference() == "");
    }
    {
        Pod dead("dead");
        const PluginCall call = rdma_alone(stage.vfs, dead, "'rdma':{'device':1}");
        (void)add(call);
        stage.set_fault("rdma_move_delay_ms", 500);
        dead.destroy();
        CHECK(del(call) == "");
        CHECK(succeeds("rdma dev show roce0p0v0d1")); // the device that stayed must not look like a new one
        take_back(stage.vfs);
    }
    stage.set_fault("rdma_move_delay_ms", 0);
    CHECK(stage.node.difference() == "");
}

TEST_CASE("DEL waits for RDMA devices and drivers that are slow", "[sriov][rdma][del]") {
    NEEDS(OtherNic::possible(), "slow RDMA devices");
    const OtherVfStage stage("rdma_devices=2");
    const auto attached = [&](Pod& pod) {
        const PluginCall call = vf_call(stage.vfs, pod, 0, concat("'rdma':true,'vlan':100,", ipam("10.114.0.0/24")));
        CHECK(check(call, add(call)) == "");
        return call;
    };
    stage.set_fault("rdma_move_delay_ms", 500);
    {
        Pod pod("pod");
        CHECK(del(attached(pod)) == "");
        const PluginCall call = attached(pod);
        pod.destroy();
        CHECK(del(call) == "");
    }
    {
        Pod pod("pod");
        const PluginCall call = rdma_alone(stage.vfs, pod, "'rdma':true");
        (void)add(call);
        pod.destroy();
        CHECK(del(call) == "");
        // The kernel returns the devices one after the other.
        CHECK(succeeds("rdma dev show roce0p0v0 && rdma dev show roce0p0v0d1"));
        take_back(stage.vfs);
    }
    CHECK(stage.node.difference() == "");
    stage.set_fault("rdma_move_delay_ms", 0);
    {
        Pod pod("pod");
        const PluginCall call = attached(pod);
        stage.set_fault("vf_devices_delay_ms", 2000);
        shell(concat("cd /sys/bus/pci/drivers/simrnic && echo ", stage.vfs.vf(0), " >unbind && echo ", stage.vfs.vf(0),
                     " >bind && ! test -e /sys/class/net/", stage.vfs.netdev(0)));
        CHECK(del(call) == "");
        stage.set_fault("vf_devices_delay_ms", 0);
        CHECK(succeeds(concat("ip link show ", stage.vfs.netdev(0), " && rdma dev show roce0p0v0")));
        CHECK_THAT(stage.vfs.settings(0), !Contains("vlan"));
    }
}

// Takes as long as DEL may wait.
TEST_CASE("DEL gives up waiting for an RDMA device, names what is still held, and the next DEL succeeds",
          "[.hang][rdma]") {
    NEEDS(OtherNic::possible(), "slow RDMA devices");
    const OtherVfStage stage("");
    Pod pod("pod");
    const PluginCall call = vf_call(stage.vfs, pod, 0, concat("'rdma':true,", ipam("10.114.0.0/24")));
    (void)add(call);
    stage.set_fault("rdma_move_delay_ms", 25000);
    pod.destroy();
    CHECK_THAT(del(call), Names("code 108", "still held", "RDMA device", "roce0p0v0", "0001:00:01.0"));
    CHECK(shell(concat(binary(), " state --json | jq -c .leases")) == "[]\n"); // released whatever else fails
    wait_until("test -e /sys/class/infiniband/roce0p0v0");
    CHECK(del(call) == "");
    CHECK(stage.node.difference() == "");
}

} // namespace rdmanet::test
