// PFs and VFs that the software NIC does not have, or not at the moment that matters.
#include "vf_machine.hpp"

namespace rdmanet::doctor {
namespace {

using Catch::Contains;

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
               Contains("failure | 0000:3b:00.0 | ") && Contains("enable_rdma is false") &&
                   Contains("`devlink dev param set pci/0000:3b:00.0 name enable_rdma value true cmode runtime`") &&
                   !Contains("reload"));
    CHECK(is_documented("enable-roce", "devlink's parameter `enable_rdma` of the only NIC is false",
                        machine.found_by("enable-roce")));
    CHECK(machine.found_by("rdma-devices").empty()); // explained already
    device.switched_off->mode = kernel::DevlinkMode::permanent;
    CHECK_THAT(machine.found_by("enable-roce"), Contains("cmode permanent`, then switch the node off and on"));
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
        machine.inventory.devices.push_back({.address = {}, .pci = {}, .parent = {}, .net = {}, .rdma = {}});
        machine.inventory.devices.back().rdma.push_back(
            {.place = 0, .name = "rxe0", .node_guid = 2, .protocol = "roce", .firmware = {}, .ports = {}, .files = {}});
    }
    SECTION("the RDMA device of a function is for raw Ethernet packets") {
        pf.rdma.front().protocol.clear();
    }
    pf.switched_off = off();
    CHECK_THAT(machine.found_by("enable-roce"), Contains("failure | 0000:3b:00.0 (ens1) | its RDMA is switched off") &&
                                                    Contains("failure | 0000:3b:00.0 (ens1) | RDMA of 2 VFs") &&
                                                    !Contains("if pods shall"));
    CHECK(machine.found_by("rdma-devices").empty()); // explained already
}

TEST_CASE("VFs without a driver are no fault if the host is set up so") {
    VfMachine machine;
    CHECK(machine.found_by("vfs").empty());
    machine.vf().pci->driver.clear();
    machine.make("sys/bus/pci/devices/0000:3b:00.0");
    machine.write("sys/bus/pci/devices/0000:3b:00.0/sriov_drivers_autoprobe", "1");
    CHECK_THAT(machine.found_by("vfs"), Contains("warning | ") && Contains("1 VF without a driver"));
    machine.write("sys/bus/pci/devices/0000:3b:00.0/sriov_drivers_autoprobe", "0");
    CHECK_THAT(machine.found_by("vfs"),
               Contains("info | ") && Contains("virtual machines") && Contains("if pods shall"));
}

TEST_CASE("a VF is only lost if its devices could be seen") {
    VfMachine machine;
    CHECK(machine.found_by("lost-vf").empty());
    machine.vf().net.clear();
    CHECK_THAT(machine.found_by("lost-vf"),
               Contains("warning | 0000:3b:00.0 (ens1) | it has 1 VF (0000:3b:00.1) with driver mlx5_core, "));
    SECTION("its net device has come back to the host") {
        machine.make("sys/bus/pci/devices/0000:3b:00.1/net/ens1v0");
    }
    SECTION("its RDMA device has come back to the host") {
        machine.make("sys/bus/pci/devices/0000:3b:00.1/infiniband/mlx5_1");
    }
    SECTION("it has a vDPA device") {
        machine.make("sys/bus/pci/devices/0000:3b:00.1/vdpa0");
    }
    SECTION("its driver is for programs in user space") {
        machine.vf().pci->driver = "vfio-pci";
    }
    SECTION("its net device is one of virtio") {
        machine.vf().pci->driver = "virtio-pci";
    }
    SECTION("it has no driver") {
        machine.vf().pci->driver.clear();
    }
    SECTION("the kernel does not say which function a net device belongs to") {
        machine.inventory.devices.front().net.clear();
    }
    SECTION("a namespace cannot be looked into") {
        machine.inventory.namespaces.front().trouble = "EPERM";
    }
    CHECK(machine.found_by("lost-vf").empty());
}

TEST_CASE("a VF that rdmanet moves at this moment is not lost") {
    VfMachine machine;
    machine.vf().net.clear();
    REQUIRE_FALSE(machine.found_by("lost-vf").empty());
    const auto save = [&](const std::string& device, state::Phase phase, bool removal_unfinished) {
        state::AttachmentRecord record;
        record.key = {.network = "net", .container_id = "c1", .ifname = "net1"};
        record.phase = phase;
        record.removal_unfinished = removal_unfinished;
        record.attach = "sriov";
        record.steps.push_back(
            {.kind = "move-link", .json = R"({"step":"move-link","device":")" + device + R"(","ifname":"net1"})"});
        const attach::Node node(machine.root() + "/run/rdmanet", base::Logger(base::LogLevel::error));
        node.records().save(record);
    };
    save("0000:3b:00.1", state::Phase::prepared, false);
    CHECK(machine.found_by("lost-vf").empty());
    CHECK(machine.why_not("lost-vf").empty());
    save("0000:3b:00.1", state::Phase::attached, true);
    CHECK(machine.found_by("lost-vf").empty());
    save("0000:3b:00.1", state::Phase::attached, false);
    CHECK_FALSE(machine.found_by("lost-vf").empty());
    save("0000:3b:00.7", state::Phase::prepared, false);
    CHECK_FALSE(machine.found_by("lost-vf").empty());
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
    CHECK_THAT(machine.why_not("lost-vf"), Contains("2 VFs of 0000:3b:00.0 (ens1) may be in"));
}

} // namespace
} // namespace rdmanet::doctor
