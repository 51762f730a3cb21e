// VFs for programs in user space. Their driver is vfio-pci, so they have neither net device nor RDMA device.
#include "vf_stage.hpp"

#include "support/concat.hpp"
#include "support/names.hpp"
#include "support/other_nic.hpp"
#include "support/reporter.hpp"

#include <catch2/catch.hpp>

namespace rdmanet::test {

using Catch::Contains;

namespace {

/// The first VF has the driver vfio-pci.
class VfioNode {
public:
    VfioNode() {
        bind("vfio-pci");
        node.emplace();
    }

    void bind(const std::string& driver) const {
        shell(concat("cd /sys/bus/pci && echo ", vfs.vf(0), " >devices/", vfs.vf(0), "/driver/unbind && echo ", driver,
                     " >devices/", vfs.vf(0), "/driver_override && echo ", vfs.vf(0), " >drivers_probe"));
    }

private:
    OtherNic nic_{"nics=1 vfs=2 vfio_pci=1"};

public:
    Vfs vfs;
    std::optional<UnchangedNode> node;
};

const std::string kVfioSettings = "'vlan':100,'mac':'02:00:00:00:00:42','spoofchk':'on','trust':'on'";

} // namespace

TEST_CASE(
    "a VF of vfio-pci has settings and addresses, and its pod neither interface nor RDMA device, until DEL restores it",
    "[sriov][vfio][del]") {
    NEEDS(OtherNic::possible(), "a VF with driver vfio-pci");
    const VfioNode stage;
    {
        const Pod pod("pod");
        const PluginCall call =
            vf_call(stage.vfs, pod, 0, concat("'reset':true,'mtu':1400,", kVfioSettings, ",", ipam("10.111.0.0/24")));
        const ProcessResult added = call.run();
        REQUIRE(added.exit_status == 0);
        CHECK_THAT(added.err, Names("not set", "mtu", "1400") && !Contains("mac"));
        const std::string result = document_of(added).root().to_text();
        // sriov-cni reports it so: programs find the device by the result's interface "net1".
        CHECK(value(result, "interfaces.0.name") == "net1");
        CHECK(value(result, "interfaces.0.mac") == "02:00:00:00:00:42");
        CHECK(value(result, "interfaces.0.pciID") == stage.vfs.vf(0));
        CHECK(addresses(result) == "10.111.0.1/24");
        CHECK(pod.run("ls /sys/class/net") == "lo\n");
        CHECK_THAT(stage.vfs.settings(0), Contains("02:00:00:00:00:42") && Contains("vlan 100") &&
                                              Contains("spoof checking on") && Contains("trust on"));
        CHECK(check(call, result) == "");
        CHECK(del(call) == "");
        // The real vfio-pci resets the VF itself.
        CHECK(shell(concat("cat /sys/kernel/debug/simrnic/", stage.vfs.pf(), "/vf0/resets")) == "0\n");
    }
    CHECK(stage.node->difference() == "");
    Pod dead("dead");
    const PluginCall call = vf_call(stage.vfs, dead, 0, kVfioSettings);
    (void)add(call);
    dead.destroy();
    stage.bind("simrnic");
    CHECK(del(call) == "");
    CHECK(succeeds(concat("ip link show ", stage.vfs.netdev(0))));
    stage.bind("vfio-pci");
    CHECK(stage.node->difference() == "");
}

} // namespace rdmanet::test
