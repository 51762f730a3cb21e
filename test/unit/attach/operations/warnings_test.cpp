// What ADD only warns of. Everything else happens, CHECK agrees, and DEL leaves the machine as it was.
#include "scenes.hpp"

#include "support/names.hpp"

#include <catch2/catch.hpp>

using namespace rdmanet;
using namespace rdmanet::attach::test;
using kernel::PortState;
using rdmanet::test::names;

namespace {

struct Warning {
    std::string members;
    void (*prepare)(Rig& rig);
    std::vector<std::string> words; // none: ADD has nothing to say
};

void inherit_vlan(Rig& rig) {
    rig.machine.function("0000:3b:00.0").vfs.at(0).vlan->id = 7;
}

void without_guid(Rig& rig) {
    rig.machine.rdma("mlx5_1").device.node_guid = 0;
}

/// The parent's port.
void unplug(Rig& rig) {
    share(rig);
    rig.machine.rdma("mlx5_5").state = PortState::down;
}

void unplug_pf(Rig& rig) {
    rig.machine.rdma("mlx5_0").state = PortState::down;
}

/// Some PFs keep their link for the VFs, so this does not tell; the VF's own port does.
void set_pf_down(Rig& rig) {
    unplug_pf(rig);
    rig.machine.netdev("eth0").link.flags = 0;
    rig.machine.rdma("mlx5_1").state = PortState::down;
}

void unplug_nic(Rig& rig) {
    rig.machine.rdma("mlx5_5").state = PortState::down;
}

void set_nic_down(Rig& rig) {
    unplug_nic(rig);
    rig.machine.netdev("eth7").link.flags = 0;
}

void down_with_two_devices(Rig& rig, const char* address) {
    rig.machine.remove_made(address);
    rig.machine.function(address).rdma_count = 2;
    rig.machine.probe(address);
    for (kernel::fake::Rdma& each : rig.machine.spaces.at(rig.machine.host).rdma)
        if (each.function == address) each.state = PortState::down;
}

void fix_in_place(Rig& rig) {
    rig.machine.rdma("mlx5_1").is_movable = false;
}

/// The pod has another network's default route.
void route_pod(Rig& rig) {
    rig.machine.spaces.at(rig.pod).routes.push_back({.destination = base::IpPrefix::parse("0.0.0.0/0").value()});
}

constexpr const char* kDefaultRoute =
    R"(, "ipam": {"type": "rdmanet", "range": "10.9.0.0/24", "routes": [{"dst": "0.0.0.0/0"}]})";
constexpr const char* kNoWait = R"(, "rdma": {"gidTimeoutMs": 1})";

const Warning kWarnings[] = {
    // Settings of a VF.
    {vf(), inherit_vlan, {"VF 0", "\"eth0\"", "VLAN 7", "\"net\"", "`ip link set eth0 vf 0 vlan 0`"}},
    {vf(R"(, "vlan": 0)"), inherit_vlan, {}},
    {R"("attach": "sriov", "deviceID": "0000:3b:00.3")",
     [](Rig& rig) { rig.machine.function("0000:3b:00.0").vfs.at(1).vlan->id = 8; },
     {"VF 1", "VLAN 8", "vf 1 vlan 0"}},
    {vf(R"(, "vlan": 100, "trust": "on")"),
     [](Rig& rig) { rig.machine.ignores = {"vf 0 vlan"}; }, // as a driver without VLANs would report it
     {"VF 0", "vlan 0", "expected vlan 100", "PF"}},
    {vf(), without_guid, {"\"mlx5_1\"", "VF 0", "node GUID", "`ip link set eth0 vf 0 mac ...`", "0000:3b:00.2"}},
    {vf(), fix_in_place, {"\"mlx5_1\"", "cannot move", "stays on the host", "no RDMA"}},
    {vf(),
     [](Rig& rig) { add_representor(rig), drop_link(rig, "eth0_0"); },
     {"VF 0", "\"eth0\"", "no representor", "`devlink port`"}},
    {kUserSpace.members + R"(, "mtu": 1400)", kUserSpace.prepare, {"mtu: 1400", "\"vfio-pci\"", "no interface"}},
    // Ports.
    {macvlan(), unplug, {"port 1", "\"mlx5_5\"", "not active", "state down", "\"eth7\""}},
    {macvlan(R"(, "rdma": true)"), unplug, {"port 1", "\"mlx5_5\"", "not active", "\"eth7\""}},
    {macvlan(R"(, "rdma": false)"), unplug, {}},
    {vf(), unplug_pf, {"port 1", "\"mlx5_0\"", "not active", "\"eth0\""}},
    {vf(R"(, "link_state": "disable")"), unplug_pf, {}},
    {vf(R"(, "link_state": "enable")") + kNoWait, unplug_pf, {}},
    {vf() + kNoWait, set_pf_down, {"port 1", "\"mlx5_1\"", "not active", "\"net1\""}},
    {vf(),
     [](Rig& rig) { rig.machine.function("0000:3b:00.0").vfs.at(0).link_state = kernel::VfLinkState::disable; },
     {"VF 0", "link state disable", "`ip link set eth0 vf 0 state auto`"}},
    {nic(), unplug_nic, {"port 1", "\"mlx5_5\"", "not active", "\"eth7\""}},
    {nic(), set_nic_down, {}},
    // Of several InfiniBand ports, the link's own has its GID: on the host, and in the pod.
    {R"("attach": "ipoib", "master": "ib0")",
     [](Rig& rig) {
         share(rig);
         down_with_two_devices(rig, "0000:5e:00.0");
         rig.machine.netdev("ib0").link.flags |= kernel::fake::kUp;
     },
     {"port 1", "not active", "\"ib0\""}},
    {infiniband(kNoWait),
     [](Rig& rig) { down_with_two_devices(rig, "0000:5e:00.1"); },
     {"port 1", "not active", "\"net1\""}},
    // Whole interfaces.
    {kVirtual.members, kVirtual.prepare, {"\"veth0\"", "virtual (veth)", "before DEL"}},
    // What the pod requests, and its network does not give.
    {macvlan(), [](Rig& rig) { rig.args = "IP=10.68.9.7"; }, {"10.68.9.7", "\"net\"", "\"ipam\""}},
    {R"("attach": "ipvlan", "master": "eth7", "rdma": false)",
     [](Rig& rig) { rig.args = "MAC=02:00:00:00:00:42"; },
     {"CNI_ARGS MAC", "02:00:00:00:00:42", "not set", "ipvlan", "macvlan"}},
    {R"("attach": "ipvlan", "master": "eth7", "rdma": false, "runtimeConfig": {"mac": "02:00:00:00:00:42"})",
     nothing,
     {"runtimeConfig.mac", "02:00:00:00:00:42", "not set", "ipvlan", "macvlan"}},
    {kIpoib.members,
     [](Rig& rig) { kIpoib.prepare(rig), rig.args = "MAC=02:00:00:00:00:42"; },
     {"CNI_ARGS MAC", "02:00:00:00:00:42", "not set", "IPoIB"}},
    // Routes.
    {macvlan(R"(, "rdma": false)") + kDefaultRoute,
     route_pod,
     {"0.0.0.0/0", "\"net1\"", "not added", "\"defaultRoute\": \"always\""}},
    {macvlan(R"(, "rdma": false, "defaultRoute": "never")") + kDefaultRoute, route_pod, {}},
    {macvlan(R"(, "rdma": false, "defaultRoute": "always")") + kDefaultRoute, route_pod, {}},
};

} // namespace

TEST_CASE("ADD warns once, and does the rest") {
    for (const Warning& warning : kWarnings) {
        Rig rig(warning.members);
        warning.prepare(rig);
        const std::string before = rig.machine.text();
        INFO(warning.members);
        REQUIRE(rig.add() == "");
        const std::string log = rig.take_log();
        INFO(log);
        CHECK(std::count(log.begin(), log.end(), '\n') == (warning.words.empty() ? 0 : 1));
        for (const std::string& word : warning.words) {
            INFO(word);
            CHECK(names(log, word));
        }
        CHECK(rig.check() == "");
        CHECK(rig.del() == "");
        CHECK(rig.machine.text() == before);
    }
}
