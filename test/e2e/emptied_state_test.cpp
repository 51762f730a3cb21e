// Somebody empties the state directory while pods have devices. The baselines of the devices are lost.
#include "golden.hpp"
#include "vf_stage.hpp"

#include "support/concat.hpp"
#include "support/infiniband_node.hpp"
#include "support/names.hpp"
#include "support/other_nic.hpp"
#include "support/patience.hpp"
#include "support/reporter.hpp"

#include <catch2/catch.hpp>

#include <vector>

namespace rdmanet::test {

using Catch::Contains;

namespace {

constexpr const char* kCards = "nics=3 ports=1 vfs=2 gid_table_len=16 link_layer=eth,eth,ib";
constexpr const char* kFunction = "0002:00:00.0";
constexpr const char* kInfinibandPort = "0003:00:00.0";

/// RDMA mode exclusive, and three cards: one with VFs, one that moves into a pod as a whole, and one of InfiniBand.
class ThreeCards {
public:
    ThreeCards() {
        shell("modprobe ib_ipoib");
        parent = InfinibandNode::netdev(kInfinibandPort);
        for (const std::string& name : {parent, InfinibandNode::netdev(kFunction)}) {
            ip_batch(concat("link set ", name, " addrgenmode none\nlink set ", name, " up\n"));
            wait_until_up(name);
        }
    }
    ThreeCards(const ThreeCards&) = delete;
    ThreeCards& operator=(const ThreeCards&) = delete;
    ~ThreeCards() { (void)succeeds("modprobe -r ib_ipoib"); }

    /// Attaches the VF, the function and the child. Returns the runtime's DEL calls.
    [[nodiscard]] std::vector<PluginCall> attach(const Pod& pod) const {
        std::vector<PluginCall> calls = {
            vf_call(vfs, pod, 0,
                    concat("'rdma':true,'vlan':100,'mtu':1300,'mac':'02:00:00:00:00:42',", ipam("10.118.0.0/24"))),
            call_for(pod,
                     concat("'attach':'host-device','deviceID':'", kFunction, "','mtu':1400,", ipam("10.118.0.0/24"))),
            call_for(pod, concat("'attach':'ipoib','master':'", parent, "','pkey':'0x8001',", ipam("10.118.0.0/24")))};
        for (std::size_t i = 0; i < calls.size(); ++i) {
            calls[i].ifname = concat("net", i + 1);
            calls[i] = after(calls[i], add(calls[i]));
        }
        return calls;
    }

private:
    OtherNic nic_{kCards};

public:
    Vfs vfs;
    std::string parent;
};

std::string gc_by_person() {
    return shell(concat(binary(), " gc"));
}

std::string del_all(const std::vector<PluginCall>& calls) {
    std::string failed;
    for (const PluginCall& call : calls) failed += del(call);
    return failed;
}

/// GC by the runtime with an empty list.
std::string gc_by_runtime(const PluginCall& call) {
    return outcome(with(call, "'cni.dev/valid-attachments':[]"), "GC");
}

constexpr const char* kEmpty = "rm -r /run/rdmanet";

} // namespace

TEST_CASE("after the state directory was emptied DEL, GC and the next pod work, and only baselines are lost",
          "[sriov][device][ipoib][del][gc]") {
    NEEDS(OtherNic::possible(), "a NIC with InfiniBand and Ethernet cards");
    const ThreeCards cards;
    const auto next_pod_is_fine = [&] {
        const Pod pod("next");
        const UnchangedNode node;
        CHECK(del_all(cards.attach(pod)) == "");
        CHECK(node.difference() == "");
    };
    // The VF keeps the settings on its PF. The warning names these settings only.
    const auto settings_are_named = [&] {
        const std::string said = gc_by_person();
        CHECK_THAT(said, Names("nothing to remove", "VF 0", "rnic0p0", "vlan 100") && !Contains("still held"));
        Golden golden("settings of a VF that gc leaves alone");
        golden.add_lines(said);
        CHECK(golden.difference() == "");
        CHECK_THAT(cards.vfs.settings(0), Contains("02:00:00:00:00:42"));
        shell(concat("ip link set ", cards.vfs.pf(), " vf 0 vlan 0"));
        CHECK_THAT(gc_by_person(), Contains("nothing to remove") && !Contains("left alone"));
    };
    {
        INFO("the pod lives on");
        const Pod pod("pod");
        const auto calls = cards.attach(pod);
        shell(kEmpty);
        CHECK_THAT(gc_by_person(), Contains("nothing to remove") && !Contains("left alone"));
        CHECK(gc_by_runtime(calls.front()) == "");
        const Pod other("other");
        CHECK_THAT(refusal(of(vf_call(cards.vfs, other, 0), "c2")), Names(cards.vfs.vf(0), "driver", "simrnic"));
        CHECK(pod.run("sh -c 'cd /sys/class/net; ls -d */'") == "lo/\nnet1/\nnet2/\nnet3/\n");
        CHECK(del_all(calls) == "");
        CHECK(pod.run("sh -c 'cd /sys/class/net; ls -d */'") == "lo/\n");
        CHECK(succeeds(concat("rdma dev show ", cards.vfs.rdma(0))));
        settings_are_named();
    }
    next_pod_is_fine(); // the VF has another name now
    {
        INFO("the pod is gone as well");
        Pod pod("pod");
        const auto calls = cards.attach(pod);
        shell(kEmpty);
        pod.destroy();
        wait_until("ip link show net3");
        CHECK(del_all(calls) == "");
        settings_are_named();
        CHECK(shell("ip -o link show type ipoib | grep -c alias || true") == "0\n");
    }
    next_pod_is_fine();
}

} // namespace rdmanet::test
