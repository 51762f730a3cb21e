// Devices leave the machine, or lose their driver, while pods have them.
#include "golden.hpp"
#include "vf_stage.hpp"

#include "support/concat.hpp"
#include "support/infiniband_node.hpp"
#include "support/other_nic.hpp"
#include "support/reporter.hpp"

#include <catch2/catch.hpp>

#include <optional>
#include <vector>

namespace rdmanet::test {

using Catch::Contains;

namespace {

struct Loss {
    std::string name;
    std::string strike;
    std::string repair;
    bool collects; // whether GC comes instead of DEL
};

std::vector<Loss> losses() {
    const std::string driver = "/sys/bus/pci/drivers/simrnic/";
    return {{.name = "the driver is unloaded",
             .strike = "rmmod simrnic",
             .repair = concat("insmod ", std::getenv("RDMANET_HARNESS_MODULE"), " nics=2 ports=1 vfs=8"),
             .collects = true},
            {.name = "the driver is loaded anew", .strike = reloading_nic(), .repair = "true", .collects = false},
            {.name = "the PF loses its driver",
             .strike = concat("echo 0001:00:00.0 >", driver, "unbind"),
             .repair = concat("echo 0001:00:00.0 >", driver, "bind"),
             .collects = true},
            {.name = "the VFs are made anew",
             .strike = "cd /sys/bus/pci/devices/0001:00:00.0 && echo 0 >sriov_numvfs && echo 2 >sriov_numvfs",
             .repair = "echo 0 >/sys/bus/pci/devices/0001:00:00.0/sriov_numvfs",
             .collects = false}};
}

/// A VF and a macvlan child on its PF, each in a pod.
class Attached {
public:
    explicit Attached(const VfNode& vfs) : one_(std::in_place, "one"), other_(std::in_place, "other") {
        vf_ = vf_call(vfs, *one_, 0, concat("'rdma':true,'vlan':100,'trust':'on',", ipam("10.116.0.0/24")));
        child_ = of(call_for(*other_, concat("'master':'", vfs.pf(), "',", ipam("10.116.0.0/24"))), "c2");
        result_ = add(vf_);
        (void)add(child_);
    }

    [[nodiscard]] std::string check_vf() const { return check(vf_, result_); }
    [[nodiscard]] std::string del_all() const { return concat(del(vf_), del(child_)); }

