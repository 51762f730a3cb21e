// Settings of NICs that the software NIC does not have: those of OFED, and what other drivers offer.
#include "port_machine.hpp"
#include "vf_machine.hpp"

namespace rdmanet::doctor {
namespace {

using Catch::Contains;

/// A machine with the files of OFED.
class Port : public PortMachine {
public:
    Port() {
        make("sys/class/net/ens1/qos");
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
    const std::string found = port.found_by("ecn");
    CHECK_THAT(found, Contains("info | 0000:3b:00.0 (ens1) | ") && Contains("priority 3") && !Contains("roce_rp") &&
                          Contains("`echo 1 >/sys/class/net/ens1/ecn/roce_np/enable/3`"));
    CHECK(is_documented("ecn", "OFED's file `ecn/roce_np/enable/3` is 0", found));
    port.write("sys/class/net/ens1/ecn/roce_rp/enable/3", "0");
    CHECK_THAT(port.found_by("ecn"), Contains("roce_np, roce_rp") && Contains("roce_rp/enable/3`"));
    port.flow().pfc = 0;
    CHECK(port.found_by("ecn").empty());
}

TEST_CASE("a port that takes priorities from VLAN tags gives packets without a tag no PFC") {
    Port port;
    CHECK(port.found_by("trust").empty());
    port.write("sys/class/net/ens1/qos/trust", "pcp");
    const std::string found = port.found_by("trust");
    CHECK_THAT(found,
               Contains("info | 0000:3b:00.0 (ens1) | ") && Contains("`echo dscp >/sys/class/net/ens1/qos/trust`"));
    CHECK(is_documented("trust", "OFED's file `qos/trust` is pcp", found));
    port.flow().pfc |= 1U;
    CHECK(port.found_by("trust").empty());
}

TEST_CASE("flow control only matters for a port of the host with RoCE that is up") {
    Port port;
    auto& device = port.inventory.devices.front();
    port.flow() = {};
    CHECK_THAT(port.found_by("pfc"), Contains("info | 0000:3b:00.0 (ens1) | "));
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
               Contains("info | 0000:3b:00.0 (ens1) | interface ens1 has MTU 4200") &&
                   Contains("1 interface of its VFs has less: ens1v0 in pod uid-1 has 1500") &&
                   Contains("\"mtu\": 4200"));
    auto representor = pf.net.front();
    representor.name = "ens1rep0";
    representor.mtu = 9000;
    pf.net.insert(pf.net.begin(), representor);
    CHECK(machine.found_by("vf-mtu").empty()); // which of the two is the port's is not known
    pf.rdma.front().ports.push_back(active_port("ens1"));
    CHECK_THAT(machine.found_by("vf-mtu"), Contains("interface ens1 has MTU 4200"));
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
    CHECK_THAT(machine.found_by("vf-mtu"),
               Contains("\ninfo | ") && Contains("1 interface of its VFs has less: ens1v2"));
}

TEST_CASE("a name with characters of the shell is one word of a fix") {
    Port port;
    auto& device = port.inventory.devices.front();
    device.net.front().name = "e$(id)";
    device.rdma.front().name = "m$(id)";
    device.rdma.front().ports.push_back(active_port(""));
    port.make("sys/class/net/e$(id)/qos");
    port.write("sys/class/net/e$(id)/qos/trust", "pcp");
    port.make("sys/class/net/e$(id)/ecn/roce_np/enable");
    port.write("sys/class/net/e$(id)/ecn/roce_np/enable/3", "0");
    port.make("sys/kernel/config/rdma_cm/m$(id)/ports/1");
    port.write("sys/kernel/config/rdma_cm/m$(id)/ports/1/default_roce_mode", "IB/RoCE v1");
    port.flow().global_pause = true;
    CHECK_THAT(port.found_by("default-roce"),
               Contains(">'/sys/kernel/config/rdma_cm/m$(id)/ports/1/default_roce_mode'`"));
    CHECK_THAT(port.found_by("pause"), Contains("`ethtool -A 'e$(id)' autoneg"));
    CHECK_THAT(port.found_by("trust"), Contains(">'/sys/class/net/e$(id)/qos/trust'`"));
    CHECK_THAT(port.found_by("ecn"), Contains(">'/sys/class/net/e$(id)/ecn/roce_np/enable/3'`"));
    port.flow() = {};
    CHECK_THAT(port.found_by("pfc"), Contains("`dcb pfc set dev 'e$(id)' prio-pfc"));
    VfMachine machine;
    auto& devices = machine.inventory.devices;
    devices.front().net.front().name = "e$(id)";
    machine.vf().rdma = devices.front().rdma;
    machine.vf().net.front().mtu = 9000;
    CHECK_THAT(machine.found_by("vf-mtu"), Contains("`ip link set 'e$(id)' mtu 9000`"));
}

} // namespace
} // namespace rdmanet::doctor
