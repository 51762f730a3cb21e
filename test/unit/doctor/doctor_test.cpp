// Faults that no machine of ours can have: as inventories and files of machines that do.
#include "machine.hpp"

#include <algorithm>

namespace rdmanet::doctor {
namespace {

using Catch::Contains;

TEST_CASE("a node without network functions is a failure of its hardware") {
    Machine machine;
    CHECK(machine.found_by("presence").empty());
    machine.inventory.devices.clear();
    CHECK_THAT(machine.found_by("presence"),
               Contains("failure") && Contains("no network function") && Contains("slot"));
    CHECK(is_documented("presence", "a machine without network functions", machine.found_by("presence")));
}

TEST_CASE("a PCIe link below what the card can is a warning") {
    Machine machine;
    CHECK(machine.found_by("pcie-link").empty());
    machine.nic().link_width = 8;
    CHECK_THAT(machine.found_by("pcie-link"),
               Contains("warning | 0000:3b:00.0 | ") && Contains("x8") && Contains("x16"));
    CHECK(is_documented("pcie-link", "a card of 16 lanes in a slot with 8", machine.found_by("pcie-link")));
    machine.nic().link_width = 16;
    machine.nic().link_speed = "8.0 GT/s PCIe";
    CHECK_THAT(machine.found_by("pcie-link"), Contains("8.0 GT/s PCIe x16") && Contains("16.0 GT/s PCIe x16"));
}

TEST_CASE("a kernel that was replaced without a reboot has no modules") {
    const Machine machine;
    CHECK(machine.found_by("module-dir").empty());
    machine.remove("lib/modules/6.1.0");
    machine.make("lib/modules/6.1.1");
    CHECK_THAT(machine.found_by("module-dir"),
               Contains("warning") && Contains("6.1.0 has no modules") && Contains("reboot"));
    CHECK(is_documented("module-dir", "the kernel package is replaced", machine.found_by("module-dir")));
}

TEST_CASE("a NIC whose RDMA driver is not loaded has no RDMA device, and nothing else is blamed") {
    Machine machine;
    CHECK(machine.found_by("rdma-driver").empty());
    machine.inventory.devices.front().rdma.clear();
    machine.remove("sys/module/mlx5_ib");
    CHECK_THAT(machine.found_by("rdma-driver"),
               Contains("failure | 0000:3b:00.0 | ") && Contains("mlx5_core") && Contains("`modprobe mlx5_ib`"));
    CHECK(is_documented("rdma-driver", "a NIC of mlx5_core without mlx5_ib", machine.found_by("rdma-driver")));
    CHECK(machine.found_by("rdma-devices").empty());
    machine.write("lib/modules/6.1.0/modules.builtin", "kernel/drivers/infiniband/hw/mlx5/mlx5_ib.ko");
    CHECK(machine.found_by("rdma-driver").empty()); // built into the kernel
}

TEST_CASE("a NIC without an RDMA device although all drivers are loaded has RDMA switched off") {
    Machine machine;
    CHECK(machine.found_by("rdma-devices").empty());
    machine.inventory.devices.front().rdma.clear();
    CHECK_THAT(machine.found_by("rdma-devices"),
               Contains("failure") && Contains("no RDMA device") && Contains("enable_roce"));
    CHECK(is_documented("rdma-devices", "all drivers, and no RDMA device", machine.found_by("rdma-devices")));
    machine.remove("sys/module/ib_core");
    CHECK(machine.found_by("rdma-devices").empty()); // explained already
    CHECK_THAT(machine.found_by("core-modules"), Contains("ib_core is not loaded"));
}

TEST_CASE("RDMA modules of two sources are a warning") {
    const Machine machine;
    CHECK(machine.found_by("stack-origin").empty());
    machine.write("sys/module/mlx5_ib/version", "25.01-0.6.0");
    CHECK_THAT(machine.found_by("stack-origin"),
               Contains("warning") && Contains("mlx5_ib 25.01-0.6.0") && Contains("one source"));
    CHECK(is_documented("stack-origin", "mlx5_ib of a vendor in a kernel of Debian", machine.found_by("stack-origin")));
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
            CHECK_THAT(known, Contains(" " + check + " "));
            checks.erase(0, check.size() + 1);
        }
    }
    CHECK(explain("FAILED TO MODIFY QP 3 TO RTR").size() == 1);
    CHECK(explain("to RTR failed to modify QP").empty());
    CHECK(explain("").empty());
}

} // namespace
} // namespace rdmanet::doctor
