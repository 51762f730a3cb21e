// PFs and VFs that the software NIC does not have, or not at the moment that matters.
#include "machine.hpp"

#include <functional>

namespace rdmanet::doctor {
namespace {

inventory::RdmaSwitchedOff off() {
    return {.parameter = "enable_roce", .mode = kernel::DevlinkMode::driverinit};
}

TEST_CASE("the fix for RDMA that is switched off depends on the parameter's mode") {
    Machine machine;
    CHECK(machine.found_by("enable-roce").empty());
    auto& device = machine.inventory.devices.front();
    device.rdma.clear();
    device.switched_off = inventory::RdmaSwitchedOff{.parameter = "enable_rdma", .mode = kernel::DevlinkMode::runtime};
    CHECK_THAT(machine.found_by("enable-roce"),
               Documented("enable-roce", "devlink's parameter `enable_rdma` of the only NIC is false",
                          "| 0000:3b:00.0 | ",
                          "`devlink dev param set pci/0000:3b:00.0 name enable_rdma value true cmode runtime`") &&
                   !Has("reload"));
    CHECK(machine.found_by("rdma-devices").empty()); // explained already
    device.switched_off->mode = kernel::DevlinkMode::permanent;
    CHECK_THAT(machine.found_by("enable-roce"), Has("cmode permanent`, then switch the node off and on"));
}

TEST_CASE("RDMA that is switched off is no failure if another function has RDMA") {
    VfMachine machine;
    machine.vf().switched_off = off();
    machine.add_vf("0000:3b:00.2", "ens1v1");
    machine.vf().switched_off = off();
    CHECK(machine.found_by("enable-roce") ==
          "info | 0000:3b:00.0 (ens1) | RDMA of 2 VFs (0000:3b:00.1, ...) is switched off: devlink's parameter "
          "enable_roce is false, expected true if pods shall use them | `devlink dev param set pci/0000:3b:00.1 name "
          "enable_roce value true cmode driverinit`, then `devlink dev reload pci/0000:3b:00.1`, which interrupts its "
          "traffic, and so for each VF\n");
    auto& pf = machine.inventory.devices.front();
    SECTION("no function has any") {
        pf.rdma.clear();
        machine.inventory.devices.push_back({});
        machine.inventory.devices.back().rdma.push_back(
            {.place = 0, .name = "rxe0", .node_guid = 2, .protocol = "roce"});
    }
    SECTION("the RDMA device of a function is for raw Ethernet packets") {
        pf.rdma.front().protocol.clear();
    }
    pf.switched_off = off();
    CHECK_THAT(machine.found_by("enable-roce"), Has("failure | 0000:3b:00.0 (ens1) | its RDMA is switched off",
                                                    "failure | 0000:3b:00.0 (ens1) | RDMA of 2 VFs") &&
                                                    !Has("if pods shall"));
    CHECK(machine.found_by("rdma-devices").empty()); // explained already
}

TEST_CASE("VFs without a driver are no fault if the host is set up so") {
    VfMachine machine;
    CHECK(machine.found_by("vfs").empty());
    machine.vf().pci->driver.clear();
    machine.write("sys/bus/pci/devices/0000:3b:00.0/sriov_drivers_autoprobe", "1");
    CHECK_THAT(machine.found_by("vfs"), Has("warning | ", "1 VF without a driver"));
    machine.write("sys/bus/pci/devices/0000:3b:00.0/sriov_drivers_autoprobe", "0");
    CHECK_THAT(machine.found_by("vfs"), Has("info | ", "virtual machines", "if pods shall"));
}

TEST_CASE("a VF is only lost if its devices could be seen") {
    CHECK(VfMachine().found_by("lost-vf").empty());
    const std::string sysfs = "sys/bus/pci/devices/0000:3b:00.1/";
    const std::pair<const char*, std::function<void(VfMachine&)>> seen_or_unseen[] = {
        {"its net device is back on the host", [&](VfMachine& node) { node.make(sysfs + "net/ens1v0"); }},
        {"its RDMA device is back on the host", [&](VfMachine& node) { node.make(sysfs + "infiniband/mlx5_1"); }},
        {"it has a vDPA device", [&](VfMachine& node) { node.make(sysfs + "vdpa0"); }},
        {"its driver is for user space", [](VfMachine& node) { node.vf().pci->driver = "vfio-pci"; }},
        {"its net device is one of virtio", [](VfMachine& node) { node.vf().pci->driver = "virtio-pci"; }},
        {"it has no driver", [](VfMachine& node) { node.vf().pci->driver.clear(); }},
        {"the kernel hides whose a net device is", [](VfMachine& node) { node.inventory.devices[0].net.clear(); }},
        {"a namespace cannot be read", [](VfMachine& node) { node.inventory.namespaces[0].trouble = "EPERM"; }},
    };
    for (const auto& [why, change] : seen_or_unseen) {
        INFO(why);
        VfMachine node;
        node.vf().net.clear();
        CHECK_THAT(node.found_by("lost-vf"), Has("warning | 0000:3b:00.0 (ens1) | it has 1 VF (0000:3b:00.1) with "));
        change(node);
        CHECK(node.found_by("lost-vf").empty());
    }
}

TEST_CASE("a VF that rdmanet moves at this moment is not lost") {
    VfMachine machine;
    machine.vf().net.clear();
    const auto is_lost = [&](const std::string& device, state::Phase phase, bool removal_unfinished) {
        state::AttachmentRecord record;
        record.key = {.network = "net", .container_id = "c1", .ifname = "net1"};
        record.phase = phase;
        record.removal_unfinished = removal_unfinished;
        record.attach = "sriov";
        record.steps = {state::MoveLink{.device = device, .ifname = "net1"}};
        attach::Node(machine.root() + "/run/rdmanet", base::Logger(base::LogLevel::error)).records().save(record);
        CHECK(machine.why_not("lost-vf").empty());
        return !machine.found_by("lost-vf").empty();
    };
    CHECK_FALSE(is_lost("0000:3b:00.1", state::Phase::prepared, false));
    CHECK_FALSE(is_lost("0000:3b:00.1", state::Phase::attached, true));
    CHECK(is_lost("0000:3b:00.1", state::Phase::attached, false));
    CHECK(is_lost("0000:3b:00.7", state::Phase::prepared, false));
}

TEST_CASE("lost VFs of one PF are one finding, whose fix looks before it unbinds") {
    VfMachine machine;
    machine.vf().net.clear();
    machine.add_vf("0000:3b:00.2", "ens1v1");
    machine.vf().net.clear();
    CHECK(
        machine.found_by("lost-vf") ==
        "warning | 0000:3b:00.0 (ens1) | it has 2 VFs (0000:3b:00.1, ...) with driver mlx5_core, and without a net or "
        "RDMA device in any namespace | `dmesg | grep 0000:3b:00.1` says whether the driver still starts, or why it "
        "failed; if it failed: `cd /sys/bus/pci/drivers/mlx5_core; echo 0000:3b:00.1 >unbind; echo 0000:3b:00.1 "
        ">bind`, and so for each VF\n");
    machine.inventory.namespaces.front().trouble = "EPERM";
    CHECK_THAT(machine.why_not("lost-vf"), Has("2 VFs of 0000:3b:00.0 (ens1) may be in"));
}

constexpr const char* kDirectory = "sys/bus/pci/devices/0000:3b:00.0";

/// A node in mode exclusive whose NIC has no VFs, because SR-IOV is off in its firmware: the kernel makes no file.
class Exclusive : public Machine {
public:
    Exclusive() {
        inventory.rdma_system->netns_mode = kernel::RdmaNetnsMode::exclusive;
        make(kDirectory);
    }
    void allow_vfs(unsigned count) {
        write(std::string(kDirectory) + "/sriov_totalvfs", std::to_string(count));
        nic().most_vfs = count;
    }
    inventory::PciFunction& add_pf() {
        inventory.devices.push_back(inventory.devices.front());
        inventory.devices.back().address = inventory.devices.back().pci->address =
            base::PciAddress::parse("0000:af:00.0").value();
        write("sys/bus/pci/devices/0000:af:00.0/sriov_totalvfs", "8");
        return *inventory.devices.back().pci;
    }
};

TEST_CASE("a node in mode exclusive without VFs learns how to get them, unless it needs or can have none") {
    Exclusive firmware_off;
    firmware_off.must_find("vf-count", "firmware with SR-IOV off", "| 0000:3b:00.0 | ",
                           "`mlxconfig -d 0000:3b:00.0 set SRIOV_EN=1 NUM_OF_VFS=8`");
    firmware_off.write("proc/cpuinfo", "model name : hypervisor\nflags\t\t: fpu rdtscp lm"); // a real machine
    CHECK_THAT(firmware_off.found_by("vf-count"), Has("SRIOV_EN=1"));

    Exclusive none_created;
    none_created.allow_vfs(8);
    none_created.add_pf().most_vfs = 4;
    CHECK(none_created.found_by("vf-count") ==
          "info | 0000:3b:00.0 | no PF of this node has VFs, although its RDMA mode is exclusive; the firmware of this "
          "one allows 8 | `echo N >/sys/bus/pci/devices/0000:3b:00.0/sriov_numvfs`, and at each boot; N is the number "
          "of pods that run at once, up to 8; nothing, if pods get whole PFs\n");

    // More lines than files of the host may have elsewhere, as of a machine with many processors.
    const std::string cpus = "processor : 0\nflags\t\t: fpu rdtscp hypervisor lm\n" + std::string(300'000, '\n');
    const std::pair<const char*, std::function<void(Exclusive&)>> quiet[] = {
        {"the driver allows none", [](Exclusive& node) { node.allow_vfs(0); }},
        {"functions of that vendor may not be able to have VFs", [](Exclusive& node) { node.nic().vendor = 0x14e4; }},
        {"a VF", [](Exclusive& node) { node.nic().pf = base::PciAddress::parse("0000:3b:00.7"); }},
        {"another PF has VFs", [](Exclusive& node) { node.add_pf().vfs = 2; }},
        {"a virtual machine", [&](Exclusive& node) { node.write("proc/cpuinfo", cpus); }},
        {"a pod has the PF as a whole",
         [](Exclusive& node) {
             node.allow_vfs(8);
             node.inventory.namespaces.push_back({.inode = 2, .path = "/proc/2/ns/net", .pid = 2});
             node.inventory.devices.front().rdma.front().place = 1;
         }},
        {"mode shared",
         [](Exclusive& node) { node.inventory.rdma_system->netns_mode = kernel::RdmaNetnsMode::shared; }},
    };
    for (const auto& [what, change] : quiet) {
        INFO(what);
        Exclusive node;
        change(node);
        CHECK(node.found_by("vf-count").empty());
    }
}

TEST_CASE("VFs that the kernel could not create are a warning until they are there") {
    Machine machine;
    const auto log = [&](const std::string& address) {
        machine.write("dev/kmsg", "4,7,1000,-;mlx5_core " + address + ": not enough MMIO resources for SR-IOV");
        return machine.found_by("vf-room");
    };
    CHECK_THAT(log("0000:3b:00.0"), Has("warning | 0000:3b:00.0 | ", "or create fewer VFs"));
    CHECK(log("0000:01:00.0").empty()); // a function that is no NIC
    machine.nic().vfs = 2;              // a later attempt has created some
    CHECK(log("0000:3b:00.0").empty());
}

} // namespace
} // namespace rdmanet::doctor
