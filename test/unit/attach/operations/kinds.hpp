// The kinds of attachments that tests of operations run through.
#pragma once

#include "rig.hpp"

#include <rdmanet/base/mac_address.hpp>

#include <linux/if.h>

#include <string>

namespace rdmanet::attach::test {

inline constexpr const char* kIpam = R"(, "ipam": {"type": "rdmanet", "range": "10.9.0.0/24", "cooldown": 0})";

struct Kind {
    const char* name;
    std::string members;
    void (*prepare)(Rig& rig) = [](Rig&) {};
    const char* plan = ""; // lines of `rdmanet plan`, without the first one, about the lease
    const char* add = "";  // what ADD changes, without addresses and "up" at the end
    const char* del = "";  // what DEL changes
};

inline void share(Rig& rig) {
    rig.machine.mode = kernel::RdmaNetnsMode::shared;
}

/// The driver of the function makes two RDMA devices.
inline void double_rdma(Rig& rig) {
    rig.machine.remove_made("0000:3b:00.2");
    rig.machine.function("0000:3b:00.2").rdma_count = 2;
    rig.machine.probe("0000:3b:00.2");
}

inline void add_representor(Rig& rig) {
    rig.machine.netdev("eth0").link.mtu = 9216;
    rig.machine.function("0000:3b:00.0").representors = {{0, "eth0_0"}, {1, "eth0_1"}};
    for (const char* name : {"eth0_1", "eth0_0"}) rig.machine.add_virtual(name, "").link.flags = 0;
}

/// An earlier plugin has moved the VF's interface into the pod.
inline void move_interface(Rig& rig) {
    auto& home = rig.machine.spaces.at(rig.machine.host).netdevs;
    auto& inside = rig.machine.spaces.at(rig.pod).netdevs;
    inside.push_back(rig.machine.netdev("eth0v0"));
    std::erase_if(home, [](const kernel::fake::Netdev& each) { return each.link.name == "eth0v0"; });
    inside.back().link.name = "net1";
    rig.prev_result = R"({"cniVersion": "1.1.0", "interfaces": [{"name": "net1", "sandbox": "/run/netns/pod"}]})";
}

/// What a pod with CAP_NET_ADMIN can set on its interface. The host cannot do without the first settings: DEL fails if
/// it cannot restore them.
inline void meddle(Rig& rig) {
    for (kernel::fake::Netdev& each : rig.machine.spaces.at(rig.pod).netdevs) {
        kernel::Link& link = each.link;
        link.name = "renamed0";
        // A virtual interface on the host is known by its MAC.
        if (!link.is_infiniband() && !link.parent_device.empty()) link.hardware_address = {2, 0xee, 0, 0, 0, 1};
        link.mtu = 1300;
        link.flags |= static_cast<unsigned>(IFF_PROMISC | IFF_ALLMULTI) | kernel::fake::kUp;
        link.altnames.emplace_back("of-the-pod");
    }
}

/// DEL only warns if it cannot restore these.
inline void meddle_more(Rig& rig) {
    for (kernel::fake::Netdev& each : rig.machine.spaces.at(rig.pod).netdevs) {
        if (!each.link.is_infiniband()) each.link.hardware_address = {2, 0xee, 0, 0, 0, 1};
        each.link.alias = "of the pod";
        each.link.ipv6_address_mode = 1;
        each.link.tuning.transmit_queue_length = 7;
        each.link.tuning.gso_max_size = 3000;
        each.link.xdp.push_back({.id = 5, .mode = 1});
        for (auto& [file, value] : each.files) value = "7";
        if (!each.features.wanted.empty()) each.features.wanted = each.features.active = {2};
    }
    for (kernel::fake::Rdma& each : rig.machine.spaces.at(rig.pod).rdma) each.device.name += "pod";
}

// In the order of the changes.
inline const Kind kVf{
    .name = "a VF with settings",
    .members = R"("attach": "sriov", "deviceID": "0000:3b:00.2", "vlan": 100, "vlanQoS": 3, "mac": "02:00:00:00:00:42",
        "spoofchk": "off", "trust": "on", "link_state": "enable", "max_tx_rate": 200, "mtu": 1400)",
    .plan = R"(
set VF 0 of "eth0": mac 00:00:00:00:00:00 -> mac 02:00:00:00:00:42, vlan 0 -> vlan 100 qos 3, rates 0 to 0 Mbit/s -> rates 0 to 200 Mbit/s, spoofchk on -> spoofchk off, trust off -> trust on, link_state auto -> link_state enable
move interface "eth0v0" into the pod as "net1", MTU 1500 -> 1400, MAC 02:00:00:00:3b:02 -> 02:00:00:00:00:42
move RDMA device "mlx5_1" into the pod
set it up with its addresses)",
    .add = R"(
set eth0 vf 0 mac 02:00:00:00:00:42
set eth0 vf 0 vlan 100 qos 3
set eth0 vf 0 rates 0 to 200 Mbit/s
set eth0 vf 0 spoofchk off
set eth0 vf 0 trust on
set eth0 vf 0 link_state enable
set eth0v0 to pod name net1 mac 02:00:00:00:00:42 mtu 1400 down
move RDMA mlx5_1 to pod)",
    .del = R"(
