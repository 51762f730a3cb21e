// STATUS reports whether ADD would work now.
#include "vf_stage.hpp"

#include "support/concat.hpp"
#include "support/names.hpp"
#include "support/reporter.hpp"

#include <catch2/catch.hpp>

namespace rdmanet::test {

using Catch::Contains;

namespace {

std::string status_of(const Pod& pod, const std::string& members) {
    PluginCall call = call_for(pod, members);
    call.container.clear();
    call.netns.clear();
    call.ifname.clear();
    return outcome(call, "STATUS");
}

} // namespace

TEST_CASE("STATUS succeeds where ADD works, and changes nothing", "[status]") {
    NEEDS(kernel_has("macvlan"), "macvlan");
    const Stage stage;
    CHECK(status_of(stage.pod, concat("'master':'par0',", ipam("10.35.0.0/24"))) == "");
    CHECK(status_of(stage.pod, "'master':'par0'") == "");
    CHECK(stage.node.difference() == "");
}

TEST_CASE("STATUS warns while the kubeconfig is whereabouts' own", "[status]") {
    NEEDS(kernel_has("macvlan"), "macvlan");
    const Stage stage;
    const auto says = [&](const std::string& kubeconfig) {
        PluginCall call =
            call_for(stage.pod, concat("'master':'par0','ipam':{'type':'rdmanet','store':'whereabouts',",
                                       "'range':'10.35.1.0/24','kubernetes':{'kubeconfig':'", kubeconfig, "'}}"));
        call.command = "STATUS";
        return call.run().err;
    };
    const std::string own = "/etc/cni/net.d/whereabouts.d/whereabouts.kubeconfig";
    CHECK_THAT(says(own), Names("warning kubeconfig " + own + " belongs to whereabouts", "ends its token"));
    CHECK_THAT(says("/etc/cni/net.d/rdmanet.d/rdmanet.kubeconfig"), !Contains("belongs to whereabouts"));
    CHECK(stage.node.difference() == "");
}

TEST_CASE("STATUS has code 50 for a parent that is missing, down or too small", "[status]") {
    NEEDS(kernel_has("macvlan"), "macvlan");
    const Stage stage;
    CHECK_THAT(status_of(stage.pod, "'master':'par9'"), Contains("code 50") && Contains("par9"));
    CHECK_THAT(status_of(stage.pod, "'master':'par0','mtu':9000"), Contains("code 50") && Contains("9000"));
    CHECK_THAT(status_of(stage.pod, "'master':'par0','rdma':true"), Contains("code 50") && Contains("RDMA"));
    shell("ip link set par0 down");
    CHECK_THAT(status_of(stage.pod, "'master':'par0'"), Contains("code 50") && Contains("down"));
    shell("ip link set par0 up");
    CHECK(stage.node.difference() == "");
}

TEST_CASE("STATUS has code 50 for an exhausted range", "[status]") {
    NEEDS(kernel_has("macvlan"), "macvlan");
    const Stage stage;
    const std::string members = concat("'master':'par0',", ipam("10.35.1.1/32", "'enable_l3':true"));
    const PluginCall call = call_for(stage.pod, members);
    add(call);
    CHECK_THAT(status_of(stage.pod, members),
               Contains("code 50") && Contains("10.35.1.1/32") && Contains("no free address"));
    CHECK(del(call) == "");
    CHECK(status_of(stage.pod, members) == "");
    CHECK(stage.node.difference() == "");
}

TEST_CASE("STATUS counts the addresses that ADD would reclaim from dead pods", "[status]") {
    NEEDS(kernel_has("macvlan"), "macvlan");
    const Stage stage;
    const std::string members = concat("'master':'par0',", ipam("10.35.2.1/32", "'enable_l3':true"));
    Pod dying("dying");
    add(of(call_for(dying, members), "dead"));
    CHECK_THAT(status_of(stage.pod, members), Contains("code 50"));
    dying.destroy();
    CHECK(status_of(stage.pod, members) == "");
    const PluginCall call = call_for(stage.pod, members);
    add(call);
    CHECK_THAT(shell(concat(binary(), " state --json")), !Contains("\"dead\""));
    CHECK(del(call) == "");
    CHECK(stage.node.difference() == "");
}

TEST_CASE("STATUS of a network that names its device has code 50 where ADD would refuse", "[status][sriov][device]") {
    NEEDS_VFS();
    const VfStage stage;
    const std::string vf = concat("'deviceID':'", stage.vfs.vf(0), '\'');
    const std::string refuse = "'rdma':{'onInactivePort':'refuse'},";
    const auto status = [&](const std::string& members) { return status_of(stage.pod, members); };
    const auto says = [](const auto&... why) { return Names("code 50", why...); };
    CHECK(status(concat(vf, ",'vlan':100,'rdma':true,", ipam("10.35.3.0/24"))) == "");
    CHECK(status(concat("'attach':'rdma',", vf)) == "");
    CHECK(status("'attach':'sriov','rdma':true") == ""); // the device plugin names the device later
    CHECK(status("'attach':'host-device','rdma':true") == "");
    CHECK_THAT(status("'deviceID':'ffff:00:00.0'"), says("ffff:00:00.0", "does not exist"));
    CHECK_THAT(status("'deviceID':'0001:00:00.0'"), says("0001:00:00.0", "not an SR-IOV VF"));
    CHECK_THAT(status(concat(vf, ",'mtu':9000")), says("mtu", "9000", "MTU 1500", "PF"));
    CHECK_THAT(status("'device':'absent0'"), says("device \"absent0\" "));
    CHECK_THAT(status(concat("'device':'", stage.vfs.pf(), '\'')), says("0001:00:00.0", "2 VF..."));
    const std::string cable = concat(" >/sys/kernel/debug/simrnic/", stage.vfs.pf(), "/cable");
    shell(concat("echo 0", cable));
    CHECK(status(concat("'rdma':true,", vf)) == "");
    CHECK_THAT(status(concat(refuse, vf)), says("port 1", "RDMA device", stage.vfs.pf()));
    shell(concat("echo 1", cable));
    CHECK(status(concat(refuse, vf)) == "");
    CHECK(stage.node.difference() == "");

    shell(concat("rdma dev set ", stage.vfs.rdma(0), " netns pod"));
    const Names no_rdma = says(stage.vfs.vf(0), "no RDMA device", "on the host");
    CHECK_THAT(status(concat("'rdma':true,", vf)), no_rdma);
    CHECK_THAT(status(concat("'attach':'rdma',", vf)), no_rdma);
    CHECK(status(vf) == "");
    shell(concat("ip link set ", stage.vfs.netdev(0), " netns pod")); // a pod of another plugin has the whole device
    CHECK(status(concat("'rdma':true,", vf)) == "");
    shell(concat("touch /run/netns/host && mount --bind /proc/1/ns/net /run/netns/host && ip netns exec pod rdma dev "
                 "set ",
                 stage.vfs.rdma(0), " netns host && ip -n pod link set ", stage.vfs.netdev(0),
                 " netns host && umount /run/netns/host && rm /run/netns/host"));
    CHECK(stage.node.difference() == "");

    const PluginCall call = call_for(stage.pod, concat("'rdma':true,", vf));
    (void)add(call);
    CHECK(status(concat(refuse, vf)) == "");
    CHECK(status(concat("'attach':'rdma',", vf)) == "");
    CHECK(del(call) == "");
    CHECK(stage.node.difference() == "");
    const std::string bind = concat("echo ", stage.vfs.vf(0), " >/sys/bus/pci/drivers/simrnic/");
    shell(concat(bind, "unbind"));
    CHECK_THAT(status(vf), says(stage.vfs.vf(0), "no driver"));
    shell(concat(bind, "bind"));
}

} // namespace rdmanet::test
