// IPoIB interfaces of a pod: what a subnet manager of a real fabric can do, and the software NIC's cannot.
#include "machine.hpp"

namespace rdmanet::doctor {
namespace {

using Catch::Contains;

/// A machine with an InfiniBand card, and pod "shop/till" with an IPoIB child that works.
class PodMachine : public Machine {
public:
    PodMachine() {
        asked_pod = "shop/till";
        inventory.namespaces.push_back(
            {.inode = 2, .path = "/nowhere", .pod = {.pod_namespace = "shop", .name = "till"}});
        auto& rdma = inventory.devices.front().rdma.front();
        rdma.name = "ib0p0";
        rdma.protocol = "ib";
        rdma.ports.push_back({.number = 1,
                              .state = kernel::PortState::active,
                              .physical_state = "LinkUp",
                              .link_layer = "InfiniBand",
                              .rate = {},
                              .lid = 2,
                              .sm_lid = 1,
                              .net_device = {}});
        inventory::Interface child{.net = {.place = 1,
                                           .name = "net1",
                                           .ifindex = 3,
                                           .kind = "ipoib",
                                           .hardware_address = {},
                                           .mtu = 2044,
                                           .is_up = true,
                                           .has_carrier = true,
                                           .speed = {},
                                           .master = {}}};
        child.parent = "ib0";
        child.rdma_device = "ib0p0";
        child.rdma_port = 1;
        child.is_shared = true;
        child.network = "net";
        child.pkey = 0x8001;
        child.pkeys = {{.index = 0, .pkey = 0x7fff}, {.index = 1, .pkey = 0x8001}};
        child.ipoib_mode = kernel::IpoibMode::datagram;
        child.ipoib_parent = inventory::IpoibParent{.mode = kernel::IpoibMode::datagram, .mtu = 2044, .is_up = true};
        inventory.interfaces.push_back(std::move(child));
    }

    [[nodiscard]] inventory::Interface& child() { return inventory.interfaces.front(); }
    [[nodiscard]] std::string found() const { return found_by("pod-ipoib"); }
};

TEST_CASE("an IPoIB interface without a broadcast group although its port is well lacks the group in the fabric") {
    PodMachine machine;
    CHECK(machine.found().empty());
    machine.child().net.has_carrier = false;
    CHECK(machine.found_by("pod-interface").find("carrier") == std::string::npos);
    CHECK_THAT(machine.found(), Contains("failure | shop/till net1 | ") && Contains("flag ipoib"));
    CHECK(is_documented("pod-ipoib", "the subnet manager has no group for IPoIB", machine.found()));
    machine.child().net.is_up = false; // pod-interface says so
    CHECK(machine.found().empty());
}

TEST_CASE("a VF's port without a link is named with its state") {
    PodMachine machine;
    machine.child().net.has_carrier = false;
    auto& port = machine.inventory.devices.front().rdma.front().ports.front();
    port.state = kernel::PortState::down;
    port.physical_state = "Polling";
    CHECK_THAT(machine.found(), Contains("port 1 of ib0p0 is down, physical state Polling") &&
                                    Contains("the VF's link state") && !Contains("subnet manager"));
}

TEST_CASE("membership of an IPoIB interface is that of its port, not of its own P_Key") {
    PodMachine machine;
    machine.child().pkey = 0xffff;
    CHECK_THAT(machine.found(), Contains("warning | shop/till net1 | ") && Contains("0x7fff"));
    machine.child().pkeys.push_back({.index = 2, .pkey = 0xffff}); // full members come first
    CHECK(machine.found().empty());
}

TEST_CASE("an IPoIB interface with an MTU within its parent's is fine, and so is any in mode connected") {
    PodMachine machine;
    machine.child().net.mtu = 1500;
    CHECK(machine.found().empty());
    machine.child().ipoib_parent->mode = kernel::IpoibMode::connected;
    machine.child().ipoib_mode = kernel::IpoibMode::connected;
    machine.child().net.mtu = 65520;
    CHECK(machine.found().empty());
    machine.child().ipoib_mode = kernel::IpoibMode::datagram;
    CHECK_THAT(machine.found(), Contains("info | ") && Contains("parent ib0 is connected"));
}

} // namespace
} // namespace rdmanet::doctor
