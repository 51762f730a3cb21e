// VFs of a PF in switchdev mode. The PF's uplink and the VFs' representors are all net devices of the PF.
#include "containers.hpp"
#include "vf_stage.hpp"

#include "support/concat.hpp"
#include "support/names.hpp"
#include "support/patience.hpp"
#include "support/reporter.hpp"

#include <catch2/catch.hpp>

#include <optional>

namespace rdmanet::test {

using Catch::Contains;

namespace {

class SwitchdevNode {
public:
    [[nodiscard]] const VfNode& vfs() const { return vfs_; }
    [[nodiscard]] std::string representor(unsigned number) const { return mode_.representor(number); }

private:
    VfNode vfs_;
    SwitchdevMode mode_{vfs_.pf()};
};

/// A bridge that forwards between the representors until the end of the scope.
class Bridge {
public:
    explicit Bridge(const SwitchdevNode& node) {
        shell("ip link add e2ebr0 type bridge && ip link set e2ebr0 up");
        for (const unsigned number : {0U, 1U})
            shell(concat("ip link set ", node.representor(number), " master e2ebr0"));
    }
    Bridge(const Bridge&) = delete;
    Bridge& operator=(const Bridge&) = delete;
    ~Bridge() { (void)succeeds("ip link delete e2ebr0"); }
};

std::string ipv6_of(const std::string& interface) {
    return shell(concat("tr -d '\\n' </proc/sys/net/ipv6/conf/", interface, "/disable_ipv6")) == "0" ? "on" : "off";
}

} // namespace

TEST_CASE("a VF in switchdev mode is set up through the uplink, and its pod communicates through the representor",
          "[sriov][rdma][representor]") {
    NEEDS_VFS();
    NEEDS(kernel_has("bridge"), "bridge");
    const SwitchdevNode switched;
    const VfNode& vfs = switched.vfs();
    const Pod one("one");
    const Pod other("other");
    const UnchangedNode node;
    const PluginCall first =
        vf_call(vfs, one, 0, concat("'rdma':true,'trust':'on','mac':'02:00:00:00:00:42',", ipam("10.94.0.0/24")));
    const PluginCall second = of(vf_call(vfs, other, 1, ipam("10.94.0.0/24")), "c2");
    const std::string result = add(first);
    CHECK_THAT(vfs.settings(0), Contains("link/ether 02:00:00:00:00:42") && Contains("trust on"));
    CHECK(one.succeeds(concat("rdma dev show ", vfs.rdma(0))));
    (void)add(second);
    CHECK_FALSE(one.succeeds("ping -c 1 -W 1 10.94.0.2"));
    {
        const Bridge bridge(switched);
        CHECK(comes_true([&] { return one.succeeds("ping -c 1 -W 1 10.94.0.2"); }));
    }
    CHECK(check(first, result) == "");
    CHECK(del(first) == "");
    CHECK(del(second) == "");
    CHECK_THAT(refusal(vf_call(vfs, one, 0, "'vlan':100,'trust':'on'")),
               Names("vlan 100", "VF 0", vfs.pf(), "not supported"));
    CHECK_THAT(refusal(call_for(one, concat("'attach':'host-device','device':'", vfs.pf(), '\''))),
               Names("several net devices", "VF", "PF"));
    CHECK(node.difference() == "");

    // The representor is not on the host, so nobody can set it up.
    const Pod elsewhere("elsewhere");
    shell(concat("ip link set ", switched.representor(0), " netns elsewhere"));
    const PluginCall lone = vf_call(vfs, one, 0, "'mtu':1400");
    const UnchangedNode moved;
    const ProcessResult added = lone.with_command("ADD").run();
    CHECK(added.exit_status == 0);
    CHECK_THAT(added.err, Names("VF 0", vfs.pf(), "representor"));
    CHECK_FALSE(succeeds(concat("echo '", added.out, "' | grep rep0")));
    CHECK(check(lone, added.out) == "");
    CHECK(del(lone) == "");
    CHECK(moved.difference() == "");
}

TEST_CASE("ADD sets the representor's MTU and brings it up, and DEL, GC or a person restores it",
          "[sriov][gc][representor]") {
    NEEDS_VFS();
    const SwitchdevNode switched;
    const std::string representor = switched.representor(1);
    shell(concat("ip link set ", representor, " mtu 1300"));
    std::optional<Pod> pod(std::in_place, "pod");
    const UnchangedNode node;
    const std::string path = "/var/run/k8s.cni.cncf.io/devinfo/cni/ml-vf-c1_net1";
    const PluginCall call =
        vf_call(switched.vfs(), *pod, 1,
                concat("'mtu':1400,'runtimeConfig':{'CNIDeviceInfoFile':'", path, "'},", ipam("10.95.0.0/24")));
    const std::string result = add(call);
    CHECK(value(result, "interfaces.1") ==
          json_text(concat("{'mac':'02:53:00:00:00:01','mtu':1400,'name':'", representor, "'}")));
    CHECK_THAT(shell(concat("cat ", path)), Contains(json_text(concat("'representor-device':'", representor, '\''))));
    CHECK_THAT(shell(concat("ip link show ", representor)), Contains(",UP") && Contains("mtu 1400"));
    CHECK_THAT(shell(concat("ip link show ", switched.representor(0))), !Contains("UP") && Contains("mtu 1500"));
    CHECK(ipv6_of(representor) == "off"); // otherwise the host would accept the pod's router advertisements
    CHECK(check(call, result) == "");
    CHECK(del(call) == "");
    CHECK(node.difference() == "");
    {
        const Bridge bridge(switched);
        (void)add(call);
        CHECK(ipv6_of(representor) == "on"); // the bridge gets the frames, not the representor
        pod->destroy();
        CHECK_THAT(shell(concat(binary(), " gc")), Contains("removed"));
        CHECK_THAT(shell(concat("ip link show ", representor)), !Contains(",UP") && Contains("mtu 1300"));
    }
    shell(concat("ip link set ", representor, " mtu 1500"));
    pod.emplace("pod");
    (void)add(call); // never lowered, because a bridge uses its ports' lowest MTU
    CHECK_THAT(shell(concat("ip link show ", representor)), Contains("mtu 1500"));
    CHECK(del(call) == "");

    // The command with which `gc --forget` says how to restore it.
    const ProcessPod held;
    const UnchangedNode with_process;
    PluginCall unseen = vf_call(switched.vfs(), *pod, 1);
    unseen.netns = held.path();
    (void)add(unseen);
    shell(concat("ip link set ", representor, " down && ip link set ", representor, " name renamed up"));
    {
        const Wrapper inside("elsewhere", kContainer);
        CHECK_THAT(shell(concat(inside.path(), " gc --forget c1 net1 --dry-run")),
                   Names("`ip link set renamed down; echo 0 >/proc/sys/net/ipv6/conf/renamed/disable_ipv6`"));
    }
    shell(concat("ip link set renamed down && ip link set renamed name ", representor));
    CHECK(del(unseen) == "");
    CHECK(with_process.difference() == "");
}

} // namespace rdmanet::test
