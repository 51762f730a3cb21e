// Interfaces without a device. The plugin host-device moves them too.
#include "attachment_stage.hpp"

#include "support/concat.hpp"
#include "support/names.hpp"
#include "support/netns_visit.hpp"
#include "support/reporter.hpp"

#include <rdmanet/base/deadline.hpp>
#include <rdmanet/base/error.hpp>
#include <rdmanet/base/unique_fd.hpp>
#include <rdmanet/kernel/link.hpp>
#include <rdmanet/kernel/netlink_socket.hpp>

#include <catch2/catch.hpp>

#include <linux/bpf.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string_view>

namespace rdmanet::test {

using Catch::Contains;
namespace fs = std::filesystem;

namespace {

constexpr const char* kMac = "02:00:00:00:00:51";

/// One end of a veth pair on the host.
struct VirtualStage {
    VirtualStage() {
        shell(concat("ip link add virt0 mtu 1450 address ", kMac,
                     " type veth peer name virtpeer0 && ip link property add dev virt0 altname virtual-zero && "
                     "ip link set virtpeer0 addrgenmode none && ip link set virt0 addrgenmode none && "
                     "ip link set virtpeer0 up && ip link set virt0 up promisc on"));
        wait_until_up("virt0");
        node.emplace();
    }
    VirtualStage(const VirtualStage&) = delete;
    VirtualStage& operator=(const VirtualStage&) = delete;
    ~VirtualStage() { (void)succeeds("ip link delete virtpeer0"); }

    Pod pod{"pod"};
    std::optional<UnchangedNode> node;
};

PluginCall moving(const Pod& pod, const std::string& members) {
    return call_for(pod, concat("'attach':'host-device',", members));
}

using base::InterfaceName;

kernel::Socket route_here() {
    return kernel::Socket::open(kernel::Protocol::route, base::Deadline::in(std::chrono::seconds{10}));
}

/// Sets the sizes of an interface in the calling thread's namespace. ip(8) knows these sizes since version 6.3. Does
/// nothing if the kernel lacks them.
void set_ipv4_sizes(const std::string& name, std::uint32_t gso, std::uint32_t gro) {
    kernel::Socket route = route_here();
    const auto link = kernel::find_link(route, InterfaceName::parse(name).value()).value();
    if (!link.tuning.gso_ipv4_max_size) return;
    kernel::LinkChange change;
    change.tuning.gso_ipv4_max_size = gso;
    change.tuning.gro_ipv4_max_size = gro;
    kernel::change_link(route, link.ifindex, change);
}

/// What a snapshot does not show.
std::string sizes_and_features(const std::string& name) {
    kernel::Socket route = route_here();
    const auto tuning = kernel::find_link(route, InterfaceName::parse(name).value()).value().tuning;
    return concat("gso_ipv4_max_size ", tuning.gso_ipv4_max_size.value_or(0), "\ngro_ipv4_max_size ",
                  tuning.gro_ipv4_max_size.value_or(0), '\n', shell(concat("ethtool -k ", name, " | grep -v fixed")));
}

/// A program that passes every packet, pinned in its own file system until the end of the scope.
class PinnedXdpProgram {
public:
    PinnedXdpProgram() {
        shell(concat("mkdir -p ", kDirectory, " && mount -t bpf bpf ", kDirectory));
        const bpf_insn program[] = {{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = XDP_PASS},
                                    {.code = BPF_JMP | BPF_EXIT}};
        bpf_attr load{};
        load.prog_type = BPF_PROG_TYPE_XDP;
        load.insns = reinterpret_cast<std::uintptr_t>(program);
        load.insn_cnt = 2;
        load.license = reinterpret_cast<std::uintptr_t>("GPL");
        const base::UniqueFd fd(static_cast<int>(::syscall(SYS_bpf, BPF_PROG_LOAD, &load, sizeof load)));
        if (!fd) throw base::SystemError("load an XDP program", errno);
        const std::string path = this->path();
        bpf_attr pin{};
        pin.pathname = reinterpret_cast<std::uintptr_t>(path.c_str());
        pin.bpf_fd = static_cast<std::uint32_t>(fd.get());
        if (::syscall(SYS_bpf, BPF_OBJ_PIN, &pin, sizeof pin) != 0) throw base::SystemError("pin it", errno);
    }
    PinnedXdpProgram(const PinnedXdpProgram&) = delete;
    PinnedXdpProgram& operator=(const PinnedXdpProgram&) = delete;
    ~PinnedXdpProgram() { (void)succeeds(concat("umount ", kDirectory)); }

    [[nodiscard]] static std::string path() { return concat(kDirectory, "/pass"); }

private:
    static constexpr const char* kDirectory = "/run/bpf-of-test";
};

/// The harness's virtio interface.
class VirtioInterface {
public:
    VirtioInterface() { shell("modprobe virtio_net"); }
    VirtioInterface(const VirtioInterface&) = delete;
    VirtioInterface& operator=(const VirtioInterface&) = delete;
    ~VirtioInterface() { (void)succeeds("modprobe -r virtio_net net_failover failover"); }

