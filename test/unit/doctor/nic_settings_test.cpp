// Settings of NICs that the software NIC does not have: those of OFED, and what other drivers offer.
#include "machine.hpp"

namespace rdmanet::doctor {
namespace {

/// A machine with the files of OFED.
class Port : public PortMachine {
public:
    Port() {
        write("sys/class/net/ens1/qos/trust", "dscp");
        for (const std::string part : {"roce_np", "roce_rp"}) {
            make("sys/class/net/ens1/ecn/" + part + "/enable");
            for (int priority = 0; priority < 8; ++priority)
                write("sys/class/net/ens1/ecn/" + part + "/enable/" + std::to_string(priority),
                      priority == 3 ? "1" : "0");
        }
    }
};

TEST_CASE("ECN that is off for a priority with PFC is worth knowing") {
    Port port;
    CHECK(port.found_by("ecn").empty());
    port.write("sys/class/net/ens1/ecn/roce_np/enable/3", "0");
    CHECK_THAT(port.found_by("ecn"),
               Documented("ecn", "OFED's file `ecn/roce_np/enable/3` is 0", "| 0000:3b:00.0 (ens1) | ", "priority 3",
                          "`echo 1 >/sys/class/net/ens1/ecn/roce_np/enable/3`") &&
                   !Has("roce_rp"));
    port.write("sys/class/net/ens1/ecn/roce_rp/enable/3", "0");
    CHECK_THAT(port.found_by("ecn"), Has("roce_np, roce_rp", "roce_rp/enable/3`"));
    port.flow().pfc = 0;
    CHECK(port.found_by("ecn").empty());
}

TEST_CASE("a port that takes priorities from VLAN tags gives packets without a tag no PFC") {
    Port port;
    CHECK(port.found_by("trust").empty());
    port.write("sys/class/net/ens1/qos/trust", "pcp");
    port.must_find("trust", "OFED's file `qos/trust` is pcp", "| 0000:3b:00.0 (ens1) | ",
                   "`echo dscp >/sys/class/net/ens1/qos/trust`");
    port.flow().pfc |= 1U;
    CHECK(port.found_by("trust").empty());
}

TEST_CASE("flow control only matters for a port of the host with RoCE that is up") {
    Port port;
    auto& device = port.inventory.devices.front();
    port.flow() = {};
    CHECK_THAT(port.found_by("pfc"), Has("info | 0000:3b:00.0 (ens1) | "));
    SECTION("down") {
        device.net.front().is_up = false;
    }
    SECTION("in a pod") {
        port.inventory.namespaces.push_back({.inode = 2, .path = "/proc/2/ns/net", .pid = 2});
        device.net.front().place = 1;
    }
    SECTION("InfiniBand") {
        device.rdma.front().protocol = "ib";
    }
    SECTION("unknown to its driver") {
        device.net.front().flow_control.reset();
    }
    CHECK(port.found_by("pfc").empty());
}

TEST_CASE("a VF's smaller MTU is found in a pod, too, and beside representors") {
    VfMachine machine;
    auto& pf = machine.inventory.devices.front();
    machine.vf().rdma = pf.rdma;
    CHECK(machine.found_by("vf-mtu").empty());
    machine.inventory.namespaces.push_back({.inode = 2, .path = "/proc/7/ns/net", .pod_uid = "uid-1"});
    machine.vf().net.front().place = 1;
    pf.net.front().mtu = 4200;
    CHECK_THAT(machine.found_by("vf-mtu"),
               Has("info | 0000:3b:00.0 (ens1) | interface ens1 has MTU 4200",
                   "1 interface of its VFs has less: ens1v0 in pod uid-1 has 1500", "\"mtu\": 4200"));
    auto representor = pf.net.front();
    representor.name = "ens1rep0";
    representor.mtu = 9000;
    pf.net.insert(pf.net.begin(), representor);
    CHECK(machine.found_by("vf-mtu").empty()); // which of the two is the port's is not known
    pf.rdma.front().ports.push_back(active_port("ens1"));
    CHECK_THAT(machine.found_by("vf-mtu"), Has("interface ens1 has MTU 4200"));
    machine.vf().rdma.clear();
    CHECK(machine.found_by("vf-mtu").empty()); // without RDMA its MTU is its own matter
}

TEST_CASE("VFs with a larger MTU than their PF are one finding, with the MTU that all need") {
    VfMachine machine;
    machine.add_vf("0000:3b:00.2", "ens1v1");
    machine.add_vf("0000:3b:00.3", "ens1v2");
    auto& devices = machine.inventory.devices;
    for (auto& device : devices) device.rdma = devices.front().rdma;
    CHECK(machine.found_by("vf-mtu").empty());
    devices.at(1).net.front().mtu = 4200;
    devices.at(2).net.front().mtu = 9000;
    CHECK(machine.found_by("vf-mtu") ==
          "warning | 0000:3b:00.0 (ens1) | interface ens1 has MTU 1500, and 2 interfaces of its VFs have more: ens1v1 "
          "has 9000, so the port may drop packets | `ip link set ens1 mtu 9000`, and the same on the switch\n");
    devices.at(3).net.front().mtu = 1000;
    CHECK_THAT(machine.found_by("vf-mtu"), Has("\ninfo | ", "1 interface of its VFs has less: ens1v2"));
}

TEST_CASE("a name with characters of the shell is one word of a fix") {
    Port port;
    auto& device = port.inventory.devices.front();
    device.net.front().name = "e$(id)";
    device.rdma.front().name = "m$(id)";
    device.rdma.front().ports.push_back(active_port(""));
    port.write("sys/class/net/e$(id)/qos/trust", "pcp");
    port.write("sys/class/net/e$(id)/ecn/roce_np/enable/3", "0");
    port.write("sys/kernel/config/rdma_cm/m$(id)/ports/1/default_roce_mode", "IB/RoCE v1");
    port.flow().global_pause = true;
    CHECK_THAT(port.found_by("default-roce"), Has(">'/sys/kernel/config/rdma_cm/m$(id)/ports/1/default_roce_mode'`"));
    CHECK_THAT(port.found_by("pause"), Has("`ethtool -A 'e$(id)' autoneg"));
    CHECK_THAT(port.found_by("trust"), Has(">'/sys/class/net/e$(id)/qos/trust'`"));
    CHECK_THAT(port.found_by("ecn"), Has(">'/sys/class/net/e$(id)/ecn/roce_np/enable/3'`"));
    port.flow() = {};
    CHECK_THAT(port.found_by("pfc"), Has("`dcb pfc set dev 'e$(id)' prio-pfc"));
    VfMachine machine;
    auto& devices = machine.inventory.devices;
    devices.front().net.front().name = "e$(id)";
    machine.vf().rdma = devices.front().rdma;
    machine.vf().net.front().mtu = 9000;
    CHECK_THAT(machine.found_by("vf-mtu"), Has("`ip link set 'e$(id)' mtu 9000`"));
}

constexpr const char* kMark = "sys/class/infiniband/mlx5_0/tc/1/traffic_class";

/// A machine whose NIC gives all packets DSCP 26.
class MarkingMachine : public PortMachine {
public:
    MarkingMachine() {
        inventory.devices.front().rdma.front().ports.push_back(active_port("ens1"));
        write(kMark, "Global tclass=106");
    }
};

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
    CHECK_THAT(machine.found_by("traffic-class"), Has("DSCP 26 and priority 4"));
    SECTION("the priority comes from the VLAN tag") {
        machine.write("sys/class/net/ens1/qos/trust", "pcp");
    }
    SECTION("no priority has PFC") {
        machine.flow().pfc = 0;
    }
    SECTION("programs choose") {
        machine.write(kMark, "");
    }
    SECTION("the kernel's own driver") {
        machine.remove(kMark);
    }
    CHECK(machine.found_by("traffic-class").empty());
}

} // namespace
} // namespace rdmanet::doctor
