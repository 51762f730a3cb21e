// The way between NICs and accelerators, what happens at boot, and what other programs on the node say.
#include "machine.hpp"

#include "kernel_messages.hpp"

#include <chrono>

namespace rdmanet::doctor {
namespace {

using Catch::Contains;

constexpr const char* kNic = "sys/bus/pci/devices/0000:3b:00.0";
constexpr const char* kPort = "sys/bus/pci/devices/0000:3c:08.0"; // of the switch, above the GPU

/// A GPU and the NIC below one switch: "3a:00.0" is the root port, "3b:00.0" the upstream port.
void add_gpu(Machine& machine) {
    const auto address = base::PciAddress::parse("0000:3d:00.0").value();
    machine.nic().path = {"pci0000:3a", "0000:3a:00.0", "0000:3b:00.0", "0000:3c:04.0"};
    machine.inventory.others.push_back({.address = address,
                                        .vendor = 0x10de,
                                        .class_code = 0x030200,
                                        .driver = "nvidia",
                                        .most_link_width = 16,
                                        .path = {"pci0000:3a", "0000:3a:00.0", "0000:3b:00.0", "0000:3c:08.0"}});
}

/// The configuration space of a bridge: a capability of another kind, then Access Control Services.
void write_acs(const Machine& machine, const std::string& bridge, char control) {
    constexpr std::size_t kSize = 4096;
    std::string space(kSize, '\0');
    space.replace(0x100, 4, std::string("\x01\x00\x01\x14", 4)); // AER, the next one is at 0x140
    space.replace(0x140, 8, std::string("\x0d\x00\x01\x00\x1f\x00", 6) + control + std::string(1, '\0'));
    machine.make(bridge);
    machine.write(bridge + "/config", space);
}

TEST_CASE("an IOMMU that translates slows down a NIC beside a GPU") {
    Machine machine;
    machine.make(std::string(kNic) + "/iommu_group");
    machine.write(std::string(kNic) + "/iommu_group/type", "DMA-FQ");
    CHECK(machine.found_by("iommu").empty()); // without a GPU it does not matter
    add_gpu(machine);
    CHECK_THAT(machine.found_by("iommu"),
               Contains("warning | 0000:3b:00.0 | ") && Contains("type DMA-FQ") && Contains("iommu.passthrough=1"));
    CHECK(is_documented("iommu", "a GPU, and an IOMMU that translates", machine.found_by("iommu")));
    machine.write(std::string(kNic) + "/iommu_group/type", "identity");
    CHECK(machine.found_by("iommu").empty());
}

TEST_CASE("a PCIe switch that redirects slows down the NIC and the GPU below it") {
    Machine machine;
    add_gpu(machine);
    write_acs(machine, "sys/bus/pci/devices/0000:3c:04.0", 0);
    write_acs(machine, kPort, 0x01); // source validation only
    CHECK(machine.found_by("acs").empty());
    write_acs(machine, kPort, 0x1d);
    CHECK_THAT(machine.found_by("acs"), Contains("warning | 0000:3b:00.0 | ") && Contains("0000:3c:08.0 redirects") &&
                                            Contains("`setpci -s 0000:3c:08.0 ECAP_ACS+0x6.w=0`"));
    CHECK(is_documented("acs", "a switch with redirection between NIC and GPU", machine.found_by("acs")));
    machine.inventory.others.front().path = {"pci0000:80", "0000:80:01.0"}; // elsewhere
    CHECK(machine.found_by("acs").empty());
}

TEST_CASE("without the extended configuration space nobody knows of redirection") {
    Machine machine;
    add_gpu(machine);
    for (const std::string bridge : {"sys/bus/pci/devices/0000:3c:04.0", kPort}) {
        machine.make(bridge);
        machine.write(bridge + "/config", std::string(64, '\0')); // as another user than root reads it
    }
    CHECK_THAT(machine.why_not("acs"), Contains("0000:3c:04.0") && Contains("CAP_SYS_ADMIN"));
}

TEST_CASE("a GPU without nvidia_peermem needs DMA-BUF") {
    Machine machine;
    CHECK(machine.found_by("peer-memory").empty());
    add_gpu(machine);
    CHECK_THAT(machine.found_by("peer-memory"), Contains("info") && Contains("DMA-BUF"));
    CHECK(is_documented("peer-memory", "a GPU of NVIDIA without nvidia_peermem", machine.found_by("peer-memory")));
    machine.make("sys/module/nvidia_peermem");
    CHECK(machine.found_by("peer-memory").empty());
}

TEST_CASE("a module that somebody loaded by hand is not there after the next boot") {
    const Machine machine;
    CHECK(machine.found_by("modules-at-boot").empty());
    machine.remove("usr/lib/udev/rules.d");
    CHECK_THAT(machine.found_by("modules-at-boot"), Contains("warning") && Contains("package rdma-core"));
    CHECK(
        is_documented("modules-at-boot", "a node without the package rdma-core", machine.found_by("modules-at-boot")));
    machine.make("etc/modules-load.d");
    machine.write("etc/modules-load.d/rdma.conf", "# rdma_ucm\n; rdma_ucm");
    CHECK_THAT(machine.found_by("modules-at-boot"), Contains("warning"));
    machine.write("etc/modules-load.d/rdma.conf", "ib_uverbs\n rdma-ucm ");
    CHECK(machine.found_by("modules-at-boot").empty());
}

TEST_CASE("drivers of a container are worth knowing") {
    const Machine machine;
    machine.make("run/mellanox/drivers");
    CHECK(machine.found_by("driver-container").empty());
    machine.make("run/mellanox/drivers/usr");
    CHECK_THAT(machine.found_by("driver-container"), Contains("info") && Contains("drain the node"));
    CHECK(is_documented("driver-container", "a driver container of the NVIDIA network operator",
                        machine.found_by("driver-container")));
}

TEST_CASE("an InfiniBand cable with one lane is a warning") {
    Machine machine;
    auto& ports = machine.inventory.devices.front().rdma.front().ports;
    ports.push_back({.number = 1,
                     .state = kernel::PortState::active,
                     .physical_state = "LinkUp",
                     .link_layer = "InfiniBand",
                     .rate = "100 Gb/sec (4X EDR)"});
    CHECK(machine.found_by("lanes").empty());
    ports.front().rate = "2.5 Gb/sec (1X)";
    CHECK_THAT(machine.found_by("lanes"), Contains("one lane"));
    ports.front().rate = "25 Gb/sec (1X EDR)";
    CHECK_THAT(machine.found_by("lanes"), Contains("warning") && Contains("port 1 of mlx5_0") && Contains("cable"));
    CHECK(is_documented("lanes", "a cable with one lane of four", machine.found_by("lanes")));
}

TEST_CASE("a network service that manages a VF is a warning") {
    Machine machine;
    machine.nic().pf = base::PciAddress::parse("0000:3b:00.1").value();
    machine.inventory.devices.front().net.push_back({.place = 0, .name = "ens1f0v0", .ifindex = 7});
    machine.make("run/NetworkManager/devices");
    machine.make("run/systemd/netif/links");
    machine.write("run/NetworkManager/devices/7", "[device]\nmanaged=false");
    machine.write("run/systemd/netif/links/7", "ADMIN_STATE=unmanaged\nOPER_STATE=off");
    CHECK(machine.found_by("network-service").empty());
    machine.write("run/systemd/netif/links/7", "ADMIN_STATE=configured\nOPER_STATE=routable");
    CHECK_THAT(machine.found_by("network-service"), Contains("systemd-networkd manages 1 VF (the first: ens1f0v0)"));
    machine.remove("run/systemd/netif/links/7");
    machine.write("run/NetworkManager/devices/7", "[device]\nmanaged=true");
    CHECK_THAT(machine.found_by("network-service"), Contains("`nmcli device set ens1f0v0 managed no`"));
    CHECK(is_documented("network-service", "NetworkManager has a VF on the host", machine.found_by("network-service")));
}

TEST_CASE("the plugin must be where the runtime looks") {
    const Machine machine;
    CHECK(machine.found_by("plugin").empty()); // no runtime, no directory
    machine.make("opt/cni/bin");
    CHECK(is_documented("plugin", "a node that never had the plugin", machine.found_by("plugin")));
    machine.make("etc/containerd");
    machine.write("opt/cni/bin/rdmanet", "another program");
    machine.allow("opt/cni/bin/rdmanet");
    CHECK_THAT(machine.found_by("plugin"), Contains("info") && Contains("another version"));
    CHECK(is_documented("plugin", "the plugin is of another version", machine.found_by("plugin")));
    machine.write("etc/containerd/config.toml", "# bin_dir = \"/nowhere\"\n  [cni]\n    bin_dir = \"/opt/cni/bin\"");
    CHECK_THAT(machine.found_by("plugin"), !Contains("failure"));
    machine.write("etc/containerd/config.toml", "bin_dirs = [\n  \"/usr/lib/cni\",\n  \"/usr/local/cni/\"\n]");
    CHECK_THAT(machine.found_by("plugin"),
               Contains("failure") && Contains("in /usr/lib/cni, /usr/local/cni/ (/etc/containerd/config.toml)") &&
                   Contains("rdmanet is in /opt/cni/bin") &&
                   Contains("`install -m 755 rdmanet /usr/lib/cni/rdmanet.new && mv "));
    CHECK(is_documented("plugin", "containerd looks in another directory", machine.found_by("plugin")));
    machine.make("usr/local/cni");
    machine.write("usr/local/cni/rdmanet", "another program");
    machine.allow("usr/local/cni/rdmanet");
    CHECK_THAT(machine.found_by("plugin"), Contains("/usr/local/cni/rdmanet is another version"));
    machine.write("etc/containerd/config.toml",
                  "bin_dir = ''\nbin_dirs = ['/opt/cni/bin'] # not \"/nowhere\"\nbin_dir = \"relative\"");
    CHECK_THAT(machine.found_by("plugin"), Contains("/opt/cni/bin/rdmanet is another version"));
    machine.write("etc/containerd/config.toml", "bin_dir = '/opt/a;reboot'");
    CHECK_THAT(machine.found_by("plugin"), Contains("rdmanet '/opt/a;reboot/rdmanet'.new"));
    machine.make("etc/crio/crio.conf.d");
    machine.write("etc/crio/crio.conf.d/10-cni.conf", "plugin_dirs = [\"/opt/cni/bin\"]");
    CHECK_THAT(machine.found_by("plugin"), Contains("/opt/cni/bin/rdmanet is another version"));
}

TEST_CASE("a module that the kernel refused matters if one for RDMA is missing") {
    const Machine machine;
    machine.make("dev");
    machine.write("dev/kmsg", "5,7,1000,-;Loading of unsigned module is rejected");
    CHECK_THAT(machine.found_by("module-signatures"), Contains("info | ") && Contains("none for RDMA"));
    machine.remove("sys/module/rdma_ucm");
    CHECK_THAT(machine.found_by("module-signatures"), Contains("warning | ") && Contains("mokutil"));
    CHECK(is_documented("module-signatures", "Secure Boot refuses a module, and rdma_ucm is missing",
                        machine.found_by("module-signatures")));
}

TEST_CASE("a record of the kernel's log has a time and a text") {
    const KernelMessage message = parse_kernel_message("6,339,5140900,-;mlx5_core: up; and ready\n SUBSYSTEM=pci\n");
    CHECK(message.time == std::chrono::microseconds(5140900));
    CHECK(message.text == "mlx5_core: up; and ready");
    CHECK(parse_kernel_message("6,339;text").text == "text");
    CHECK(parse_kernel_message("no record").text.empty());
    CHECK(parse_kernel_message("").text.empty());
}

TEST_CASE("without an RDMA device nothing of it is called right") {
    Machine machine;
    machine.inventory.devices.front().rdma.clear();
    CHECK_THAT(machine.why_not("port-state"), Contains("no RDMA device"));
    CHECK(machine.why_not("rdma-devices").empty());
}

TEST_CASE("what SELinux refused is in the audit log") {
    const Machine machine;
    machine.make("var/log/audit");
    machine.write("var/log/audit/audit.log",
                  "type=AVC msg=audit(1700000000.1:7): avc:  denied  { read } for  pid=9 comm=\"other\" name=\"x\"");
    machine.make("dev");
    machine.write("dev/kmsg", "");
    CHECK(machine.found_by("denials").empty());
    machine.write("var/log/audit/audit.log",
                  "type=AVC msg=audit(1700000000.1:8): avc:  denied  { read } for pid=9 comm=\"rdmanet\" permissive=1");
    CHECK(machine.found_by("denials").empty()); // it was not refused
    machine.write("var/log/audit/audit.log",
                  "type=AVC msg=audit(1700000000.1:8): avc:  denied  { mounton } for  pid=9 comm=\"rdmanet\" "
                  "path=\"/run/netns\"");
    CHECK_THAT(machine.found_by("denials"),
               Contains("warning | ") && Contains("SELinux refused") && Contains("mounton") && Contains("restorecon"));
    machine.make("proc");
    machine.write("proc/stat", "cpu  1 2\nbtime 1700000001");
    CHECK(machine.found_by("denials").empty()); // before this boot
}

} // namespace
} // namespace rdmanet::doctor
