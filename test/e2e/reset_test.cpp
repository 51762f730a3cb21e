// Devices that are reset between two pods.
#include "containers.hpp"
#include "vf_stage.hpp"

#include "support/concat.hpp"
#include "support/names.hpp"
#include "support/patience.hpp"
#include "support/reporter.hpp"

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

std::string directory_of_vf(const VfNode& vfs, unsigned number) {
    return concat("/sys/bus/pci/devices/", vfs.vf(number));
}

const std::string kSettings = "'reset':true,'vlan':100,'mac':'02:00:00:00:00:42','mtu':1400";

} // namespace

TEST_CASE("a VF that is reset after its pod is clean, and as it was before", "[sriov][reset]") {
    NEEDS_VFS();
    const VfNode vfs;
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

TEST_CASE("DEL reports a reset that fails, and the next DEL resets", "[sriov][reset][del]") {
    NEEDS_VFS();
    const VfNode vfs;
    const Pod pod("pod");
    const UnchangedNode node(Numbers::ignored);
    const Function function = vf_function(vfs, 0);
    const std::string reset = concat(directory_of_vf(vfs, 0), "/reset");
    const PluginCall call = vf_call(vfs, pod, 0, kSettings);
    (void)add(call);
    function.soil();
    PluginCall failing = call.with_command("DEL");
    const Wrapper program("failing", concat("strace -f --seccomp-bpf -o /dev/null -P ", reset,
                                            " -e trace=write -e inject=write:error=EIO"));
    failing.program = program.path();
    CHECK_THAT(error_of(failing.run()),
               Names("code 108", "still held", "reset", vfs.vf(0), reset, "input/output error", "`dmesg`"));
    CHECK(del(call) == "");
    CHECK(function.is_clean());
    CHECK(node.difference() == "");
}

TEST_CASE("a VF that cannot be reset is refused, and also one that DEL could not reset after the last pod",
          "[sriov][reset]") {
    NEEDS_VFS();
    const VfStage stage;
    const Pod later("later");
    const Function function = vf_function(stage.vfs, 0);
    const UnchangedNode but_numbers(Numbers::ignored);
    const std::string directory = directory_of_vf(stage.vfs, 0);
    const PluginCall call = vf_call(stage.vfs, stage.pod, 0, kSettings);
    const std::string refused = stage.vfs.vf(0);
    // DEL could not reset the VF.
    Pod dead("dead");
    const PluginCall last = vf_call(stage.vfs, dead, 0, kSettings);
    (void)add(last);
    function.soil();
    const std::string methods = concat(directory, "/reset_method");
    shell(concat("echo >", methods));
    const std::string left = del(last);
    CHECK_THAT(left,
               Names("code 108", "still held", "reset", stage.vfs.vf(0), "switched off", "echo default >", "write 0"));
    CHECK_THAT(stage.vfs.settings(0), !Contains("vlan 100")); // everything else is as before
    CHECK(succeeds(concat("ip link show ", stage.vfs.netdev(0))));
    dead.destroy();
    const PluginCall next = of(vf_call(stage.vfs, later, 0), "c2");
    CHECK_THAT(refusal(next), Names(stage.vfs.vf(0), "reset of", "echo default >"));
    CHECK_FALSE(function.is_clean());
    shell(fix_in(left));
    (void)add(next);
    CHECK(function.is_clean());
    CHECK(del(next) == "");
    CHECK(but_numbers.difference() == "");

    const std::string pf = concat("/sys/class/net/", stage.vfs.pf(), "/device");
    const std::string no_flr = concat("/sys/kernel/debug/simrnic/", stage.vfs.pf(), "/vf_no_flr");
    shell(concat("echo Y >", no_flr));
    set_vfs(pf, 0);
    set_vfs(pf, 1);
    {
        const UnchangedNode node;
        CHECK_THAT(refusal(call), Names("code 102", refused, "no way", "/reset"));
        CHECK(node.difference() == "");
    }
    shell(concat("echo N >", no_flr));
}

TEST_CASE("a whole function is reset too, and DEL reports a changed number of /dev/infiniband", "[device][reset]") {
    NEEDS_VFS();
    const VfNode vfs("shared"); // in exclusive mode the move alone could change the number
    const Pod pod("pod");
    const Function function("rnic1p0/pf");
    const UnchangedNode node(Numbers::ignored);
    const PluginCall call = call_for(pod, "'attach':'host-device','deviceID':'0002:00:00.0','reset':true,'rdma':true");
    (void)add(call);
    function.soil();
    const std::string vfs_of_function = "/sys/bus/pci/devices/0002:00:00.0/sriov_numvfs";
    shell(concat("echo 1 >", vfs_of_function));
    const std::string said = del(call);
    CHECK_THAT(said, Names("code 108", "still held", "reset", "0002:00:00.0", "1 VF", "echo 0"));
    CHECK(shell(concat("cat ", vfs_of_function)) == "1\n");
    shell(fix_in(said));
    const std::string driver = "cd /sys/bus/pci/drivers/simrnic && echo 0001:00:00.0 >";
    shell(driver + "unbind"); // frees a lower number
    const ProcessResult done = call.with_command("DEL").run();
    CHECK(done.exit_status == 0);
    CHECK_THAT(done.err, Names("RDMA", "roce1p0", "/dev/infiniband/uverbs0", "driver", "uverbs1"));
    shell(driver + "bind");
    CHECK(rdma_parent() == vfs.pf()); // also sets the parent up again
    set_vfs(concat("/sys/class/net/", vfs.pf(), "/device"), 2);
    CHECK(function.is_clean());
    CHECK(node.difference() == "");
}

} // namespace rdmanet::test
