// What ADD refuses before it changes anything, with the thing and the fix.
#include "scenes.hpp"

#include "lookup/shared_rdma.hpp"

#include "support/names.hpp"

#include <catch2/catch.hpp>

#include <cerrno>

using namespace rdmanet;
using namespace rdmanet::attach::test;
using rdmanet::test::names;

namespace {

struct Refusal {
    std::string members;
    void (*prepare)(Rig& rig);
    std::vector<std::string> words;
};

const Refusal kRefusals[] = {
    // The device.
    {R"("attach": "sriov", "deviceID": "0000:3b:00.7")", nothing, {"0000:3b:00.7", "does not exist", "lspci"}},
    {R"("attach": "sriov", "deviceID": "0000:81:00.0")", nothing, {"0000:81:00.0", "not an SR-IOV VF", "host-device"}},
    {R"("attach": "sriov")", nothing, {"deviceID", "resourceName"}},
    {R"("attach": "host-device")", nothing, {"device", "hwaddr", "kernelpath", "deviceID"}},
    {vf(), [](Rig& rig) { drop_link(rig, "eth0"); }, {"0000:3b:00.2", "PF 0000:3b:00.0", "not on the host"}},
    {vf(), [](Rig& rig) { rig.machine.function("0000:3b:00.0").vfs.erase(0); }, {"VF 0", "reports no settings"}},
    {vf(), [](Rig& rig) { vf_function(rig).driver.clear(), drop_link(rig, "eth0v0"); }, {"no driver", "vfio-pci"}},
    {vf(), [](Rig& rig) { drop_link(rig, "eth0v0"); }, {"mlx5_core", "no net device", "ib_ipoib"}},
    {vf(),
     [](Rig& rig) { rig.machine.add_virtual("second", "").link.parent_device = "0000:3b:00.2"; },
     {"several net devices", "\"eth0v0\"", "\"second\""}},
    {R"("attach": "host-device", "device": "eth0")", nothing, {"PF of 2 VFs", "sriov_numvfs"}},
    {nic(),
     [](Rig& rig) {
         const unsigned master = rig.machine.add_virtual("bond0", "bond").link.ifindex;
         rig.machine.netdev("eth7").link.master_ifindex = master;
     },
     {"\"eth7\"", "a port of \"bond0\""}},
    {nic(), [](Rig& rig) { route_by(rig, rig.machine.netdev("eth7").link.ifindex); }, {"\"eth7\"", "default route"}},
    {nic(), [](Rig& rig) { route_by(rig, stack(rig, "eth7.5", "vlan", "eth7").ifindex); }, {"default route"}},
    {nic(), attach_to_another_pod, {"0000:81:00.0", "\"c0\"", "alive"}},
    {R"("attach": "host-device", "hwaddr": "02:00:00:00:81:00")", attach_to_another_pod, {"0000:81:00.0", "\"c0\""}},
    {nic(),
     [](Rig& rig) {
         attach_to_another_pod(rig);
         rig.machine.hidden = {"/run/netns/other"};
         std::erase_if(rig.machine.spaces, [](const auto& each) { return each.second.path == "/run/netns/other"; });
         rig.machine.doubt = "somebody hides";
     },
     {"\"c0\"", "not proven dead", "somebody hides"}},
    {R"("attach": "host-device", "device": "nope")", nothing, {"\"nope\"", "not an interface", "ip link"}},
    {R"("attach": "host-device", "hwaddr": "02:00:00:00:00:99")", nothing, {"hwaddr", "02:00:00:00:00:99"}},
    {nic(R"(, "deviceID": "0000:3b:00.2")"), nothing, {"\"eth7\"", "0000:81:00.0", "0000:3b:00.2"}},
    {nic(), [](Rig& rig) { rig.machine.netdev("eth7").link.parent_device = "usb1"; }, {"\"eth7\"", "neither virtual"}},
    {vf(),
     [](Rig& rig) {
         rig.machine.netdev("eth0v0").link.altnames = {"alt0"};
         earlier(rig, "veth").name = "other";
         rig.machine.netdev("other", rig.pod).link.altnames = {"alt0"};
     },
     {"\"alt0\"", "\"other\"", kPodPath}},
    {vf(), [](Rig& rig) { earlier(rig, "veth"); }, {"code 101", "\"net1\"", "already exists"}},
    {vf(),
     [](Rig& rig) { earlier(rig, "veth").name = "lo", rig.machine.netdev("lo", rig.pod).link.altnames = {"net1"}; },
     {"\"net1\"", "already exists"}},
    // Settings.
    {vf(R"(, "vlan": 100, "trust": "on")"),
     [](Rig& rig) { // takes the two seconds that a driver may need
         rig.machine.function("0000:3b:00.0").vfs.at(0).vlan->id = 7;
         rig.machine.ignores = {"vf 0 vlan", "vf 0 trust"};
     },
     {"code 102", "0000:3b:00.2", "vlan 7", "expected vlan 100", "trust off", "trust on", "ignores it"}},
    {vf(R"(, "mtu": 1501)"), nothing, {"mtu: 1501", "1500", "\"eth0\""}},
    {vf(R"(, "guid": "02:00:00:00:00:00:00:42")"), nothing, {"guid", "Ethernet"}},
    {infiniband(R"(, "vlan": 5)"), nothing, {"vlan", "InfiniBand"}},
    {infiniband(R"(, "spoofchk": "on")"), nothing, {"spoofchk", "InfiniBand"}},
    {infiniband(R"(, "trust": "on")"), nothing, {"trust", "InfiniBand"}},
    {infiniband(R"(, "max_tx_rate": 5)"), nothing, {"max_tx_rate", "InfiniBand"}},
    {infiniband(R"(, "min_tx_rate": 5)"), nothing, {"min_tx_rate", "InfiniBand"}},
    {infiniband(R"(, "mac": "02:00:00:00:00:42")"), nothing, {"mac: 02:00:00:00:00:42", "\"guid\""}},
    {infiniband(R"(, "rdma": {"linkLocalGids": false})"), nothing, {"rdma.linkLocalGids", "InfiniBand"}},
    {infiniband(R"(, "duplicateAddressDetection": "probe")"), nothing, {"duplicateAddressDetection", "InfiniBand"}},
    {infiniband(R"(, "guid": "02:00:00:00:00:00:00:42")"),
     [](Rig& rig) {
         auto& vfs = rig.machine.function("0000:5e:00.0").vfs;
         vfs[1] = {.port_guid = base::Guid(0x0200000000000042)};
         auto other = rig.machine.function("0000:5e:00.1");
         other.vf_of->number = 1;
         other.netdev = "ib0v1";
         rig.machine.add_function("0000:5e:00.2", other);
     },
     {"02:00:00:00:00:00:00:42", "VF 1", "no attachment"}},
    {infiniband(),
     [](Rig& rig) {
         auto& address = rig.machine.netdev("ib0v0").link.hardware_address;
         std::fill(address.begin() + 12, address.end(), static_cast<unsigned char>(0));
     },
     {"no valid GUID", "\"guid\"", "port_guid"}},
    {infiniband(R"(, "guid": "02:00:00:00:00:00:00:42")"),
     [](Rig& rig) { stack(rig, "ib0v0.1", "ipoib", "ib0v0"); },
     {"0000:5e:00.1", "\"ib0v0.1\"", "remove it"}},
    {infiniband(), [](Rig& rig) { stack(rig, "ib0v0.1", "ipoib", "ib0v0"); }, {"0000:5e:00.1", "\"ib0v0.1\""}},
    {vf(R"(, "mtu": 1279, "ipam": {"type": "rdmanet", "range": "fd09::/64"})"), nothing, {"mtu: 1279", "1280"}},
    // RDMA devices that move.
    {vf(), [](Rig& rig) { rig.machine.rdma("mlx5_1").users = {1}; }, {"\"mlx5_1\"", "in use", "stop it"}},
    {vf(), [](Rig& rig) { rig.machine.rdma("mlx5_1").users = {0}; }, {"\"mlx5_1\"", "another PID namespace"}},
    {vf(),
     [](Rig& rig) {
         rig.machine.rdma("mlx5_1").modules = {"ib_core", "smc", "rdma_x", "smc"};
     },
     {"\"rdma_x\" (1 queue pair), \"smc\" (2 queue pairs)", "kernel modules"}},
    {vf(R"(, "rdma": true)"),
     [](Rig& rig) { rig.machine.rdma("mlx5_1").is_movable = false; },
     {"\"mlx5_1\"", "cannot move", "\"mode\": \"shared\""}},
    {vf(R"(, "rdma": true)"),
     [](Rig& rig) {
         std::erase_if(rig.machine.spaces.at(rig.machine.host).rdma,
                       [](const auto& each) { return each.function == "0000:3b:00.2"; });
     },
     {"0000:3b:00.2", "no RDMA device", "mlx5_ib"}},
    {vf(R"(, "rdma": true)"), [](Rig& rig) { rig.machine.has_rdma = false; }, {"0000:3b:00.2", "no RDMA device"}},
    {vf(R"(, "rdma": true)"), kUserSpace.prepare, {"\"vfio-pci\"", "creates no RDMA device"}},
    {vf(R"(, "rdma": {"device": 1})"), nothing, {"rdma.device", "0000:3b:00.2", "0 (\"mlx5_1\")"}},
    {vf(R"(, "rdma": {"name": "rdma0"})"), double_rdma, {"rdma.name", "\"rdma0\"", "2 RDMA devices", "rdma.device"}},
    {vf(R"(, "rdma": {"name": "rdma0"})"),
     [](Rig& rig) {
         rig.machine.spaces.at(rig.pod).rdma.push_back(
             {.device = {.index = 90, .name = "rdma0"}, .function = "0000:81:00.0"});
     },
     {"rdma.name", "\"rdma0\"", kPodPath}},
    {vf(R"(, "rdma": {"name": "mlx5_0"})"), nothing, {"rdma.name", "\"mlx5_0\"", "each name once"}},
    {vf(R"(, "rdma": {"mode": "exclusive"})"), share, {"exclusive", "`rdma system set netns exclusive`"}},
    {vf(R"(, "rdma": {"mode": "exclusive"})"),
     [](Rig& rig) { share(rig), rig.machine.has_modes = false; },
     {"cannot move RDMA devices", "Linux 5.3", "\"macvlan\""}},
    {vf(R"(, "rdma": {"mode": "shared"})"), nothing, {"shared", "`rdma system set netns shared`"}},
    {vf(),
     [](Rig& rig) {
         rig.machine.fails = [&](std::size_t, const std::string& what) {
             if (what == "move RDMA mlx5_1 to pod") rig.machine.rdma("mlx5_1").uverbs = "uverbs9";
             return 0;
         };
     },
     {"\"mlx5_1\"", "/dev/infiniband/uverbs9", "/dev/infiniband/uverbs1"}},
    {infiniband(R"(, "guid": "02:00:00:00:00:00:00:42")"),
     [](Rig& rig) {
         rig.machine.fails = [&](std::size_t, const std::string& what) {
             if (what.starts_with("unbind")) rig.machine.rdma("mlx5_1").uverbs = "uverbs4"; // it takes the free number
             return 0;
         };
     },
     {"/dev/infiniband/uverbs1", "/dev/infiniband/uverbs4", "bound again"}},
    // Reset.
    {vf(R"(, "reset": true)"),
     [](Rig& rig) { vf_function(rig).resettable = kernel::Resettable::no; },
     {"cannot be reset", "0000:3b:00.2/reset"}},
    {vf(R"(, "reset": true)"),
     [](Rig& rig) { vf_function(rig).resettable = kernel::Resettable::switched_off; },
     {"switched off", "echo default"}},
    {vf(R"(, "reset": true)"),
     [](Rig& rig) { vf_function(rig).driver = "uio_pci_generic", drop_link(rig, "eth0v0"); },
     {"cannot be reset with driver \"uio_pci_generic\""}},
    {vf(R"(, "reset": true)"), [](Rig& rig) { rig.machine.rdma("mlx5_1").users = {1}; }, {"\"mlx5_1\"", "in use"}},
    {vf(R"(, "reset": true)"), [](Rig& rig) { stack(rig, "mv0", "macvlan", "eth0v0"); }, {"\"mv0\" on the host"}},
    // Virtual interfaces.
    {kVirtual.members + R"(, "rdma": true)", kVirtual.prepare, {"\"veth0\"", "veth", "\"rdma\""}},
    {kVirtual.members + R"(, "reset": true)", kVirtual.prepare, {"reset: true", "\"veth0\""}},
    // After another plugin.
    {kRdmaOnly.members, nothing, {"prevResult", "after the plugin"}},
    {kRdmaOnly.members, [](Rig& rig) { earlier(rig, "veth"); }, {"\"net1\" (veth)", "not on the PCI"}},
    {kRdmaOnly.members, [](Rig& rig) { earlier(rig, "veth").name = "net2"; }, {"\"net1\" is not in", kPodPath}},
    {kRdmaOnly.members,
     [](Rig& rig) {
         kernel::Link& link = earlier(rig, "ipoib");
         link.parent_device = "0000:5e:00.1";
         link.hardware_type = 32;
     },
     {"0000:5e:00.1", "InfiniBand", "\"net1\""}},
    // Parents.
    {macvlan(),
     [](Rig& rig) { rig.machine.netdev("eth7").link.flags = 0; },
     {"\"eth7\" is down", "`ip link set eth7 up`"}},
    {macvlan(R"(, "mtu": 1501)"), share, {"mtu: 1501", "1500", "\"eth7\""}},
    {R"("attach": "macvlan", "master": "inner0", "linkInContainer": true)",
     nothing,
     {"\"inner0\"", "not an interface in the pod"}},
    {R"("attach": "macvlan", "master": "ib0")", share, {"\"ib0\"", "InfiniBand", "ipoib"}},
    {R"("attach": "macvlan", "master": "nope")", share, {"\"nope\"", "neither an interface nor an RDMA device"}},
    {R"("attach": "macvlan")", share, {"\"master\"", "no default route"}},
    {R"("attach": "ipoib", "master": "eth7")", share, {"\"eth7\"", "not an IPoIB interface"}},
    {R"("attach": "ipoib", "master": "ib0.1")",
     [](Rig& rig) { stack(rig, "ib0.1", "ipoib", "ib0"); },
     {"\"ib0.1\"", "itself an IPoIB child"}},
    {R"("attach": "ipoib", "master": "ib0", "mtu": 5000)", share, {"mtu: 5000", "2044", "\"ib0\""}},
    {R"("attach": "ipoib", "master": "ib0", "mode": "connected", "mtu": 65521)", share, {"mtu: 65521", "65520"}},
    {macvlan(R"(, "rdma": true)"), nothing, {"exclusive", "`rdma system set netns shared`"}},
    {macvlan(R"(, "rdma": true)"), [](Rig& rig) { rig.machine.has_rdma = false; }, {"no RDMA driver", "mlx5_ib"}},
    {R"("attach": "macvlan", "master": "veth0", "rdma": true)",
     [](Rig& rig) { kVirtual.prepare(rig), share(rig); },
     {"\"veth0\"", "no RDMA device", "rdma link"}},
    {kIpvlan.members,
     [](Rig& rig) {
         share(rig);
         rig.members.replace(rig.members.find("l3"), 2, "l2");
         attach_to_another_pod(rig);
         rig.members.replace(rig.members.find("l2"), 2, "l3");
     },
     {"\"eth7\"", "ipvlan mode l2", "ipvlan mode l3", "\"c0\"", "\"mode\""}},
    // GIDs and ports.
    {macvlan(R"(, "rdma": true)") + kIpam,
     [](Rig& rig) {
         share(rig);
         for (unsigned at = 0; at < 8; ++at)
             rig.machine.netdev("eth7").addresses.push_back({.prefix = base::IpPrefix::parse("10.8.0.1/24").value()});
     },
     {"\"eth7\"", "16 of 16", "2 more"}},
    {macvlan(R"(, "rdma": true)") + kIpam,
     [](Rig& rig) {
         share(rig);
         attach_to_another_pod(rig);
         auto& holder = rig.machine.netdev("net1", kernel::get_netns("/run/netns/other").id().inode);
         holder.addresses.resize(8, holder.addresses.front());
     },
     {"\"eth7\"", "16 of 16", "most belong to", "\"c0\""}},
    {macvlan(R"(, "rdma": {"maxGids": 3})") + kIpam, share, {"rdma.maxGids", "3", "4"}},
    {macvlan(R"(, "rdma": {"gidTimeoutMs": 1, "onMissingGid": "refuse"})") + kIpam,
     [](Rig& rig) {
         share(rig);
         rig.machine.has_gids = false;
     },
     {"10.9.0.1", "GID"}},
    {macvlan(R"(, "rdma": {"onInactivePort": "refuse"})"),
     [](Rig& rig) {
         share(rig);
         rig.machine.rdma("mlx5_5").state = kernel::PortState::down;
     },
     {"\"mlx5_5\"", "not active", "\"eth7\""}},
    {vf(R"(, "rdma": {"onInactivePort": "refuse"})"),
     [](Rig& rig) { rig.machine.function("0000:3b:00.0").vfs.at(0).link_state = kernel::VfLinkState::disable; },
     {"VF 0", "link state disable", "`ip link set eth0 vf 0 state auto`"}},
    {vf(R"(, "rdma": {"onInactivePort": "refuse"})"),
     [](Rig& rig) { rig.machine.rdma("mlx5_0").state = kernel::PortState::down; },
     {"\"mlx5_0\"", "\"eth0\""}},
    {nic(R"(, "rdma": {"onInactivePort": "refuse"})"),
     [](Rig& rig) { rig.machine.rdma("mlx5_5").state = kernel::PortState::initializing; },
     {"\"mlx5_5\"", "state init"}},
};

} // namespace

