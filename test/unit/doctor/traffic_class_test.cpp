// Marks of packets that OFED's drivers set, and the priorities that they get.
#include "port_machine.hpp"

namespace rdmanet::doctor {
namespace {

using Catch::Contains;

constexpr const char* kMark = "sys/class/infiniband/mlx5_0/tc/1/traffic_class";

/// A machine whose NIC gives all packets DSCP 26.
class MarkingMachine : public PortMachine {
public:
    MarkingMachine() {
        inventory.devices.front().rdma.front().ports.push_back(active_port("ens1"));
        make("sys/class/infiniband/mlx5_0/tc/1");
        make("sys/class/net/ens1/qos");
        write(kMark, "Global tclass=106");
    }
};

} // namespace

TEST_CASE("a traffic class whose priority has no PFC is worth knowing") {
    MarkingMachine machine;
    CHECK(machine.found_by("traffic-class").empty()); // DSCP 26 has priority 3
    machine.write(kMark, "Global tclass=136");
    CHECK(
        machine.found_by("traffic-class") ==
        "info | 0000:3b:00.0 (ens1) | the traffic class of mlx5_0 is 136, so its packets have DSCP 34 and priority 4, "
        "whose PFC is off | `dcb pfc set dev ens1 prio-pfc 4:on`, and the same on the switch; or write the traffic "
        "class of a priority with PFC to /sys/class/infiniband/mlx5_0/tc/1/traffic_class\n");
    machine.flow().dscp_priorities = {{34, 3}};
    CHECK(machine.found_by("traffic-class").empty());
    machine.write(kMark, "Global tclass=106");
    machine.flow().dscp_priorities = {{26, 4}};
    CHECK_THAT(machine.found_by("traffic-class"), Contains("DSCP 26 and priority 4"));
    SECTION("the priority comes from the VLAN tag") {
        machine.write("sys/class/net/ens1/qos/trust", "pcp");
        CHECK(machine.found_by("traffic-class").empty());
    }
    SECTION("no priority has PFC") {
        machine.flow().pfc = 0;
        CHECK(machine.found_by("traffic-class").empty());
    }
    SECTION("programs choose") {
        machine.write(kMark, "");
        CHECK(machine.found_by("traffic-class").empty());
    }
    SECTION("the kernel's own driver") {
        machine.remove(kMark);
        CHECK(machine.found_by("traffic-class").empty());
    }
}

} // namespace rdmanet::doctor
