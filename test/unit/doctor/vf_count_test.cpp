// NICs that can have no VFs, or some that nobody or nothing created.
#include "machine.hpp"

namespace rdmanet::doctor {
namespace {

using Catch::Contains;

constexpr const char* kDirectory = "sys/bus/pci/devices/0000:3b:00.0";

/// A node in mode exclusive whose NIC has no VFs.
class Exclusive : public Machine {
public:
    Exclusive() {
        inventory.rdma_system->netns_mode = kernel::RdmaNetnsMode::exclusive;
        make(kDirectory);
    }
    void allow_vfs(const std::string& count) const { write(std::string(kDirectory) + "/sriov_totalvfs", count); }
};

} // namespace

TEST_CASE("a NIC without the SR-IOV capability keeps a node in mode exclusive from having VFs") {
    Exclusive machine;
    const std::string found = machine.found_by("vf-count"); // firmware with SRIOV_EN=0: the kernel makes no file
    CHECK_THAT(found, Contains("info | 0000:3b:00.0 | ") &&
                          Contains("`mlxconfig -d 0000:3b:00.0 set SRIOV_EN=1 NUM_OF_VFS=8`"));
    CHECK(is_documented("vf-count", "firmware with SR-IOV off", found));
    SECTION("the driver allows none") {
        machine.allow_vfs("0");
    }
    SECTION("another vendor, whose functions may not be able to have VFs") {
        machine.nic().vendor = 0x14e4;
    }
    SECTION("a VF") {
        machine.nic().pf = base::PciAddress::parse("0000:3b:00.7");
    }
    SECTION("another PF has VFs") {
        machine.inventory.devices.push_back(machine.inventory.devices.front());
        machine.inventory.devices.back().pci->vfs = 2;
    }
    SECTION("a virtual machine") {
        machine.make("proc");
        // of many processors: more than files of the host may have elsewhere
        machine.write("proc/cpuinfo",
                      "processor : 0\nflags\t\t: fpu rdtscp hypervisor lm\n" + std::string(300'000, '\n'));
    }
    SECTION("mode shared") {
        machine.inventory.rdma_system->netns_mode = kernel::RdmaNetnsMode::shared;
    }
    CHECK(machine.found_by("vf-count").empty());
}

TEST_CASE("a processor without a hypervisor is that of a real machine") {
    const Exclusive machine;
    machine.make("proc");
    machine.write("proc/cpuinfo", "model name : hypervisor\nflags\t\t: fpu rdtscp lm");
    CHECK_FALSE(machine.found_by("vf-count").empty());
}

TEST_CASE("VFs that the kernel could not create are a warning until they are there") {
    Machine machine;
    machine.make("dev");
    const auto log = [&](const std::string& address) {
        machine.write("dev/kmsg", "4,7,1000,-;mlx5_core " + address + ": not enough MMIO resources for SR-IOV");
    };
    log("0000:3b:00.0");
    CHECK_THAT(machine.found_by("vf-room"), Contains("warning | 0000:3b:00.0 | ") && Contains("or create fewer VFs"));
    SECTION("a later attempt has created some") {
        machine.nic().vfs = 2;
    }
    SECTION("a function that is no NIC") {
        log("0000:01:00.0");
    }
    CHECK(machine.found_by("vf-room").empty());
}

TEST_CASE("VFs that nobody created are worth knowing only if no PF has some") {
    Exclusive machine;
    machine.allow_vfs("8");
    machine.nic().most_vfs = 8;
    const auto second = base::PciAddress::parse("0000:af:00.0").value();
    machine.inventory.devices.push_back(machine.inventory.devices.front());
    machine.inventory.devices.back().address = second;
    machine.inventory.devices.back().pci->address = second;
    machine.make("sys/bus/pci/devices/0000:af:00.0");
    machine.write("sys/bus/pci/devices/0000:af:00.0/sriov_totalvfs", "8");
    CHECK(machine.found_by("vf-count") ==
          "info | 0000:3b:00.0 | no PF of this node has VFs, although its RDMA mode is exclusive; the firmware of this "
          "one allows 8 | "
          "`echo N >/sys/bus/pci/devices/0000:3b:00.0/sriov_numvfs`, and at each boot; N is the number of pods that "
          "run at once, up to 8; nothing, if pods get whole PFs\n");
    machine.inventory.devices.back().pci->vfs = 2;
    CHECK(machine.found_by("vf-count").empty());
}

TEST_CASE("a PF that a pod has as a whole needs no VFs") {
    Exclusive machine;
    machine.allow_vfs("8");
    machine.nic().most_vfs = 8;
    machine.inventory.namespaces.push_back({.inode = 2, .path = "/proc/2/ns/net", .pid = 2});
    machine.inventory.devices.front().rdma.front().place = 1;
    CHECK(machine.found_by("vf-count").empty());
}

} // namespace rdmanet::doctor
