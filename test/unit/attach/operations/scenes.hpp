// Members of network configurations, and what machines have before ADD.
#pragma once

#include "kinds.hpp"

#include <catch2/catch.hpp>

#include <string>

namespace rdmanet::attach::test {

inline std::string vf(const std::string& members = {}) {
    return R"("attach": "sriov", "deviceID": "0000:3b:00.2")" + members;
}
inline std::string infiniband(const std::string& members = {}) {
    return R"("attach": "sriov", "deviceID": "0000:5e:00.1")" + members;
}
inline std::string nic(const std::string& members = {}) {
    return R"("attach": "host-device", "device": "eth7")" + members;
}
inline std::string macvlan(const std::string& members = {}) {
    return R"("attach": "macvlan", "master": "eth7")" + members;
}

/// Without RDMA.
inline std::string plain(const std::string& members = {}) {
    return macvlan(R"(, "rdma": false)" + members);
}

inline void nothing(Rig& /*rig*/) {}

inline kernel::fake::Function& vf_function(Rig& rig) {
    return rig.machine.function("0000:3b:00.2");
}

/// Another interface on the host that is on top of `lower`.
inline kernel::Link& stack(Rig& rig, const char* name, const char* kind, const char* lower) {
    auto& upper = rig.machine.add_virtual(name, kind).link;
    upper.parent_ifindex = rig.machine.netdev(lower).link.ifindex;
    return upper;
}

inline void route_by(Rig& rig, unsigned ifindex) {
    rig.machine.spaces.at(rig.machine.host)
        .routes.push_back({.destination = base::IpPrefix::parse("::/0").value(), .ifindex = ifindex});
}

inline void drop_link(Rig& rig, const std::string& name) {
    std::erase_if(rig.machine.spaces.at(rig.machine.host).netdevs,
                  [&](const kernel::fake::Netdev& each) { return each.link.name == name; });
}

/// The interface "net1" of an earlier plugin in the pod.
inline kernel::Link& earlier(Rig& rig, const char* kind) {
    rig.machine.add_virtual("net1", kind);
    auto& home = rig.machine.spaces.at(rig.machine.host).netdevs;
    auto& inside = rig.machine.spaces.at(rig.pod).netdevs;
    inside.push_back(home.back());
    home.pop_back();
    rig.prev_result = R"({"cniVersion": "1.1.0", "interfaces": [{"name": "net1", "sandbox": "/run/netns/pod"}]})";
    return inside.back().link;
}

/// Another pod has the device.
inline void attach_to_another_pod(Rig& rig) {
    rig.machine.add_netns("/run/netns/other");
    rig.netns = "/run/netns/other";
    rig.container = "c0";
    REQUIRE(rig.add() == "");
    rig.netns = kPodPath;
    rig.container = "c1";
}

} // namespace rdmanet::attach::test