    [[nodiscard]] std::string collect() {
        one_.reset();
        other_.reset();
        const ProcessResult result = run_process({binary(), "gc"});
        return result.exit_status == 0 ? "" : concat(result.out, result.err);
    }

private:
    std::optional<Pod> one_;
    std::optional<Pod> other_;
    PluginCall vf_;
    std::string result_;
    PluginCall child_;
};

void keep_check_of_gone_device(const std::string& said) {
    Golden golden("CHECK of a VF that is gone");
    golden.add(said);
    CHECK(golden.difference() == "");
}

} // namespace

TEST_CASE("after a device left the machine DEL, GC and the next pod still work", "[sriov][macvlan][del][gc]") {
    NEEDS(OtherNic::possible() && VfNode::possible(), "an SR-IOV RDMA NIC");
    const VfNode vfs;
    const std::vector<Loss> all = losses();
    for (const Loss& loss : all) {
        INFO(loss.name);
        {
            Attached attached(vfs);
            shell(loss.strike);
            if (&loss == &all.front()) keep_check_of_gone_device(attached.check_vf());
            CHECK((loss.collects ? attached.collect() : attached.del_all()) == "");
        }
        CHECK(shell(concat(binary(), " state --json | jq -c '[.attachments,.leases]'")) == "[[],[]]\n");
        shell(loss.repair);
        CHECK(rdma_parent() == vfs.pf());
        shell(concat("echo 2 >/sys/class/net/", vfs.pf(), "/device/sriov_numvfs"));
        const UnchangedNode node;
        CHECK(Attached(vfs).del_all() == "");
        CHECK(node.difference() == "");
    }
}

TEST_CASE("after a whole function and a sub-function lost their drivers DEL, GC and the next pods still work",
          "[device][subfunction][del][gc]") {
    NEEDS(OtherNic::possible(), "a NIC with sub-functions");
    const OtherNic nic("nics=2 vfs=1 sfs=1");
    const VfNode mode("exclusive", 0);
    const std::string function = "0002:00:00.0";
    const auto attached = [&](const Pod& pod) {
        std::vector<PluginCall> calls;
        for (const std::string& device : {function, std::string("simrnic.sf.0")}) {
            calls.push_back(call_for(pod, concat("'attach':'host-device','rdma':true,'mtu':1400,'deviceID':'", device,
                                                 "',", ipam("10.118.0.0/24"))));
            calls.back().ifname = concat("net", calls.size());
            (void)add(calls.back());
        }
        return calls;
    };
    const auto tell_driver = [&](const char* file) {
        for (const std::string& card : {std::string("0001:00:00.0"), function})
            shell(concat("echo ", card, " >/sys/bus/pci/drivers/simrnic/", file));
    };
    const UnchangedNode node(Numbers::ignored);
    for (const bool collects : {false, true}) { // the second round also shows that the next pods work
        INFO((collects ? "GC" : "DEL"));
        std::optional<Pod> pod(std::in_place, "pod");
        const auto calls = attached(*pod);
        tell_driver("unbind");
        if (collects) {
            pod.reset();
            CHECK_THAT(shell(concat(binary(), " gc")),
                       Contains("interface \"net1\"") && Contains("interface \"net2\""));
        } else {
            CHECK(concat(del(calls[0]), del(calls[1])) == "");
        }
        tell_driver("bind");
        CHECK(rdma_parent() == mode.pf()); // also sets the parent up again
    }
    CHECK(node.difference() == "");
}

TEST_CASE("after an InfiniBand PF lost its driver DEL, GC and the next pods still work",
          "[infiniband][ipoib][del][gc]") {
    NEEDS(OtherNic::possible(), "an InfiniBand card");
    const InfinibandNode infiniband("exclusive");
    const std::string pf = "0001:00:00.0";
    const auto attached = [&](const Pod& one, const Pod& other) {
        const std::string parent = InfinibandNode::netdev(pf);
        const PluginCall vf =
            call_for(one, concat("'deviceID':'", InfinibandNode::vf(0),
                                 "','rdma':true,'guid':'02:00:00:00:00:00:00:99',", ipam("10.117.0.0/24")));
        const PluginCall child = of(
            call_for(other, concat("'attach':'ipoib','master':'", parent, "','pkey':'0x8001',", ipam("10.117.0.0/24"))),
            "c2");
        (void)add(vf);
        (void)add(child);
        return std::pair(vf, child);
    };
    infiniband.make_vfs(1);
    const UnchangedNode node(Numbers::ignored);
    for (const bool collects : {false, true}) { // the second round also shows that the next pods work
        INFO((collects ? "GC" : "DEL"));
        std::optional<Pod> one(std::in_place, "one");
        std::optional<Pod> other(std::in_place, "other");
        const auto [vf, child] = attached(*one, *other);
        shell(concat("echo ", pf, " >/sys/bus/pci/drivers/simrnic/unbind"));
        if (collects) {
            one.reset();
            other.reset();
            CHECK_THAT(shell(concat(binary(), " gc")), Contains("container \"c1\"") && Contains("container \"c2\""));
        } else {
            CHECK(concat(del(vf), del(child)) == "");
        }
        shell(concat("echo ", pf, " >/sys/bus/pci/drivers/simrnic/bind"));
        const std::string parent = InfinibandNode::netdev(pf);
        ip_batch(concat("link set ", parent, " addrgenmode none\nlink set ", parent, " up\n"));
        wait_until_up(parent);
        infiniband.make_vfs(1);
    }
    CHECK(node.difference() == "");
}

} // namespace rdmanet::test