TEST_CASE("what cannot work is refused with the thing and the fix, and leaves the machine as it was") {
    for (const Refusal& refusal : kRefusals) {
        Rig rig(refusal.members);
        refusal.prepare(rig);
        const std::string before = rig.machine.text();
        const std::size_t records = rig.records().size();
        rig.machine.changes.clear();
        const std::string planned = rig.refusal_of_plan();
        const std::string error = rig.add();
        INFO(refusal.members << ": " << error);
        REQUIRE(error != "");
        CHECK(planned == (rig.machine.changes.empty() ? error : ""));
        for (const std::string& word : refusal.words) {
            INFO(word);
            CHECK(names(error, word));
        }
        rig.machine.fails = {};
        CHECK(rig.machine.text() == before);
        CHECK(rig.records().size() == records);
    }
}

TEST_CASE("a full GID table is refused with its fix although nobody can say whose entries they are") {
    Rig rig(macvlan());
    share(rig);
    rig.machine.netdev("eth7").addresses.resize(8, {.prefix = base::IpPrefix::parse("10.8.0.1/24").value()});
    auto rdma = kernel::Socket::find_rdma(base::Deadline::in(std::chrono::seconds(60)));
    const auto port = kernel::find_rdma_port(*rdma, rig.machine.netdev("eth7").link);
    const auto fail = []() -> std::string { throw base::Error("no journal"); };
    config::Config config;
    config.rdma.on_missing_gid = config::OnMissingGid::refuse;
    const Node node = rig.node();
    Call call(node, base::Deadline::in(std::chrono::seconds(60)));
    call.config = &config;
    CHECK_THROWS_WITH(attach::require_gid_room(*port, "eth7", 1, fail, call),
                      rdmanet::test::Names("16 of 16", "remove pods") && !Catch::Contains("belong"));
}
