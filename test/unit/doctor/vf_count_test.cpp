// Firmware that allows no VFs, or allows some that nobody created.
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

TEST_CASE("firmware without SR-IOV keeps a node in mode exclusive from having VFs") {
    Exclusive machine;
    CHECK(machine.found_by("vf-count").empty()); // a function that cannot have VFs, or a virtual machine
    machine.allow_vfs("0");
    const std::string found = machine.found_by("vf-count");
    CHECK_THAT(found, Contains("info | 0000:3b:00.0 | ") &&
                          Contains("`mlxconfig -d 0000:3b:00.0 set SRIOV_EN=1 NUM_OF_VFS=8`"));
    CHECK(is_documented("vf-count", "firmware with SR-IOV off", found));
    machine.nic().vendor = 0x14e4;
    CHECK_THAT(machine.found_by("vf-count"), Contains("the vendor's tool") && !Contains("mlxconfig"));
    machine.inventory.rdma_system->netns_mode = kernel::RdmaNetnsMode::shared;
    CHECK(machine.found_by("vf-count").empty());
}

TEST_CASE("VFs that nobody created are worth knowing only if no PF has some") {
    Exclusive machine;
    machine.allow_vfs("8");
    machine.nic().most_vfs = 8;
    const auto second = base::PciAddress::parse("0000:af:00.0").value();
    machine.inventory.devices.push_back(machine.inventory.devices.front());
    machine.inventory.devices.back().address = second;
    machine.inventory.devices.back().pci->address = second;
    CHECK(machine.found_by("vf-count") ==
          "info | 0000:3b:00.0 | no PF of this node has VFs, although its RDMA mode is exclusive; the firmware of this "
          "one allows 8 | "
          "`echo 8 >/sys/bus/pci/devices/0000:3b:00.0/sriov_numvfs`, and at each boot\n");
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
