// A VF in a pod: what the pod gets, and what stays on the host.
#include "vf_stage.hpp"

#include "support/concat.hpp"
#include "support/names.hpp"

#include <catch2/catch.hpp>

namespace rdmanet::test {

using Catch::Contains;

TEST_CASE("a VF moves into the pod with its RDMA device, and returns as it was", "[sriov][core][vf-settings]") {
    const Vfs vfs;
    // DEL restores what the administrator set, including the tag's protocol and the lower rate limit.
    shell(concat("ip link set ", vfs.pf(), " vf 1 vlan 7 qos 2 proto 802.1ad max_tx_rate 50 min_tx_rate 10"));
    const Pod pod("pod");
    const UnchangedNode node;
    const PluginCall call = vf_call(
        vfs, pod, 1,
        concat("'vlan':100,'vlanQoS':3,'vlanProto':'802.1ad','mac':'02:00:00:00:00:42','spoofchk':'on','trust':'on',"
               "'link_state':'enable','min_tx_rate':500,'max_tx_rate':1000,'mtu':1400,'rdma':true,",
               ipam("10.90.0.0/24", "'ipRanges':[{'range':'fd90::/64'}]")));
    const std::string result = add(call);
    CHECK(addresses(result) == "10.90.0.1/24 fd90::1/64");
    CHECK(value(result, "interfaces.0.name") == "net1");
    CHECK(value(result, "interfaces.0.mac") == "02:00:00:00:00:42");
    CHECK(value(result, "interfaces.0.mtu") == "1400");
    CHECK(value(result, "interfaces.0.pciID") == vfs.vf(1));
    CHECK_THAT(pod.run("ip -d link show net1"), Contains("mtu 1400") && Contains(",UP") &&
                                                    Contains("link/ether 02:00:00:00:00:42") && Contains(vfs.vf(1)));
    CHECK_THAT(vfs.settings(1), Contains("link/ether 02:00:00:00:00:42") &&
                                    Contains("vlan 100, qos 3, vlan protocol 802.1ad") &&
                                    Contains("spoof checking on") && Contains("link-state enable") &&
                                    Contains("trust on") && Contains("max_tx_rate 1000Mbps, min_tx_rate 500Mbps"));
    CHECK_THAT(pod.run("rdma link"), Contains(concat("link ", vfs.rdma(1), "/1")) && Contains("netdev net1"));
    CHECK_FALSE(succeeds(concat("rdma dev show ", vfs.rdma(1))));
    CHECK(pod.succeeds(concat("grep -rqs ffff:0a5a:0001 /sys/class/infiniband/", vfs.rdma(1), "/ports/1/gids")));
    CHECK(check(call, result) == "");
    pod.run(concat("rdma dev set ", vfs.rdma(1), " name podsname")); // the pod's administrator may do so
    pod.run("ip link set net1 promisc on allmulticast on");
    CHECK(del(call) == "");
    CHECK(node.difference() == "");
    CHECK(del(call) == "");
}

TEST_CASE("in shared mode a VF's RDMA device stays on the host, with GIDs for the pod", "[sriov][rdma]") {
    const Vfs vfs("shared");
    const Pod pod("pod");
    const CheckedNode node;
    const PluginCall call = vf_call(vfs, pod, 0, ipam("10.93.0.0/24"));
    const std::string result = add(call);
    CHECK(check(call, result) == "");
    CHECK(succeeds(concat("rdma dev show ", vfs.rdma(0))));
    CHECK(succeeds(concat("grep -rqs 0000:0000:0000:0000:0000:ffff:0a5d:0001 /sys/class/infiniband/", vfs.rdma(0),
                          "/ports/1/gids")));
    CHECK(del(call) == "");
}

TEST_CASE("the device-info file has the VF's RDMA device until DEL, and no other pod's file is written",
          "[sriov][device-info]") {
    const VfStage stage;
    const std::string path = "/var/run/k8s.cni.cncf.io/devinfo/cni/ml-vf-c1_net1";
    const PluginCall call =
        vf_call(stage.vfs, stage.pod, 0, concat("'rdma':true,'runtimeConfig':{'CNIDeviceInfoFile':'", path, "'}"));
    (void)add(call);
    CHECK(value(shell(concat("cat ", path)), "pci.rdma-device") == stage.vfs.rdma(0));
    CHECK(del(call) == "");
    CHECK_FALSE(succeeds(concat("test -e ", path)));

    const std::string directory = "/run/k8s.cni.cncf.io/devinfo/cni/";
    const auto writing = [&](unsigned vf, const std::string& name) {
        return vf_call(stage.vfs, stage.pod, vf,
                       concat("'runtimeConfig':{'CNIDeviceInfoFile':'", directory, name, "'}"));
    };
    PluginCall first = of(writing(0, "default-net-x-c1_net2"), "x-c1");
    first.ifname = "net2";
    (void)add(first);
    const std::string before = shell(concat("cat ", directory, "default-net-x-c1_net2"));
    PluginCall second = writing(1, "default-net-x-c1_net2"); // this container ID is the end of the other pod's
    second.ifname = "net2";
    CHECK_THAT(refusal(second), Names("code 7", "runtimeConfig.CNIDeviceInfoFile", "net", "x-c1"));
    CHECK_THAT(refusal(writing(1, "default-net-c2_net1")),
               Names("code 7", "runtimeConfig.CNIDeviceInfoFile", "-c1_net1"));
    CHECK(del(second) == "");
    CHECK(shell(concat("cat ", directory, "default-net-x-c1_net2")) == before);
    CHECK(del(first) == "");
    CHECK(stage.node.difference() == "");
}

} // namespace rdmanet::test
