// RDMA devices that are neither RoCE nor InfiniBand.
#include "machine.hpp"

namespace rdmanet::doctor {
namespace {

using Catch::Contains;

inventory::RdmaDevice& device_of(Machine& machine) {
    return machine.inventory.devices.front().rdma.front();
}

} // namespace

TEST_CASE("programs of iWARP need RDMA CM") {
    Machine machine;
    CHECK(machine.found_by("protocols").empty());
    device_of(machine).name = "irdma0";
    device_of(machine).protocol = "iw";
    const std::string found = machine.found_by("protocols");
    CHECK_THAT(found, Contains("info | 0000:3b:00.0 | ") && Contains("`rping`"));
    CHECK(is_documented("protocols", "a NIC with iWARP", found));
}

TEST_CASE("opensm is of no use to Omni-Path, unless the node also has InfiniBand") {
    Machine machine;
    device_of(machine).name = "hfi1_0";
    device_of(machine).protocol = "opa";
    machine.make("proc/7");
    machine.write("proc/7/comm", "sleep");
    CHECK(machine.found_by("protocols").empty());
    machine.write("proc/7/comm", "opensm");
    const std::string found = machine.found_by("protocols");
    CHECK_THAT(found, Contains("warning | 0000:3b:00.0 | ") && Contains("opafm"));
    CHECK(is_documented("protocols", "opensm on a node of an Omni-Path fabric", found));
    machine.inventory.devices.push_back(machine.inventory.devices.front());
    device_of(machine).protocol = "ib";
    CHECK(machine.found_by("protocols").empty());
}

} // namespace rdmanet::doctor
