// What CHECK and `rdmanet check` find, after something has changed.
#include "kinds.hpp"

#include "support/names.hpp"

#include <catch2/catch.hpp>

using namespace rdmanet;
using namespace rdmanet::attach::test;
using rdmanet::test::names;

namespace {

struct Difference {
    const Kind& kind;
    const char* members; // more of the configuration
    void (*change)(Rig& rig);
    std::vector<std::string> words; // none: no difference
    bool is_of_record = true;       // `rdmanet check`, which has no configuration, finds it, too
};

kernel::fake::Netdev& inside(Rig& rig) {
    return rig.machine.netdev("net1", rig.pod);
}

kernel::VfSettings& vf(Rig& rig) {
    return rig.machine.function("0000:3b:00.0").vfs.at(0);
}

constexpr const char* kStrictPort = R"(, "rdma": {"onInactivePort": "refuse"})";
constexpr const char* kRequired = R"(, "rdma": {"onMissingGid": "refuse"})";
constexpr const char* kDelete = "delete the pod";

const Difference kDifferences[] = {
    // The interface.
    {kVf, "", [](Rig& rig) { inside(rig).link.name = "other"; }, {"\"net1\" is gone", kPodPath, kDelete}},
    {kVf, "", [](Rig& rig) { inside(rig).link.flags = 0; }, {"\"net1\" is down", kDelete}},
    {kVf,
     "",
     [](Rig& rig) { inside(rig).link.hardware_address[5] = 9; },
     {"MAC 02:00:00:00:00:09", "02:00:00:00:00:42"}},
    {kVf, "", [](Rig& rig) { inside(rig).link.mtu = 1300; }, {}},
    {kVf,
     "",
     [](Rig& rig) { inside(rig).link.parent_device = "0000:3b:00.3"; },
     {"0000:3b:00.3", "0000:3b:00.2"},
     false},
    {kVf, "", [](Rig& rig) { inside(rig).addresses.clear(); }, {"\"net1\" lacks address 10.9.0.1/24"}},
    {kVf, "", [](Rig& rig) { inside(rig).addresses.front().is_duplicate = true; }, {"10.9.0.1/24", "duplicate"}},
    {kVf,
     "",
     [](Rig& rig) { inside(rig).addresses.push_back({.prefix = base::IpPrefix::parse("10.1.1.1/24").value()}); },
     {}},
    {kVf,
     R"(, "ipam": {"type": "rdmanet", "range": "10.9.0.0/24", "routes": [{"dst": "10.7.0.0/16"}]})",
     [](Rig& rig) { rig.machine.spaces.at(rig.pod).routes.clear(); },
     {"10.7.0.0/16", "\"net1\""}},
    {kVirtual, "", [](Rig& rig) { inside(rig).link.kind = "dummy"; }, {"kind \"dummy\"", "\"veth\""}},
    {kMacvlan, "", [](Rig& rig) { inside(rig).link.kind = "ipvlan"; }, {"kind \"ipvlan\"", "macvlan"}},
    {kMacvlan, "", [](Rig& rig) { inside(rig).link.macvlan->mode = kernel::MacvlanMode::vepa; }, {"vepa", "bridge"}},
    {kMacvlan,
     "",
     [](Rig& rig) { inside(rig).link.parent_ifindex = rig.machine.netdev("eth0").link.ifindex; },
     {"parent \"eth0\"", "parent \"eth7\""}},
    {kMacvlan, "", [](Rig& rig) { inside(rig).link.parent_ifindex = 999; }, {"not on the host", "parent \"eth7\""}},
    {kMacvlan, "", [](Rig& rig) { inside(rig).link.parent_ifindex.reset(); }, {"no parent"}},
    {kIpvlan, "", [](Rig& rig) { inside(rig).link.ipvlan->mode = kernel::IpvlanMode::l2; }, {"l2", "l3"}},
    {kIpoib, "", [](Rig& rig) { inside(rig).link.ipoib->pkey = 0x8002; }, {"0x8002", "0x8001"}},
    {kIpoib,
     "",
     [](Rig& rig) { inside(rig).link.ipoib->mode = kernel::IpoibMode::datagram; },
     {"datagram", "connected"}},
    // The device and its settings.
    {kVf, "", [](Rig& rig) { rig.machine.functions.erase("0000:3b:00.2"); }, {"0000:3b:00.2", "gone from the node"}},
    {kVf, "", [](Rig& rig) { vf(rig).vlan->id = 7; }, {"vlan 7", "vlan 100", "`ip link set eth0 vf 0 vlan 100 qos 3`"}},
    {kVf, "", [](Rig& rig) { vf(rig).trust = false; }, {"trust off", "trust on"}},
    {kVf, "", [](Rig& rig) { vf(rig).mac = base::MacAddress::parse("02:00:00:00:00:43"); }, {"02:00:00:00:00:43"}},
    {kSharedVf,
     "",
     [](Rig& rig) { vf(rig).rates = kernel::VfRates{.most_mbps = 9}; },
     {"rates 0 to 9 Mbit/s", "`ip link set eth0 vf 0 max_tx_rate 0 min_tx_rate 0`"}},
    {kSharedVf,
     "",
     [](Rig& rig) { vf(rig).mac = base::MacAddress::parse("02:00:00:00:00:43"); },
     {"02:00:00:00:00:43"}},
    {kSharedVf, "", [](Rig& rig) { vf(rig).mac = inside(rig).link.mac(); }, {}}, // the VF's own
    {kGuid,
     "",
     [](Rig& rig) { inside(rig).link.hardware_address[19] = 0x43; },
     {"MAC 00:00:00:00:fe:80:00:00:00:00:00:00:02:00:00:00:00:00:00:43"}},
    {kGuid,
     "",
     [](Rig& rig) { // which the driver has not taken
         rig.members.replace(rig.members.find("00:42"), 5, "00:43");
         auto& settings = rig.machine.function("0000:5e:00.0").vfs.at(0);
         settings.node_guid = settings.port_guid = base::Guid(0x0200000000000043);
     },
     {"GUID 02:00:00:00:00:00:00:42", "02:00:00:00:00:00:00:43", "only when it is bound"}},
    {kSwitchdevVf,
     "",
     [](Rig& rig) { rig.machine.netdev("eth0_0").link.flags = 0; },
     {"\"eth0_0\"", "down", "`ip link set"}},
    {kSwitchdevVf,
     "",
     [](Rig& rig) { rig.machine.netdev("eth0_0").link.mtu = 8999; },
     {"\"eth0_0\"", "8999", "9000"},
     false},
    {kSwitchdevVf, "", [](Rig& rig) { rig.machine.netdev("eth0_0").link.mtu = 9100; }, {}},
    {kSwitchdevVf,
     "",
     [](Rig& rig) { rig.machine.function("0000:3b:00.0").representors.erase(0); },
     {"\"eth0_0\"", "gone from the host"}},
    // RDMA.
    {kVf, "", [](Rig& rig) { rig.machine.spaces.at(rig.pod).rdma.clear(); }, {"\"mlx5_1\"", "gone from the pod"}},
    {kResetVf, "", [](Rig& rig) { rig.machine.rdma("rdma0", rig.pod).device.name = "x"; }, {"\"x\"", "\"rdma0\""}},
    {kSharedVf, "", [](Rig& rig) { rig.machine.rdma("mlx5_1").device.name = "x"; }, {"mlx5_1", "gone from the host"}},
    {kSharedVf,
     "",
     [](Rig& rig) { rig.members += R"(, "rdma": {"mode": "exclusive"})"; },
     {"mlx5_1", "stayed on the host"},
     false},
    {kVf, "", [](Rig& rig) { rig.members += R"(, "rdma": {"mode": "shared"})"; }, {"mlx5_1", "is in the pod"}, false},
    {kVf, kRequired, [](Rig& rig) { rig.machine.has_gids = false; }, {"mlx5_1", "no GID of 10.9.0.1"}},
    {kSharedVf, kRequired, [](Rig& rig) { rig.machine.has_gids = false; }, {"mlx5_1", "no GID of 10.9.0.1"}},
    {kMacvlan, kRequired, [](Rig& rig) { rig.machine.has_gids = false; }, {"\"mlx5_5\"", "no GID of 10.9.0.1"}},
    {kMacvlan, "", [](Rig& rig) { rig.machine.has_rdma = false; }, {"mlx5_5", "\"eth7\"", "gone"}},
    {kMacvlan,
     "",
     [](Rig& rig) {
         std::erase_if(rig.machine.spaces.at(rig.machine.host).netdevs,
                       [](const auto& each) { return each.link.name == "eth7"; });
     },
     {"parent \"eth7\" is gone"}},
    {kMacvlan,
     R"(, "rdma": {"maxGids": 4})",
     [](Rig& rig) { inside(rig).addresses.push_back({.prefix = base::IpPrefix::parse("10.1.1.1/24").value()}); },
     {}},
    {kMacvlan,
     R"(, "rdma": {"maxGids": 4})",
     [](Rig& rig) {
         for (const char* more : {"10.1.1.1/24", "10.1.1.2/24"})
             inside(rig).addresses.push_back({.prefix = base::IpPrefix::parse(more).value()});
     },
     {"\"net1\" has 6", "at most 4"}},
    {kMacvlan,
     kStrictPort,
     [](Rig& rig) { rig.machine.rdma("mlx5_5").state = kernel::PortState::down; },
     {"\"mlx5_5\""}},
    {kVf,
     kStrictPort,
     [](Rig& rig) { rig.machine.rdma("mlx5_1", rig.pod).state = kernel::PortState::down; },
     {"\"mlx5_1\"", "not active"}},
    {kSharedVf,
     kStrictPort,
     [](Rig& rig) { rig.machine.rdma("mlx5_1").state = kernel::PortState::down; },
     {"\"mlx5_1\"", "not active"}},
    {kVf, "", [](Rig& rig) { rig.machine.rdma("mlx5_1", rig.pod).state = kernel::PortState::down; }, {}},
};

void require_named(const std::string& text, const std::vector<std::string>& words) {
    INFO(text);
    for (const std::string& word : words) {
        INFO(word);
        CHECK(names(text, word));
    }
}

} // namespace

TEST_CASE("CHECK finds what the pod lacks, and no more") {
    for (const Difference& difference : kDifferences) {
        const std::string more = difference.members;
        Rig rig(difference.kind.members + (more.find("ipam") == std::string::npos ? kIpam : "") + more);
        difference.kind.prepare(rig);
        INFO(rig.members);
        REQUIRE(rig.add() == "");
        REQUIRE(rig.check() == "");
        difference.change(rig);
        if (difference.words.empty()) {
            CHECK(rig.check() == "");
            CHECK(rig.check_of_node() == "same");
            continue;
        }
        require_named(rig.check(), difference.words);
        CHECK_THAT(rig.check_of_node(), Catch::StartsWith(difference.is_of_record ? "differs: " : "same"));
    }
}
