// Devices that are reset between two pods.
#include "vf_stage.hpp"

#include "support/concat.hpp"
#include "support/names.hpp"

#include <catch2/catch.hpp>

#include <string>

namespace rdmanet::test {

using Catch::Contains;

namespace {

/// A function in the software NIC's debugfs.
class Function {
public:
    /// `name` is like "rnic0p0/vf1".
    explicit Function(const std::string& name) : directory_(concat("/sys/kernel/debug/simrnic/", name, '/')) {}

    /// Leaves something in the function, as a tenant's steering rules would.
    void soil() const { shell(concat("echo 7 >", directory_, "residue")); }
    [[nodiscard]] bool is_clean() const { return read("residue") == "0\n"; }
    /// Like "1, 0 under a driver".
    [[nodiscard]] std::string resets() const {
        return shell(concat("cd ", directory_, " && echo $(cat resets), $(cat resets_under_driver) under a driver"));
    }

private:
    [[nodiscard]] std::string read(const char* file) const { return shell(concat("cat ", directory_, file)); }

    std::string directory_;
};

Function vf_function(const VfNode& vfs, unsigned number) {
    return Function(concat(vfs.pf(), "/vf", number));
}

const std::string kSettings = "'reset':true,'vlan':100,'mac':'02:00:00:00:00:42','mtu':1400";

} // namespace

TEST_CASE("a VF that is reset after its pod is clean, and as it was before", "[sriov][reset]") {
    const Vfs vfs;
    const Function function = vf_function(vfs, 1);
    // After a reset the driver knows the MAC that the PF set, but not the VF's names on the host.
    shell(concat("ip link set ", vfs.pf(), " vf 1 vlan 7 mac 02:00:00:00:00:77 && cd /sys/bus/pci/drivers/simrnic && ",
                 "echo ", vfs.vf(1), " >unbind && echo ", vfs.vf(1), " >bind"));
    shell(concat("rdma dev set ", vfs.rdma(1), " name hostsname && ip link set ", vfs.netdev(1),
                 " mtu 1300 addrgenmode none name hostsvf && ip link set hostsvf up && ",
                 "ip link property add dev hostsvf altname uplink-one"));
    wait_until_up("hostsvf");
    const Pod pod("pod");
    const UnchangedNode node(Numbers::ignored); // binding a driver gives new numbers
    const PluginCall reset = vf_call(vfs, pod, 1, concat(kSettings, ",", ipam("10.130.0.0/24")));
    const PluginCall call = with(reset, "'rdma':{'name':'rdma0'}");
    const std::string result = add(call);
    function.soil();
    CHECK(check(call, result) == "");
    CHECK_FALSE(function.is_clean());
    CHECK(function.resets() == "0, 0 under a driver\n");
    CHECK(del(call) == "");
    CHECK(function.is_clean());
    CHECK(function.resets() == "1, 0 under a driver\n");
    CHECK(succeeds("rdma dev show hostsname"));
    CHECK(node.difference() == "");
    CHECK(del(call) == "");
    CHECK(function.resets() == "1, 0 under a driver\n");
    // First ADD fails before its first step, then with the VF in the pod.
    const std::string full = "'ipam':{'type':'rdmanet','range':'10.131.0.1/32','enable_l3':true}";
    PluginCall holder = of(vf_call(vfs, pod, 0, full), "c2");
    holder.ifname = "net2";
    (void)add(holder);
    CHECK_THAT(refusal(vf_call(vfs, pod, 1, concat(kSettings, ',', full))), Contains("code 104"));
    CHECK(del(holder) == "");
    CHECK(function.resets() == "1, 0 under a driver\n");
    function.soil();
    CHECK_THAT(refusal(with(reset, concat("'rdma':{'name':'", vfs.rdma(0), "'}"))), Names("another RDMA device"));
    CHECK(function.is_clean());
    CHECK(node.difference() == "");
}

} // namespace rdmanet::test