    /// The address of the PCI function. Empty on a machine without one.
    [[nodiscard]] static std::string address() {
        for (const auto& device : fs::directory_iterator("/sys/bus/pci/devices"))
            if (line_of(device.path() / "vendor") == "0x1af4" && line_of(device.path() / "class") == "0x020000")
                return device.path().filename();
        return {};
    }
};

} // namespace

TEST_CASE("a virtio interface moves into the pod by its name and by its PCI address", "[device][virtio]") {
    const char* guest = std::getenv("RDMANET_HARNESS_GUEST"); // elsewhere the machine itself may use it
    NEEDS(guest != nullptr && std::string_view(guest) == "1" && !VirtioInterface::address().empty(),
          "a virtio interface that may be unloaded");
    const Pod pod("pod");
    const VirtioInterface loaded;
    const std::string address = VirtioInterface::address();
    const std::string directory = concat("/sys/bus/pci/devices/", address);
    const std::string name = shell(concat("ls ", directory, "/virtio*/net | tr -d '\\n'"));
    const UnchangedNode node;
    for (const std::string& members : {concat("'device':'", name, '\''), concat("'deviceID':'", address, '\''),
                                       concat("'kernelpath':'", fs::canonical(directory).string(), '\'')}) {
        INFO(members);
        const PluginCall call = moving(pod, members);
        const std::string result = add(call);
        CHECK(value(result, "interfaces.0.pciID") == address);
        CHECK(check(call, result) == "");
        CHECK(del(call) == "");
        CHECK(node.difference() == "");
    }
}

TEST_CASE(
    "a virtual interface moves into the pod and returns as it was, whichever key names it, but not the default route's",
    "[device]") {
    const VirtualStage stage;
    for (const std::string name : {"'device':'virt0'", "'device':'virtual-zero'", "'hwaddr':'02:00:00:00:00:51'"}) {
        INFO(name);
        const PluginCall call =
            moving(stage.pod, concat(name, ",'mtu':1400,'mac':'02:00:00:00:00:52',", ipam("10.140.0.0/24")));
        const ProcessResult added = call.run();
        CHECK_THAT(added.err, Names("virt0", "virtual", "veth", "DEL"));
        CHECK(value(added.out, "interfaces.0.mac") == "02:00:00:00:00:52");
        CHECK(value(added.out, "interfaces.0.mtu") == "1400");
        CHECK_FALSE(succeeds("ip link show virt0"));
        CHECK_THAT(stage.pod.run("ip address show net1"),
                   Contains("10.140.0.1/24") && Contains("altname virtual-zero"));
        CHECK(check(call, added.out) == "");
        CHECK(del(call) == "");
        CHECK(stage.node->difference() == "");
    }
    shell("ip address add 10.141.0.1/24 dev virt0 && ip route add default via 10.141.0.2 metric 4000");
    CHECK_THAT(refusal(moving(stage.pod, "'device':'virt0'")), Names("default route"));
    shell("ip address flush dev virt0");
    CHECK(stage.node->difference() == "");
}

TEST_CASE("DEL undoes features and sizes that a pod set on a virtual interface", "[device][del][link-settings]") {
    const VirtualStage stage;
    // DEL restores what the administrator requested, and the driver derives the rest: without scatter-gather there is
    // no segmentation.
    shell("ethtool -K virt0 tx-sctp-segmentation off sg off && ip link set virt0 gso_max_size 50000");
    set_ipv4_sizes("virt0", 30000, 40000);
    const UnchangedNode node;
    const std::string before = sizes_and_features("virt0");
    for (const std::string spoil :
         {"ip link set net1 gso_max_size 20000 gro_max_size 20000", // also sets the sizes for IPv4
          "ip link set net1 gso_max_size 60000", "ethtool -K net1 sg on gro on tx-sctp-segmentation on tso off",
          "ethtool -K net1 tx off rx off"}) {
        INFO(spoil);
        const PluginCall call = moving(stage.pod, "'device':'virt0'");
        (void)add(call);
        stage.pod.run(spoil);
        if (spoil.find("60000") != std::string::npos) {
            const NetnsVisit visit(stage.pod.path());
            set_ipv4_sizes("net1", 1111, 2222);
        }
        const ProcessResult deleted = call.with_command("DEL").run();
        CHECK(deleted.exit_status == 0);
        CHECK(deleted.err == "");
        CHECK(node.difference() == "");
        CHECK(sizes_and_features("virt0") == before);
    }
}

TEST_CASE("DEL removes an XDP program that a pod attached, and keeps the host's", "[device][del][link-settings]") {
    const VirtualStage stage;
    const PinnedXdpProgram program;
    const PluginCall call = moving(stage.pod, "'device':'virt0'");
    (void)add(call);
    // `ip netns exec` hides mounts below /sys.
    const auto in_pod = [&](const std::string& command) {
        const NetnsVisit visit(stage.pod.path());
        shell(command);
    };
    in_pod(concat("ip link set net1 xdpgeneric pinned ", program.path()));
    CHECK_THAT(stage.pod.run("ip link show net1"), Contains("xdpgeneric"));
    CHECK(del(call) == "");
    CHECK(stage.node->difference() == "");

    shell(concat("ip link set virt0 xdpgeneric pinned ", program.path()));
    const UnchangedNode node;
    (void)add(call);
    CHECK(del(call) == "");
    CHECK(node.difference() == "");
    (void)add(call);
    in_pod("ip link set net1 xdpgeneric off");
    CHECK_THAT(call.with_command("DEL").run().err, Names("virt0", "XDP program", "attach it again"));
    CHECK(stage.node->difference() == "");
}

TEST_CASE("an alias that is not UTF-8 stays as it is", "[device][del]") {
    const VirtualStage stage;
    shell("printf 'caf\\351' >/sys/class/net/virt0/ifalias");
    const std::string before = shell("od -An -tx1 /sys/class/net/virt0/ifalias");
    const PluginCall call = moving(stage.pod, "'device':'virt0'");
    CHECK_THAT(call.run().err, Names("alias", "caf\\xe9", "UTF-8"));
    stage.pod.run("ip link set net1 mtu 1300");
    CHECK(del(call) == "");
    CHECK(shell("od -An -tx1 /sys/class/net/virt0/ifalias") == before);
    CHECK(shell("cat /sys/class/net/virt0/mtu") == "1450\n");
}

} // namespace rdmanet::test
