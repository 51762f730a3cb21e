// A VF in a pod: what the pod gets, and what stays on the host.
#include "vf_stage.hpp"

#include "support/concat.hpp"
#include "support/names.hpp"
#include "support/reporter.hpp"

#include <catch2/catch.hpp>

namespace rdmanet::test {

using Catch::Contains;

namespace {

/// The PF has only this VF until the end of the scope.
class LoneVf {
public:
    explicit LoneVf(const std::string& pf) : device_(concat("/sys/class/net/", pf, "/device")) { set_vfs(device_, 1); }
    LoneVf(const LoneVf&) = delete;
    LoneVf& operator=(const LoneVf&) = delete;
    ~LoneVf() { (void)succeeds(concat("echo 0 >", device_, "/sriov_numvfs")); }

    [[nodiscard]] std::string address() const {
        return shell(concat("basename $(readlink ", device_, "/virtfn0) | tr -d '\\n'"));
    }

private:
    std::string device_;
};

} // namespace

TEST_CASE("a VF moves into the pod with its RDMA device, and returns as it was", "[sriov][core]") {
    NEEDS_VFS();
    const VfNode vfs;
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

TEST_CASE("a VF without configured settings keeps the administrator's", "[sriov]") {
    NEEDS_VFS();
    const VfNode vfs;
    shell(concat("ip link set ", vfs.pf(), " vf 0 vlan 7 mac 02:00:00:00:00:77 spoofchk on && ip link set ",
                 vfs.netdev(0), " up && ip link property add dev ", vfs.netdev(0), " altname uplink-zero"));
    wait_until_up(vfs.netdev(0));
    const Pod pod("pod");
    const UnchangedNode node;
    const PluginCall call = vf_call(vfs, pod, 0);
    const std::string result = add(call);
    CHECK(value(result, "interfaces.0.mac") == "02:00:00:00:00:77");
    CHECK_THAT(vfs.settings(0), Contains("vlan 7") && Contains("spoof checking on"));
    CHECK_THAT(pod.run("ip link show net1"), Contains("altname uplink-zero"));
    CHECK(check(call, result) == "");
    CHECK(del(call) == "");
    CHECK(node.difference() == "");
}

TEST_CASE("two pods on VFs reach each other, each with the MAC that its pod requests", "[sriov]") {
    NEEDS_VFS();
    const VfNode vfs;
    const Pod one("one");
    const Pod other("other");
    const std::string far_pf = rdma_parent(1); // at the other end of the wire
    const UnchangedNode node;
    const PluginCall first = vf_call(
        vfs, one, 0,
        concat("'capabilities':{'mac':true},'runtimeConfig':{'mac':'02:00:00:00:00:41'},", ipam("10.91.0.0/24")));
    PluginCall second = of(vf_call(vfs, other, 1, ipam("10.91.0.0/24")), "c2");
    second.args = "IgnoreUnknown=1;MAC=02:00:00:00:00:42";
    CHECK(value(add(first), "interfaces.0.mac") == "02:00:00:00:00:41");
    CHECK(value(add(second), "interfaces.0.mac") == "02:00:00:00:00:42");
    CHECK(mac_of(one) == "02:00:00:00:00:41");
    CHECK(mac_of(other) == "02:00:00:00:00:42");
    CHECK_THAT(vfs.settings(0), Contains("02:00:00:00:00:41"));
    CHECK_THAT(vfs.settings(1), Contains("02:00:00:00:00:42"));
    CHECK(one.succeeds("ping -c 1 -W 2 10.91.0.2"));
    CHECK(del(second) == "");
    {
        const LoneVf far(far_pf);
        PluginCall third = of(call_for(other, concat("'deviceID':'", far.address(), "',", ipam("10.91.0.0/24"))), "c3");
        CHECK(addresses(add(third)) == "10.91.0.2/24");
        CHECK(one.succeeds("ping -c 1 -W 2 10.91.0.2")); // over the wire
        CHECK(del(third) == "");
    }
    CHECK(del(first) == "");
    CHECK(del(second) == "");
    CHECK(node.difference() == "");
}

TEST_CASE("the pod's interface name may be the VF's alternative name, or another interface's name on the host",
          "[sriov]") {
    NEEDS_VFS();
    const VfNode vfs;
    shell(concat("ip link property add dev ", vfs.netdev(0), " altname net1"));
    const VethParent taken("net2");
    const Pod pod("pod");
    const UnchangedNode node;
    PluginCall call = vf_call(vfs, pod, 0);
    (void)add(call);
    CHECK_THAT(pod.run("ip link show net1"), !Contains("altname"));
    CHECK(del(call) == "");
    CHECK(node.difference() == "");
    call.ifname = "net2"; // the VF returns to the host with this name
    (void)add(call);
    CHECK(del(call) == "");
    CHECK(node.difference() == "");
    // An interface that already has the alternative name keeps it: the pod's interface at ADD, the host's at DEL.
    pod.run("ip link property add dev lo altname net1");
    CHECK_THAT(refusal(call), Names("net1", "lo"));
    pod.run("ip link property del dev lo altname net1");
    CHECK(node.difference() == "");
    (void)add(call);
    shell("ip link property add dev net2 altname net1");
    CHECK(del(call) == "");
    CHECK_THAT(shell(concat("ip link show dev ", vfs.netdev(0))), !Contains("altname"));
    CHECK_THAT(shell("ip link show dev net1"), Contains("net2"));
    shell(concat("ip link property del dev net2 altname net1 && ip link property add dev ", vfs.netdev(0),
                 " altname net1"));
    CHECK(node.difference() == "");
}

TEST_CASE("a VF of a living pod is refused to another pod, and the error names its owner", "[sriov]") {
    NEEDS_VFS();
    const VfStage stage;
    const Pod other("other");
    const UnchangedNode node;
    PluginCall first = vf_call(stage.vfs, stage.pod, 0);
    first.args = "IgnoreUnknown=1;K8S_POD_NAMESPACE=ml;K8S_POD_NAME=worker-0;K8S_POD_UID=u";
    const std::string result = add(first);
    const PluginCall second = of(vf_call(stage.vfs, other, 0), "c2");
    CHECK_THAT(refusal(second), Names("belongs to another", stage.vfs.vf(0), "ml/worker-0", "c1"));
    CHECK(del(second) == "");
    CHECK(check(first, result) == "");
    CHECK(del(first) == "");
    CHECK(node.difference() == "");
}

TEST_CASE("in shared mode a VF's RDMA device stays on the host, and `rdma: true` is refused with the fix",
          "[sriov][rdma]") {
    NEEDS_VFS();
    const VfNode vfs("shared");
    const Pod pod("pod");
    const UnchangedNode node;
    const PluginCall call = vf_call(vfs, pod, 0, concat("'rdma':true,", ipam("10.93.0.0/24")));
    const std::string result = add(call);
    CHECK(check(call, result) == "");
    CHECK(succeeds(concat("rdma dev show ", vfs.rdma(0))));
    CHECK(succeeds(concat("grep -rqs 0000:0000:0000:0000:0000:ffff:0a5d:0001 /sys/class/infiniband/", vfs.rdma(0),
                          "/ports/1/gids")));
    CHECK(del(call) == "");
    for (const std::string asks : {"'rdma':{'isolation':true}", "'rdma':{'mode':'exclusive'}", "'rdmaIsolation':true"})
        CHECK_THAT(refusal(vf_call(vfs, pod, 0, asks)),
                   Names("code 103", "shared", "net", "exclusive", "`rdma system set netns exclusive`"));
    CHECK(node.difference() == "");
}

TEST_CASE("devices that are not attachable VFs are refused before anything changes", "[sriov]") {
    NEEDS_VFS();
    const VfStage stage;
    const auto with_device = [&](const std::string& address) {
        return refusal(call_for(stage.pod, concat("'attach':'sriov','deviceID':'", address, '\'')));
    };
    CHECK_THAT(with_device("ffff:00:00.0"), Names("code 102", "ffff:00:00.0"));
    CHECK_THAT(with_device("0001:00:00.0"), Names("0001:00:00.0", "VF"));
    CHECK_THAT(with_device("mlx5_core.sf.4"), Names("code 7", "deviceID", "PCI", "VF"));
    CHECK_THAT(refusal(call_for(stage.pod, "'attach':'sriov'")), Names("code 7", "deviceID", "missing"));
    CHECK_THAT(refusal(call_for(stage.pod, "'vlan':100")), Contains("k8s.v1.cni.cncf.io/resourceName"));
    CHECK_THAT(refusal(vf_call(stage.vfs, stage.pod, 0, "'rdma':{'mode':'shared'}")),
               Names("code 103", "exclusive", "net", "shared"));
    CHECK_THAT(refusal(vf_call(stage.vfs, stage.pod, 0, "'guid':'02:00:00:00:00:00:00:99'")),
               Names("code 2", "guid", stage.vfs.vf(0), "Ethernet"));
    CHECK_THAT(refusal(vf_call(stage.vfs, stage.pod, 0, "'mtu':9000")),
               Names("mtu", "9000", "MTU 1500", "PF", stage.vfs.pf()));
    CHECK(outcome(call_for(stage.pod, "'attach':'sriov'"), "STATUS") == "");
    CHECK(stage.node.difference() == "");
    shell(concat("echo ", stage.vfs.vf(0), " >/sys/bus/pci/drivers/simrnic/unbind"));
    CHECK_THAT(refusal(vf_call(stage.vfs, stage.pod, 0)), Contains("has no driver"));
    shell(concat("echo ", stage.vfs.vf(0), " >/sys/bus/pci/drivers/simrnic/bind"));
}

TEST_CASE("CHECK detects changes of a VF", "[sriov][check]") {
    NEEDS_VFS();
    const VfStage stage;
    const std::string members = concat("'vlan':100,'mtu':1500,'rdma':true,", ipam("10.112.0.0/24"));
    const PluginCall call = vf_call(stage.vfs, stage.pod, 0, members);
    const std::string result = add(call);
    const auto when = [&](const std::string& change, const std::string& repair) {
        return check_between(call, result, change, repair);
    };
    const std::string vf = concat("ip link set ", stage.vfs.pf(), " vf 0 ");
    CHECK_THAT(when(concat(vf, "vlan 7"), concat(vf, "vlan 100")), Names("code 107", "vlan 7", "expected vlan 100"));
    const std::string check_of_node = concat(binary(), " check; true"); // has neither configuration nor prevResult
    CHECK_THAT(shell(check_of_node), Contains("1 attachment: 1 unchanged"));
    shell(concat(vf, "vlan 7"));
    CHECK_THAT(shell(check_of_node), Names("differs", "vlan 7", "expected vlan 100"));
    shell(concat(vf, "vlan 100"));
    const std::string in_pod = "ip netns exec pod rdma dev set ";
    CHECK_THAT(
        when(concat("touch /run/netns/host && mount --bind /proc/1/ns/net /run/netns/host && ", in_pod,
                    stage.vfs.rdma(0), " netns host"),
             concat("rdma dev set ", stage.vfs.rdma(0), " netns pod && umount /run/netns/host && rm /run/netns/host")),
        Names("code 107", "RDMA device", "gone"));
    CHECK(when("ip -n pod link set net1 mtu 1300 promisc on", "ip -n pod link set net1 mtu 1500 promisc off") == "");
    // A problem that would only fail the next ADD is not a difference.
    const std::string pf = stage.vfs.pf();
    CHECK(when(concat("ip link set ", pf, " mtu 1400"), concat("ip link set ", pf, " mtu 1500")) == "");
    CHECK_THAT(when(concat("ip netns add elsewhere && ip link set ", pf, " netns elsewhere"),
                    concat("ip -n elsewhere link set ", pf, " netns 1 && ip link set ", pf,
                           " addrgenmode none && ip link set ", pf, " up && ip netns delete elsewhere")),
               Names("code 107", stage.vfs.vf(0), "PF"));
    CHECK_THAT(check(with(call, "'rdma':{'isolation':false}"), result),
               Names("code 107", "RDMA device", "on the host"));
    CHECK(del(call) == "");
    CHECK(stage.node.difference() == "");
}

} // namespace rdmanet::test