move RDMA mlx5_1 to host
set pod's net1 to host name eth0v0 down
set eth0 vf 0 mac 00:00:00:00:00:00
set eth0 vf 0 vlan 0
set eth0 vf 0 rates 0 to 0 Mbit/s
set eth0 vf 0 spoofchk on
set eth0 vf 0 trust off
set eth0 vf 0 link_state auto
set eth0v0 mac 02:00:00:00:3b:02 mtu 1500)"};
inline const Kind kResetVf{
    .name = "a VF that is reset, one of whose RDMA devices moves",
    .members =
        R"("attach": "sriov", "deviceID": "0000:3b:00.2", "reset": true, "rdma": {"device": 1, "name": "rdma0"})",
    .prepare = double_rdma,
    .plan = R"(
leave the settings of VF 0 of "eth0" as they are
move interface "eth0v0" into the pod as "net1", MTU 1500
move RDMA device "mlx5_6" into the pod as "rdma0"
leave RDMA device "mlx5_1" on the host
set it up with its addresses
reset device 0000:3b:00.2 when the pod is gone)",
    .add = R"(
set eth0v0 to pod name net1 down
move RDMA mlx5_6 to pod
rename RDMA mlx5_6 to rdma0)",
    .del = R"(
move RDMA rdma0 to host
rename RDMA rdma0 to mlx5_6
set pod's net1 to host name eth0v0 down
unbind 0000:3b:00.2
reset 0000:3b:00.2
bind 0000:3b:00.2 to mlx5_core)"};
inline const Kind kSharedVf{.name = "a VF whose RDMA device stays",
                            .members = R"("attach": "sriov", "deviceID": "0000:3b:00.2", "vlan": 0, "trust": "on")",
                            .prepare = share,
                            .plan = R"(
set VF 0 of "eth0": trust off -> trust on
move interface "eth0v0" into the pod as "net1", MTU 1500
set it up with its addresses
share port 1 of RDMA device "mlx5_1", which stays on the host)",
                            .add = R"(
set eth0 vf 0 trust on
set eth0v0 to pod name net1 down)",
                            .del = R"(
set pod's net1 to host name eth0v0 down
set eth0 vf 0 trust off)"};
inline const Kind kSwitchdevVf{.name = "a VF with a representor",
                               .members = R"("attach": "sriov", "deviceID": "0000:3b:00.2", "mtu": 9000)",
                               .prepare = add_representor,
                               .plan = R"(
leave the settings of VF 0 of "eth0" as they are
set its representor "eth0_0", up, MTU 1500 -> 9000, without IPv6
move interface "eth0v0" into the pod as "net1", MTU 1500 -> 9000
move RDMA device "mlx5_1" into the pod
set it up with its addresses)",
                               .add = R"(
set eth0_0 disable_ipv6 1
set eth0_0 mtu 9000 up
set eth0v0 to pod name net1 mtu 9000 down
move RDMA mlx5_1 to pod)",
                               .del = R"(
move RDMA mlx5_1 to host
set pod's net1 to host name eth0v0 down
set eth0_0 mtu 1500 down
set eth0_0 disable_ipv6 0
set eth0v0 mtu 1500)"};
inline const Kind kGuid{.name = "an InfiniBand VF that gets a GUID",
                        .members =
                            R"("attach": "sriov", "deviceID": "0000:5e:00.1", "guid": "02:00:00:00:00:00:00:42")",
                        .plan = R"(
set VF 0 of "ib0": node_guid 02:00:00:00:00:00:5e:00 -> node_guid 02:00:00:00:00:00:00:42, port_guid 02:00:00:00:00:00:5e:01 -> port_guid 02:00:00:00:00:00:00:42
bind driver "mlx5_core" of device 0000:5e:00.1 again, so that it takes the GUID
move RDMA device "mlx5_4" into the pod
move interface "ib0v0" into the pod as "net1", MTU 2044
set it up with its addresses)",
                        .add = R"(
set ib0 vf 0 node_guid 02:00:00:00:00:00:00:42
set ib0 vf 0 port_guid 02:00:00:00:00:00:00:42
unbind 0000:5e:00.1
bind 0000:5e:00.1 to mlx5_core
move RDMA mlx5_4 to pod
set ib0v0 to pod name net1 down)",
                        .del = R"(
move RDMA mlx5_4 to host
set ib0 vf 0 node_guid 02:00:00:00:00:00:5e:00
set ib0 vf 0 port_guid 02:00:00:00:00:00:5e:01
unbind 0000:5e:00.1
bind 0000:5e:00.1 to mlx5_core)"};
inline const Kind kIpoib{
    .name = "an IPoIB child",
    .members = R"("attach": "ipoib", "master": "ib0", "pkey": "0x8001", "mode": "connected", "mtu": 4000)",
    .prepare = share,
    .plan = R"(
make interface "net1" in the pod: ipoib pkey 0x8001 mode connected on parent "ib0", MTU 4000
set it up with its addresses)",
    .add = R"(
