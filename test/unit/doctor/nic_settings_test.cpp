// Settings of NICs that the software NIC does not have: those of OFED, and what other drivers offer.
#include "machine.hpp"

namespace rdmanet::doctor {
namespace {

using Catch::Contains;

/// A machine whose NIC has an interface with PFC for priority 3.
class Port : public Machine {
public:
    Port() {
        inventory.devices.front().net.push_back({.place = 0,
                                                 .name = "ens1",
                                                 .ifindex = 2,
                                                 .kind = {},
                                                 .hardware_address = {},
                                                 .mtu = 4200,
                                                 .is_up = true,
                                                 .has_carrier = true,
                                                 .speed = {},
                                                 .master = {}});
        flow() = {.pfc = 1U << 3U};
        make("sys/class/net/ens1/qos");
        write("sys/class/net/ens1/qos/trust", "dscp");
        for (const std::string part : {"roce_np", "roce_rp"}) {
            make("sys/class/net/ens1/ecn/" + part + "/enable");
            for (int priority = 0; priority < 8; ++priority)
                write("sys/class/net/ens1/ecn/" + part + "/enable/" + std::to_string(priority),
                      priority == 3 ? "1" : "0");
        }
    }

    [[nodiscard]] kernel::FlowControl& flow() {
        auto& flow = inventory.devices.front().net.front().flow_control;
        if (!flow) flow.emplace();
        return *flow;
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

TEST_CASE("the cure for RDMA that is switched off depends on the parameter's mode") {
    Machine machine;
    CHECK(machine.found_by("enable-roce").empty());
    auto& device = machine.inventory.devices.front();
    device.rdma.clear();
    device.switched_off = inventory::RdmaSwitchedOff{.parameter = "enable_rdma", .mode = kernel::DevlinkMode::runtime};
    CHECK_THAT(machine.found_by("enable-roce"),
               Contains("failure | 0000:3b:00.0 | ") && Contains("enable_rdma is false") &&
                   Contains("`devlink dev param set pci/0000:3b:00.0 name enable_rdma value true cmode runtime`") &&
                   !Contains("reload"));
    CHECK(machine.found_by("rdma-devices").empty()); // explained already
    device.switched_off->mode = kernel::DevlinkMode::permanent;
    CHECK_THAT(machine.found_by("enable-roce"), Contains("cmode permanent`, then switch the node off and on"));
}

/// A machine whose NIC has a VF with a driver and devices.
class VfMachine : public Machine {
public:
    VfMachine() {
        nic().vfs = 1;
        inventory.devices.front().net.push_back(net("ens1"));
        const auto address = base::PciAddress::parse("0000:3b:00.1").value();
        inventory::Device vf{.address = address,
                             .pci = inventory::PciFunction{.address = address,
                                                           .class_code = 0x020000,
                                                           .driver = "mlx5_core",
                                                           .link_speed = {},
                                                           .most_link_speed = {},
                                                           .pf = nic().address},
                             .parent = {},
                             .net = {net("ens1v0")},
                             .rdma = {}};
        inventory.devices.push_back(std::move(vf));
    }

    [[nodiscard]] inventory::Device& vf() { return inventory.devices.back(); }

private:
    static inventory::NetDevice net(const std::string& name) {
        return {.place = 0,
                .name = name,
                .ifindex = 2,
                .kind = {},
                .hardware_address = {},
                .mtu = 1500,
                .is_up = true,
                .has_carrier = true,
                .speed = {},
                .master = {}};
    }
};

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
    pf.rdma.front().ports.push_back({.number = 1,
                                     .state = kernel::PortState::active,
                                     .physical_state = {},
                                     .link_layer = "Ethernet",
                                     .rate = {},
                                     .lid = {},
                                     .sm_lid = {},
                                     .net_device = "ens1",
                                     .gids = {},
                                     .most_gids = 0});
    CHECK_THAT(machine.found_by("vf-mtu"), Contains("interface ens1 has MTU 4200"));
    machine.vf().rdma.clear();
    CHECK(machine.found_by("vf-mtu").empty()); // without RDMA its MTU is its own matter
}

TEST_CASE("a VF is only lost if its devices could be seen") {
    VfMachine machine;
    CHECK(machine.found_by("lost-vf").empty());
    machine.vf().net.clear();
    CHECK_THAT(machine.found_by("lost-vf"), Contains("warning | 0000:3b:00.1 | ") && Contains("driver mlx5_core"));
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

} // namespace
} // namespace rdmanet::doctor
