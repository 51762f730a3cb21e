// STATUS reports whether ADD would work now.
#include "golden.hpp"
#include "vf_stage.hpp"

#include "support/concat.hpp"
#include "support/names.hpp"
#include "support/reporter.hpp"

#include <catch2/catch.hpp>

#include <utility>

namespace rdmanet::test {

using Catch::Contains;

namespace {

std::string status_of(const Pod& pod, const std::string& members) {
    return outcome(call_for(pod, members), "STATUS");
}

} // namespace

TEST_CASE("STATUS has code 50 where ADD would fail now, and messages.golden has its words", "[status][golden]") {
    const Stage stage;
    Golden golden("STATUS");
    const auto status = [&](const std::string& members) { return status_of(stage.pod, members); };
    CHECK(status("'master':'par0'") == "");
    for (const char* members : {"'master':'par9'", "'master':'par0','mtu':9000"}) golden.add(status(members));
    CHECK_THAT(status("'master':'par0','rdma':true"), Contains("code 50") && Contains("RDMA"));
    shell("ip link set par0 down");
    golden.add(status("'master':'par0'"));
    shell("ip link set par0 up");
    // The only address of a range. ADD would reclaim it from a dead pod.
    const std::string one = concat("'master':'par0',", ipam("10.35.2.1/32", "'enable_l3':true"));
    CHECK(status(one) == "");
    Pod dying("dying");
    (void)add(of(call_for(dying, one), "dead"));
    golden.add(status(one));
    dying.destroy();
    CHECK(status(one) == "");
    const PluginCall call = call_for(stage.pod, one);
    (void)add(call);
    CHECK_THAT(shell(concat(binary(), " state --json")), !Contains("\"dead\""));
    CHECK(del(call) == "");
    CHECK(golden.difference() == "");
    CHECK(stage.node.difference() == "");
}

TEST_CASE("STATUS warns while the kubeconfig is whereabouts' own", "[status]") {
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

TEST_CASE("a device that ADD would refuse is refused by STATUS too", "[status][sriov][device]") {
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
    for (const auto& [members, why] :
         {std::pair(std::string("'deviceID':'ffff:00:00.0'"), Names("does not exist")),
          {"'deviceID':'0001:00:00.0'", Names("0001:00:00.0", "not an SR-IOV VF")},
          {concat(vf, ",'mtu':9000"), Names("mtu", "9000", "MTU 1500", "PF")},
          {"'device':'absent0'", Names("device", "\"absent0\"")},
          {concat("'device':'", stage.vfs.pf(), '\''), Names("0001:00:00.0", "2 VF...")}}) {
        INFO(members);
        CHECK_THAT(status(members), Names("code 50") && why);
        CHECK_THAT(refusal(call_for(stage.pod, members)), why && !Contains("code 50"));
    }
    CHECK_THAT(refusal(call_for(stage.pod, concat(vf, ",'rdma':{'mode':'shared'}"))),
               Names("code 103", "exclusive", "net", "shared"));
    CHECK_THAT(refusal(call_for(stage.pod, concat(vf, ",'guid':'02:00:00:00:00:00:00:99'"))),
               Names("code 2", "guid", stage.vfs.vf(0), "Ethernet"));
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
    CHECK_THAT(refusal(call_for(stage.pod, vf)), Contains("has no driver"));
    shell(concat(bind, "bind"));
}

} // namespace rdmanet::test
