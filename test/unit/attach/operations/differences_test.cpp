// What CHECK and `rdmanet check` find, after something has changed.
#include "scenes.hpp"

#include "support/names.hpp"

#include <catch2/catch.hpp>

#include <linux/if.h>

using namespace rdmanet;
using namespace rdmanet::attach::test;
using rdmanet::test::names;

namespace {

struct Difference {
    const Kind& kind;
    void (*change)(Rig& rig);
    std::vector<std::string> words; // none: no difference
    const char* members = "";       // more of the configuration
    bool is_of_record = true;       // `rdmanet check`, which has no configuration, finds it, too
};

kernel::fake::Netdev& inside(Rig& rig) {
    return rig.machine.netdev("net1", rig.pod);
}

kernel::VfSettings& vf_settings(Rig& rig) {
    return rig.machine.function("0000:3b:00.0").vfs.at(0);
}

constexpr const char* kStrictPort = R"(, "rdma": {"onInactivePort": "refuse"})";
constexpr const char* kRequired = R"(, "rdma": {"onMissingGid": "refuse"})";
constexpr const char* kDelete = "delete the pod";

const std::vector<std::string> kNone; // GCC 12 takes {} for a row of zeros

const Difference kDifferences[] = {
    // The interface.
    {kVf, [](Rig& rig) { inside(rig).link.name = "other"; }, {"\"net1\" is gone", kPodPath, kDelete}},
    {kVf, [](Rig& rig) { inside(rig).link.flags = 0; }, {"\"net1\" is down", kDelete}},
    {kVf, [](Rig& rig) { inside(rig).link.hardware_address[5] = 9; }, {"MAC 02:00:00:00:00:09", "02:00:00:00:00:42"}},
    {kVf, [](Rig& rig) { inside(rig).link.mtu = 1300; }, kNone},
    {kVf, [](Rig& rig) { inside(rig).link.flags ^= IFF_PROMISC; }, kNone},
    {kVf,
     [](Rig& rig) { inside(rig).link.flags ^= IFF_PROMISC; },
     {"promisc off", "on"},
     R"(, "promisc": true)",
     false},
    {kMacvlan,
     [](Rig& rig) { inside(rig).link.flags ^= IFF_ALLMULTI; },
     {"allmulti on", "off"},
     R"(, "allmulti": false)",
     false},
    {kVf,
     [](Rig& rig) { inside(rig).link.parent_device = "0000:3b:00.3"; },
     {"0000:3b:00.3", "0000:3b:00.2"},
     "",
     false},
    {kVf, [](Rig& rig) { inside(rig).addresses.clear(); }, {"\"net1\" lacks address 10.9.0.1/24"}},
    {kVf, [](Rig& rig) { inside(rig).addresses.front().is_duplicate = true; }, {"10.9.0.1/24", "duplicate"}},
    {kVf, [](Rig& rig) { inside(rig).addresses.push_back({.prefix = base::IpPrefix::parse("10.1.1.1/24").value()}); },
     kNone},
    {kVf,
     [](Rig& rig) { rig.machine.spaces.at(rig.pod).routes.clear(); },
     {"10.7.0.0/16", "\"net1\""},
     R"(, "ipam": {"type": "rdmanet", "range": "10.9.0.0/24", "routes": [{"dst": "10.7.0.0/16"}]})"},
    {kVirtual, [](Rig& rig) { inside(rig).link.kind = "dummy"; }, {"kind \"dummy\"", "\"veth\""}},
    {kMacvlan, [](Rig& rig) { inside(rig).link.kind = "ipvlan"; }, {"kind \"ipvlan\"", "macvlan"}},
    {kMacvlan, [](Rig& rig) { inside(rig).link.macvlan->mode = kernel::MacvlanMode::vepa; }, {"vepa", "bridge"}},
    {kMacvlan,
     [](Rig& rig) { inside(rig).link.parent_ifindex = rig.machine.netdev("eth0").link.ifindex; },
     {"parent \"eth0\"", "parent \"eth7\""}},
    {kMacvlan, [](Rig& rig) { inside(rig).link.parent_ifindex = 999; }, {"not on the host", "parent \"eth7\""}},
    {kMacvlan, [](Rig& rig) { inside(rig).link.parent_ifindex.reset(); }, {"no parent"}},
    {kMacvlan,
     [](Rig& rig) { // with the index of another interface of the host
         inside(rig).link.parent_ifindex = rig.machine.netdev("eth0").link.ifindex;
         inside(rig).link.parent_netnsid.reset();
     },
     {"a parent in the pod", "\"eth7\""}},
    {kIpvlan, [](Rig& rig) { inside(rig).link.ipvlan->mode = kernel::IpvlanMode::l2; }, {"l2", "l3"}},
    {kIpoib, [](Rig& rig) { inside(rig).link.ipoib->pkey = 0x8002; }, {"0x8002", "0x8001"}},
    {kIpoib, [](Rig& rig) { inside(rig).link.ipoib->mode = kernel::IpoibMode::datagram; }, {"datagram", "connected"}},
    // The device and its settings.
    {kVf, [](Rig& rig) { rig.machine.functions.erase("0000:3b:00.2"); }, {"0000:3b:00.2", "gone from the node"}},
    {kVf,
     [](Rig& rig) { vf_settings(rig).vlan->id = 7; },
     {"vlan 7", "vlan 100", "`ip link set eth0 vf 0 vlan 100 qos 3`"}},
    {kVf, [](Rig& rig) { vf_settings(rig).trust = false; }, {"trust off", "trust on"}},
    {kVf, [](Rig& rig) { vf_settings(rig).spoof_check = true; }, {"spoofchk on", "spoofchk off"}},
    {kSharedVf,
     [](Rig& rig) { vf_settings(rig).link_state = kernel::VfLinkState::disable; },
     {"link_state disable", "link_state auto", "`ip link set eth0 vf 0 state auto`"}},
    {kVf, [](Rig& rig) { vf_settings(rig).vlan.reset(); }, kNone},              // drivers need not report it
    {kVf, [](Rig& rig) { rig.machine.netdev("eth0").link.mtu = 1200; }, kNone}, // only the next ADD would fail
    {kVf, [](Rig& rig) { drop_link(rig, "eth0"); }, {"0000:3b:00.2", "PF"}},
    {kGuid,
     [](Rig& rig) { rig.machine.function("0000:5e:00.0").vfs.at(0).port_guid = base::Guid(0x0200000000000077); },
     {"port_guid 02:00:00:00:00:00:00:77", "02:00:00:00:00:00:00:42", "`ip link set ib0 vf 0 port_guid"}},
    {kVf, [](Rig& rig) { vf_settings(rig).mac = base::MacAddress::parse("02:00:00:00:00:43"); }, {"02:00:00:00:00:43"}},
    {kSharedVf,
     [](Rig& rig) { vf_settings(rig).rates = kernel::VfRates{.most_mbps = 9}; },
     {"rates 0 to 9 Mbit/s", "`ip link set eth0 vf 0 max_tx_rate 0 min_tx_rate 0`"}},
    {kSharedVf,
     [](Rig& rig) { vf_settings(rig).mac = base::MacAddress::parse("02:00:00:00:00:43"); },
     {"02:00:00:00:00:43"}},
    {kSharedVf, [](Rig& rig) { vf_settings(rig).mac = inside(rig).link.mac(); }, kNone}, // the VF's own
    {kGuid,
     [](Rig& rig) { inside(rig).link.hardware_address[19] = 0x43; },
     {"MAC 00:00:00:00:fe:80:00:00:00:00:00:00:02:00:00:00:00:00:00:43"}},
    {kGuid,
     [](Rig& rig) { // which the driver has not taken
         rig.members.replace(rig.members.find("00:42"), 5, "00:43");
         auto& settings = rig.machine.function("0000:5e:00.0").vfs.at(0);
         settings.node_guid = settings.port_guid = base::Guid(0x0200000000000043);
     },
     {"GUID 02:00:00:00:00:00:00:42", "02:00:00:00:00:00:00:43", "only when it is bound"}},
    {kSwitchdevVf,
     [](Rig& rig) { rig.machine.netdev("eth0_0").link.flags = 0; },
     {"\"eth0_0\"", "down", "`ip link set"}},
    {kSwitchdevVf,
     [](Rig& rig) { rig.machine.netdev("eth0_0").link.mtu = 8999; },
     {"\"eth0_0\"", "8999", "9000"},
     "",
     false},
    {kSwitchdevVf, [](Rig& rig) { rig.machine.netdev("eth0_0").link.mtu = 9100; }, kNone},
    {kSwitchdevVf,
     [](Rig& rig) { rig.machine.function("0000:3b:00.0").representors.erase(0); },
     {"\"eth0_0\"", "gone from the host"}},
    // RDMA.
    {kVf, [](Rig& rig) { rig.machine.spaces.at(rig.pod).rdma.clear(); }, {"\"mlx5_1\"", "gone from the pod"}},
    {kResetVf, [](Rig& rig) { rig.machine.rdma("rdma0", rig.pod).device.name = "x"; }, {"\"x\"", "\"rdma0\""}},
    {kSharedVf, [](Rig& rig) { rig.machine.rdma("mlx5_1").device.name = "x"; }, {"mlx5_1", "gone from the host"}},
    {kSharedVf,
     [](Rig& rig) { rig.members += R"(, "rdma": {"mode": "exclusive"})"; },
     {"mlx5_1", "stayed on the host"},
     "",
     false},
    {kVf, [](Rig& rig) { rig.members += R"(, "rdma": {"mode": "shared"})"; }, {"mlx5_1", "is in the pod"}, "", false},
    {kVf, [](Rig& rig) { rig.machine.has_gids = false; }, {"mlx5_1", "no GID of 10.9.0.1"}, kRequired},
    {kSharedVf, [](Rig& rig) { rig.machine.has_gids = false; }, {"mlx5_1", "no GID of 10.9.0.1"}, kRequired},
    {kMacvlan, [](Rig& rig) { rig.machine.has_gids = false; }, {"\"mlx5_5\"", "no GID of 10.9.0.1"}, kRequired},
    {kMacvlan, [](Rig& rig) { rig.machine.has_rdma = false; }, {"mlx5_5", "\"eth7\"", "gone"}},
    {kMacvlan, [](Rig& rig) { drop_link(rig, "eth7"); }, {"parent \"eth7\" is gone"}},
    {kMacvlan,
     [](Rig& rig) { inside(rig).addresses.push_back({.prefix = base::IpPrefix::parse("10.1.1.1/24").value()}); }, kNone,
     R"(, "rdma": {"maxGids": 4})"},
    {kMacvlan,
     [](Rig& rig) {
         for (const char* more : {"10.1.1.1/24", "10.1.1.2/24"})
             inside(rig).addresses.push_back({.prefix = base::IpPrefix::parse(more).value()});
     },
     {"\"net1\" has 6", "at most 4"},
     R"(, "rdma": {"maxGids": 4})"},
    {kMacvlan,
     [](Rig& rig) { rig.machine.rdma("mlx5_5").state = kernel::PortState::down; },
     {"\"mlx5_5\""},
     kStrictPort},
    {kVf,
     [](Rig& rig) { rig.machine.rdma("mlx5_1", rig.pod).state = kernel::PortState::down; },
     {"\"mlx5_1\"", "not active"},
     kStrictPort},
    {kSharedVf,
     [](Rig& rig) { rig.machine.rdma("mlx5_1").state = kernel::PortState::down; },
     {"\"mlx5_1\"", "not active"},
     kStrictPort},
    {kVf, [](Rig& rig) { rig.machine.rdma("mlx5_1", rig.pod).state = kernel::PortState::down; }, kNone},
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

TEST_CASE("`rdmanet check` warns of ports that keep a pod from traffic, which is no difference") {
    struct Trouble {
        const Kind& kind;
        const char* link; // on the host
        unsigned flags;
        const char* members;            // more of the configuration
        std::vector<std::string> words; // none: no warning
    };
    constexpr unsigned kNoCarrier = IFF_UP;
    for (const Trouble& trouble :
         {Trouble{kMacvlan, "eth7", 0, "", {"parent \"eth7\" is down", "`ip link set eth7 up`"}},
          Trouble{kMacvlan, "eth7", kNoCarrier, "", {"parent \"eth7\" has no carrier", "cable"}},
          Trouble{kMacvlan, "eth0", 0, "", {}},
          Trouble{kSharedVf, "eth0", kNoCarrier, "", {"PF \"eth0\" has no carrier", "cable"}},
          Trouble{kSharedVf, "eth0", 0, "", {}}, // some PFs keep their link for the VFs
          Trouble{kSharedVf, "eth0", kNoCarrier, R"(, "link_state": "disable")", {}}}) {
        Rig rig(trouble.kind.members + kIpam + trouble.members);
        trouble.kind.prepare(rig);
        INFO(rig.members << ", " << trouble.link << " with flags " << trouble.flags);
        REQUIRE(rig.add() == "");
        CHECK(rig.check_of_node() == "same");
        rig.machine.netdev(trouble.link).link.flags = trouble.flags;
        CHECK((rig.check_of_node() == "same") == trouble.words.empty());
        CHECK_THAT(rig.check_of_node(), Catch::StartsWith("same"));
        require_named(rig.check_of_node(), trouble.words);
        CHECK(rig.check() == "");
    }
    for (const bool has_carrier : {false, true}) { // the pod's own interface
        Rig rig(kNic.members + kIpam);
        REQUIRE(rig.add() == "");
        if (!has_carrier) inside(rig).link.flags = kNoCarrier;
        require_named(rig.check_of_node(), has_carrier
                                               ? std::vector<std::string>{}
                                               : std::vector<std::string>{"device 0000:81:00.0 has no carrier"});
    }
    Rig rig(kSharedVf.members + kIpam); // neither end has a link
    share(rig);
    REQUIRE(rig.add() == "");
    rig.machine.netdev("eth0").link.flags = 0;
    inside(rig).link.flags = kNoCarrier;
    require_named(rig.check_of_node(), {"PF \"eth0\" is down", "`ip link set eth0 up`"});
}

TEST_CASE("`rdmanet check` says what it could not compare") {
    Rig rig(kMacvlan.members + kIpam);
    share(rig);
    REQUIRE(rig.add() == "");
    const auto edit = [&](const auto& act) {
        state::AttachmentRecord record = rig.records().at(0);
        act(record);
        rig.node().records().save(record);
    };
    edit([](state::AttachmentRecord& record) { record.phase = state::Phase::prepared; });
    CHECK_THAT(rig.check_of_node(), Catch::StartsWith("differs: ") && Catch::Contains("its ADD or DEL failed"));
    edit([](state::AttachmentRecord& record) { record.phase = state::Phase::attached; });
    rig.machine.end_netns(rig.pod);
    CHECK_THAT(rig.check_of_node(), !Catch::StartsWith("same") && Catch::Contains("`rdmanet gc`"));
}
