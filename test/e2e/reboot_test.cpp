// A node boots again, and its state directory survives, as on a disk. Nothing that the records describe exists any
// more.
#include "vf_stage.hpp"

#include "support/concat.hpp"
#include "support/other_nic.hpp"
#include "support/reporter.hpp"

#include <catch2/catch.hpp>

#include <functional>

namespace rdmanet::test {

using Catch::Contains;

namespace {

constexpr const char* kDirectory = "/var/lib/rdmanet-test/state";
constexpr const char* kBootId = "/proc/sys/kernel/random/boot_id";

PluginCall kept(PluginCall call) {
    call.more_environment = {concat("RDMANET_STATE_DIR=", kDirectory)};
    return call;
}

std::string rdmanet(const std::string& arguments) {
    return shell(concat("RDMANET_STATE_DIR=", kDirectory, ' ', binary(), ' ', arguments));
}

/// A node that simulates a boot: it replaces kernel objects, namespaces and the boot ID.
class RebootingNode {
public:
    RebootingNode() { vfs.emplace(); }
    RebootingNode(const RebootingNode&) = delete;
    RebootingNode& operator=(const RebootingNode&) = delete;
    ~RebootingNode() { (void)succeeds(concat("umount ", kBootId, "; rm -rf /var/lib/rdmanet-test /tmp/boot_id")); }

    /// All pods must have ended. The administrator's script gives the first VF other settings than before.
    void reboot() {
        vfs.reset();
        shell(concat(reloading_nic(), " && { umount ", kBootId,
                     " 2>/dev/null; cat /proc/sys/kernel/random/uuid >/tmp/boot_id; mount --bind /tmp/boot_id ",
                     kBootId, "; }"));
        vfs.emplace();
        shell(concat("ip link set ", vfs->pf(), " vf 0 vlan 7 mac 02:00:00:00:00:77 && ip link set ", vfs->netdev(0),
                     " mtu 1450"));
    }

    std::optional<VfNode> vfs;
};

} // namespace

TEST_CASE("records of an earlier boot are removed, and this boot's VFs stay as they are", "[sriov][macvlan][gc][del]") {
    NEEDS(OtherNic::possible() && VfNode::possible(), "an SR-IOV RDMA NIC");
    RebootingNode node;
    const auto vf_call_of = [&](const Pod& pod) {
        return kept(
            vf_call(*node.vfs, pod, 0,
                    concat("'rdma':true,'vlan':100,'mtu':1300,'mac':'02:00:00:00:00:42',", ipam("10.115.0.0/29"))));
    };
    const auto child_call_of = [&](const Pod& pod) {
        return of(kept(call_for(pod, concat("'master':'", node.vfs->pf(), "',", ipam("10.115.0.0/29")))), "child");
    };
    const auto after_reboot = [&](const std::function<void(const PluginCall&, const PluginCall&)>& act) {
        PluginCall vf;
        PluginCall child;
        {
            const Pod pod("pod");
            vf = vf_call_of(pod);
            child = child_call_of(pod);
            child.ifname = "net2";
            (void)add(vf);
            (void)add(child);
        }
        node.reboot();
        const UnchangedNode booted;
        act(vf, child);
        CHECK(rdmanet("state --json | jq -c '[.attachments,.leases]'") == "[[],[]]\n");
        CHECK(booted.difference() == "");
    };
    after_reboot([](const PluginCall& vf, const PluginCall& child) {
        CHECK(del(vf) == "");
        CHECK(del(child) == "");
    });
    after_reboot([](const PluginCall&, const PluginCall&) {
        CHECK_THAT(rdmanet("gc"), Contains("container \"c1\"") && Contains("container \"child\""));
    });
    after_reboot([&](const PluginCall&, const PluginCall&) {
        const Pod pod("pod"); // has the path, and perhaps the inode, of a pod of the earlier boot
        const PluginCall next = of(vf_call_of(pod), "c2");
        const std::string result = add(next);
        CHECK(addresses(result) == "10.115.0.1/29");
        CHECK(check(next, result) == "");
        PluginCall child = child_call_of(pod); // the attachment in the journal
        child.ifname = "net2";
        CHECK(check(child, add(child)) == "");
        CHECK(del(child) == "");
        CHECK(del(next) == "");
    });
}

} // namespace rdmanet::test