add net1 on ib0: ipoib pkey 0x8001 mode connected
set pod's net1 mtu 4000
set pod's net1 alias rdmanet)",
    .del = R"(
set pod's net1 down
remove pod's net1)"};
inline const Kind kMacvlan{.name = "a macvlan child",
                           .members = R"("attach": "macvlan", "master": "eth7", "mtu": 1400)",
                           .prepare = share,
                           .plan = R"(
make interface "net1" in the pod: macvlan mode bridge on parent "eth7", MTU 1400, a MAC of its own
set it up with its addresses
share port 1 of RDMA device "mlx5_5", which stays on the host)",
                           .add = R"(
add net1 on eth7: macvlan mode bridge)",
                           .del = R"(
remove pod's net1)"};
inline const Kind kPassthru{
    .name = "a macvlan child that has its parent alone",
    .members = R"("attach": "macvlan", "master": "eth7", "mode": "passthru", "mac": "02:00:00:00:00:42")",
    .prepare = share,
    .plan = R"(
make interface "net1" in the pod: macvlan mode passthru on parent "eth7", MTU 1500, MAC 02:00:00:00:00:42
set it up with its addresses
share port 1 of RDMA device "mlx5_5", which stays on the host)",
    .add = R"(
add net1 on eth7: macvlan mode passthru
set pod's net1 mac 02:00:00:00:00:42)",
    .del = R"(
remove pod's net1)"};
inline const Kind kIpvlan{.name = "an ipvlan child",
                          .members = R"("attach": "ipvlan", "master": "eth7", "mode": "l3")",
                          .prepare = share,
                          .plan = R"(
make interface "net1" in the pod: ipvlan mode l3 flag bridge on parent "eth7", MTU 1500
set it up with its addresses
share port 1 of RDMA device "mlx5_5", which stays on the host)",
                          .add = R"(
add net1 on eth7: ipvlan mode l3 flag bridge)",
                          .del = R"(
remove pod's net1)"};
inline const Kind kNic{.name = "a whole NIC",
                       .members = R"("attach": "host-device", "device": "eth7", "mac": "02:00:00:00:00:42")",
                       .plan = R"(
move interface "eth7" into the pod as "net1", MTU 1500, MAC 02:00:00:00:81:00 -> 02:00:00:00:00:42
move RDMA device "mlx5_5" into the pod
set it up with its addresses)",
                       .add = R"(
set eth7 to pod name net1 mac 02:00:00:00:00:42 down
move RDMA mlx5_5 to pod)",
                       .del = R"(
move RDMA mlx5_5 to host
set pod's net1 to host name eth7 down
set eth7 mac 02:00:00:00:81:00
set eth7 up)"};
inline const Kind kVirtual{.name = "a virtual interface",
                           .members = R"("attach": "host-device", "device": "veth0", "mtu": 1400)",
                           .prepare = [](Rig& rig) { rig.machine.add_virtual("veth0", "veth"); },
                           .plan = R"(
move interface "veth0" into the pod as "net1", MTU 1500 -> 1400
set it up with its addresses
give it no RDMA device)",
                           .add = R"(
set veth0 to pod name net1 mtu 1400 down)",
                           .del = R"(
set pod's net1 to host name veth0 down
set veth0 mtu 1500
set veth0 up)"};
inline const Kind kUserSpace{
    .name = "a VF for a driver in user space",
    .members = R"("attach": "sriov", "deviceID": "0000:3b:00.2", "vlan": 100, "mac": "02:00:00:00:00:42")",
    .prepare =
        [](Rig& rig) {
            rig.machine.remove_made("0000:3b:00.2");
            rig.machine.function("0000:3b:00.2").driver = "vfio-pci";
        },
    .plan = R"(
set VF 0 of "eth0": mac 00:00:00:00:00:00 -> mac 02:00:00:00:00:42, vlan 0 -> vlan 100
leave device 0000:3b:00.2 with driver "vfio-pci" and without an interface
give it no RDMA device)",
    .add = R"(
set eth0 vf 0 mac 02:00:00:00:00:42
set eth0 vf 0 vlan 100)",
    .del = R"(
set eth0 vf 0 mac 00:00:00:00:00:00
set eth0 vf 0 vlan 0)"};
inline const Kind kRdmaOnly{.name = "the RDMA device of an earlier plugin's interface",
                            .members = R"("attach": "rdma")",
                            .prepare = move_interface,
                            .plan = R"(
move RDMA device "mlx5_1" into the pod)",
                            .add = R"(
move RDMA mlx5_1 to pod)",
                            .del = R"(
move RDMA mlx5_1 to host)"};

inline const Kind* const kKinds[] = {&kVf,      &kResetVf,   &kSharedVf, &kSwitchdevVf, &kGuid,
                                     &kIpoib,   &kMacvlan,   &kPassthru, &kIpvlan,      &kNic,
                                     &kVirtual, &kUserSpace, &kRdmaOnly};

inline bool has_addresses(const Kind& kind) {
    return &kind != &kRdmaOnly && &kind != &kUserSpace;
}

} // namespace rdmanet::attach::test
