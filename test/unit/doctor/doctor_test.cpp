// Faults that no machine of ours can have: as inventories and files of machines that do.
#include "machine.hpp"

#include <algorithm>

namespace rdmanet::doctor {
namespace {

TEST_CASE("a node without network functions is a failure of its hardware") {
    Machine machine;
    CHECK(machine.found_by("presence").empty());
    machine.inventory.devices.clear();
    machine.must_find("presence", "a machine without network functions", "slot");
}

TEST_CASE("a PCIe link below what the card can is a warning") {
    Machine machine;
    CHECK(machine.found_by("pcie-link").empty());
    machine.nic().link_width = 8;
    machine.must_find("pcie-link", "a card of 16 lanes in a slot with 8", "| 0000:3b:00.0 | ", "x8", "x16");
    machine.nic().link_width = 16;
    machine.nic().link_speed = "8.0 GT/s PCIe";
    CHECK_THAT(machine.found_by("pcie-link"), Has("8.0 GT/s PCIe x16", "16.0 GT/s PCIe x16"));
}

TEST_CASE("a kernel that was replaced without a reboot has no modules") {
    const Machine machine;
    CHECK(machine.found_by("module-dir").empty());
    machine.remove("lib/modules/6.1.0");
    machine.make("lib/modules/6.1.1");
    machine.must_find("module-dir", "the kernel package is replaced", "6.1.0 has no modules", "reboot");
}

TEST_CASE("a NIC whose RDMA driver is not loaded has no RDMA device, and nothing else is blamed") {
    Machine machine;
    CHECK(machine.found_by("rdma-driver").empty());
    machine.inventory.devices.front().rdma.clear();
    machine.remove("sys/module/mlx5_ib");
    machine.must_find("rdma-driver", "a NIC of mlx5_core without mlx5_ib", "| 0000:3b:00.0 | ", "mlx5_core",
                      "`modprobe mlx5_ib`");
    CHECK(machine.found_by("rdma-devices").empty());
    machine.write("lib/modules/6.1.0/modules.builtin", "kernel/drivers/infiniband/hw/mlx5/mlx5_ib.ko");
    CHECK(machine.found_by("rdma-driver").empty()); // built into the kernel
}

TEST_CASE("a NIC without an RDMA device although all drivers are loaded has RDMA switched off") {
    Machine machine;
    CHECK(machine.found_by("rdma-devices").empty());
    machine.inventory.devices.front().rdma.clear();
    machine.must_find("rdma-devices", "all drivers, and no RDMA device", "enable_roce");
    machine.remove("sys/module/ib_core");
    CHECK(machine.found_by("rdma-devices").empty()); // explained already
    CHECK_THAT(machine.found_by("core-modules"), Has("ib_core is not loaded"));
}

TEST_CASE("RDMA modules of two sources are a warning") {
    const Machine machine;
    CHECK(machine.found_by("stack-origin").empty());
    machine.write("sys/module/mlx5_ib/version", "25.01-0.6.0");
    machine.must_find("stack-origin", "mlx5_ib of a vendor in a kernel of Debian", "mlx5_ib 25.01-0.6.0", "one source");
    machine.make("sys/module/mlx_compat"); // all of it is the vendor's
    CHECK(machine.found_by("stack-origin").empty());
}

TEST_CASE("every explanation is found by its own text, and names checks that exist") {
    std::string known = " ";
    for (const CheckInfo& check : list_checks()) known += std::string(check.id) + " ";
    for (const Explanation& each : list_explanations()) {
        INFO(each.text);
        const auto found = explain("error: " + std::string(each.text) + " (1)");
        CHECK(
            std::any_of(found.begin(), found.end(), [&](const Explanation& other) { return other.text == each.text; }));
        std::string checks(each.checks);
        while (!checks.empty()) {
            const std::string check = checks.substr(0, checks.find(' '));
            CHECK_THAT(known, Has(" " + check + " "));
            checks.erase(0, check.size() + 1);
        }
    }
    CHECK(explain("FAILED TO MODIFY QP 3 TO RTR").size() == 1);
    CHECK(explain("to RTR failed to modify QP").empty());
    CHECK(explain("").empty());
}

/// Neither RoCE nor InfiniBand.
inventory::RdmaDevice& device_of(Machine& machine) {
    return machine.inventory.devices.front().rdma.front();
}

TEST_CASE("programs of iWARP need RDMA CM") {
    Machine machine;
    CHECK(machine.found_by("protocols").empty());
    device_of(machine).name = "irdma0";
    device_of(machine).protocol = "iw";
    machine.must_find("protocols", "a NIC with iWARP", "| 0000:3b:00.0 | ", "`rping`");
}

TEST_CASE("opensm is of no use to Omni-Path, unless the node also has InfiniBand") {
    Machine machine;
    device_of(machine).name = "hfi1_0";
    device_of(machine).protocol = "opa";
    machine.write("proc/7/comm", "sleep");
    CHECK(machine.found_by("protocols").empty());
    machine.write("proc/7/comm", "opensm");
    machine.must_find("protocols", "opensm on a node of an Omni-Path fabric", "| 0000:3b:00.0 | ", "opafm");
    machine.inventory.devices.push_back(machine.inventory.devices.front());
    device_of(machine).protocol = "ib";
    CHECK(machine.found_by("protocols").empty());
}

} // namespace
} // namespace rdmanet::doctor
