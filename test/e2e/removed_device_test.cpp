// Devices leave the machine, or lose their driver, while pods have them.
#include "golden.hpp"
#include "vf_stage.hpp"

#include "support/concat.hpp"
#include "support/other_nic.hpp"
#include "support/reporter.hpp"

#include <catch2/catch.hpp>

#include <optional>
#include <vector>

namespace rdmanet::test {

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
    const Vfs vfs;
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

} // namespace rdmanet::test
