// The way between NICs and accelerators, what happens at boot, and what other programs on the node say.
#include "machine.hpp"

#include "kernel_messages.hpp"

#include <chrono>

namespace rdmanet::doctor {
namespace {

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

TEST_CASE("a NIC beside a GPU needs an IOMMU that does not translate, and nvidia_peermem or DMA-BUF") {
    Machine machine;
    machine.write(std::string(kNic) + "/iommu_group/type", "DMA-FQ");
    for (const char* check : {"iommu", "peer-memory"}) CHECK(machine.found_by(check).empty()); // without a GPU
    add_gpu(machine);
    machine.must_find("iommu", "a GPU, and an IOMMU that translates", "| 0000:3b:00.0 | ", "iommu.passthrough=1");
    machine.write(std::string(kNic) + "/iommu_group/type", "identity");
    CHECK(machine.found_by("iommu").empty());
    machine.must_find("peer-memory", "a GPU of NVIDIA without nvidia_peermem");
    machine.make("sys/module/nvidia_peermem");
    CHECK(machine.found_by("peer-memory").empty());
}

TEST_CASE(
    "a PCIe switch that redirects slows down the NIC and the GPU below it, if its configuration space can be read") {
    Machine machine;
    add_gpu(machine);
    write_acs(machine, "sys/bus/pci/devices/0000:3c:04.0", 0);
    write_acs(machine, kPort, 0x01); // source validation only
    CHECK(machine.found_by("acs").empty());
    write_acs(machine, kPort, 0x1d);
    machine.must_find("acs", "a switch with redirection between NIC and GPU", "| 0000:3b:00.0 | ",
                      "0000:3c:08.0 redirects", "`setpci -s 0000:3c:08.0 ECAP_ACS+0x6.w=0`");
    const auto path = std::exchange(machine.inventory.others.front().path, {"pci0000:80", "0000:80:01.0"}); // elsewhere
    CHECK(machine.found_by("acs").empty());
    machine.inventory.others.front().path = path;
    for (const std::string bridge : {"sys/bus/pci/devices/0000:3c:04.0", kPort})
        machine.write(bridge + "/config", std::string(64, '\0')); // as another user than root reads it
    CHECK_THAT(machine.why_not("acs"), Has("0000:3c:04.0", "CAP_SYS_ADMIN"));
}

TEST_CASE("a module that somebody loaded by hand is not there after the next boot") {
    const Machine machine;
    CHECK(machine.found_by("modules-at-boot").empty());
    machine.remove("usr/lib/udev/rules.d");
    machine.must_find("modules-at-boot", "a node without the package rdma-core", "package rdma-core");
    machine.write("etc/modules-load.d/rdma.conf", "# rdma_ucm\n; rdma_ucm");
    CHECK_THAT(machine.found_by("modules-at-boot"), Has("warning"));
    machine.write("etc/modules-load.d/rdma.conf", "ib_uverbs\n rdma-ucm ");
    CHECK(machine.found_by("modules-at-boot").empty());
}

TEST_CASE("drivers of a container are worth knowing") {
    const Machine machine;
    machine.make("run/mellanox/drivers");
    CHECK(machine.found_by("driver-container").empty());
    machine.make("run/mellanox/drivers/usr");
    machine.must_find("driver-container", "a driver container of the NVIDIA network operator", "drain the node");
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
    CHECK_THAT(machine.found_by("lanes"), Has("one lane"));
    ports.front().rate = "25 Gb/sec (1X EDR)";
    machine.must_find("lanes", "a cable with one lane of four", "port 1 of mlx5_0");
}

TEST_CASE("a network service that manages a VF is a warning") {
    Machine machine;
    machine.nic().pf = base::PciAddress::parse("0000:3b:00.1").value();
    machine.inventory.devices.front().net.push_back({.place = 0, .name = "ens1f0v0", .ifindex = 7});
    machine.write("run/NetworkManager/devices/7", "[device]\nmanaged=false");
    machine.write("run/systemd/netif/links/7", "ADMIN_STATE=unmanaged\nOPER_STATE=off");
    CHECK(machine.found_by("network-service").empty());
    machine.write("run/systemd/netif/links/7", "ADMIN_STATE=configured\nOPER_STATE=routable");
    CHECK_THAT(machine.found_by("network-service"), Has("systemd-networkd manages 1 VF (the first: ens1f0v0)"));
    machine.remove("run/systemd/netif/links/7");
    machine.write("run/NetworkManager/devices/7", "[device]\nmanaged=true");
    machine.must_find("network-service", "NetworkManager has a VF on the host",
                      "`nmcli device set ens1f0v0 managed no`");
}

TEST_CASE("the plugin must be where the runtime looks") {
    const Machine machine;
    CHECK(machine.found_by("plugin").empty()); // no runtime, no directory
    machine.make("opt/cni/bin");
    machine.must_find("plugin", "a node that never had the plugin");
    machine.make("etc/containerd");
    machine.write("opt/cni/bin/rdmanet", "another program");
    machine.allow("opt/cni/bin/rdmanet");
    machine.must_find("plugin", "the plugin is of another version");
    machine.write("etc/containerd/config.toml", "# bin_dir = \"/nowhere\"\n  [cni]\n    bin_dir = \"/opt/cni/bin\"");
    CHECK_THAT(machine.found_by("plugin"), !Has("failure"));
    machine.write("etc/containerd/config.toml", "bin_dirs = [\n  \"/usr/lib/cni\",\n  \"/usr/local/cni/\"\n]");
    machine.must_find("plugin", "containerd looks in another directory",
                      "`install -m 755 rdmanet /usr/lib/cni/rdmanet.new && mv ");
    machine.write("usr/local/cni/rdmanet", "another program");
    machine.allow("usr/local/cni/rdmanet");
    CHECK_THAT(machine.found_by("plugin"), Has("/usr/local/cni/rdmanet is another version"));
    machine.write("etc/containerd/config.toml",
                  "bin_dir = ''\nbin_dirs = ['/opt/cni/bin'] # not \"/nowhere\"\nbin_dir = \"relative\"");
    CHECK_THAT(machine.found_by("plugin"), Has("/opt/cni/bin/rdmanet is another version"));
    machine.write("etc/containerd/config.toml", "bin_dir = '/opt/a;reboot'");
    CHECK_THAT(machine.found_by("plugin"), Has("rdmanet '/opt/a;reboot/rdmanet'.new"));
    machine.write("etc/crio/crio.conf.d/10-cni.conf", "plugin_dirs = [\"/opt/cni/bin\"]");
    CHECK_THAT(machine.found_by("plugin"), Has("/opt/cni/bin/rdmanet is another version"));
}

TEST_CASE("a module that the kernel refused matters if one for RDMA is missing") {
    const Machine machine;
    machine.write("dev/kmsg", "5,7,1000,-;Loading of unsigned module is rejected");
    CHECK_THAT(machine.found_by("module-signatures"), Has("info | ", "none for RDMA"));
    machine.remove("sys/module/rdma_ucm");
    machine.must_find("module-signatures", "Secure Boot refuses a module, and rdma_ucm is missing", "mokutil");
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
    CHECK_THAT(machine.why_not("port-state"), Has("no RDMA device"));
    CHECK(machine.why_not("rdma-devices").empty());
}

TEST_CASE("what SELinux refused is in the audit log") {
    const Machine machine;
    machine.write("var/log/audit/audit.log",
                  "type=AVC msg=audit(1700000000.1:7): avc:  denied  { read } for  pid=9 comm=\"other\" name=\"x\"");
    machine.write("dev/kmsg", "");
    CHECK(machine.found_by("denials").empty());
    machine.write("var/log/audit/audit.log",
                  "type=AVC msg=audit(1700000000.1:8): avc:  denied  { read } for pid=9 comm=\"rdmanet\" permissive=1");
    CHECK(machine.found_by("denials").empty()); // it was not refused
    machine.write("var/log/audit/audit.log",
                  "type=AVC msg=audit(1700000000.1:8): avc:  denied  { mounton } for  pid=9 comm=\"rdmanet\" "
                  "path=\"/run/netns\"");
    CHECK_THAT(machine.found_by("denials"), Has("warning | ", "SELinux refused", "mounton", "restorecon"));
    machine.write("proc/stat", "cpu  1 2\nbtime 1700000001");
    CHECK(machine.found_by("denials").empty()); // before this boot
}

} // namespace
} // namespace rdmanet::doctor
