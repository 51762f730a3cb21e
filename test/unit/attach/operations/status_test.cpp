// STATUS: whether ADD would work now.
#include "scenes.hpp"

#include "support/names.hpp"

#include <catch2/catch.hpp>

using namespace rdmanet;
using namespace rdmanet::attach::test;
using rdmanet::test::names;
using rdmanet::test::Names;

namespace {

struct Status {
    std::string members;
    void (*prepare)(Rig& rig);
    std::vector<std::string> words; // none: ADD would work
};

void attach_it(Rig& rig) {
    REQUIRE(rig.add() == "");
}

void move_rdma(Rig& rig) {
    auto& home = rig.machine.spaces.at(rig.machine.host).rdma;
    rig.machine.spaces.at(rig.pod).rdma.push_back(rig.machine.rdma("mlx5_1"));
    std::erase_if(home, [](const auto& each) { return each.device.name == "mlx5_1"; });
}

constexpr const char* kNeedsRdma = R"(, "rdma": true)";
constexpr const char* kOne =
    R"(, "ipam": {"type": "rdmanet", "range": "10.9.0.1/32", "enable_l3": true, "cooldown": 0})";

const Status kStatuses[] = {
    {vf(R"(, "vlan": 100, "rdma": true)") + kIpam, nothing, {}},
    // The device plugin chooses the device later.
    {R"("attach": "sriov", "rdma": true)", nothing, {}},
    {R"("attach": "host-device", "rdma": true)", nothing, {}},
    {R"("attach": "rdma", "deviceID": "0000:3b:00.2")", nothing, {}},
    {R"("attach": "sriov", "rdma": {"mode": "shared"})", nothing, {"exclusive", "`rdma system set netns shared`"}},
    {R"("attach": "sriov", "rdma": {"mode": "exclusive"})", nothing, {}},
    // A pod has the device now: of this plugin, or of another one.
    {vf(kNeedsRdma), attach_it, {}},
    {vf(R"(, "rdma": {"onInactivePort": "refuse"})"), attach_it, {}},
    {R"("attach": "rdma", "deviceID": "0000:3b:00.2")", [](Rig& rig) { move_rdma(rig), drop_link(rig, "eth0v0"); }, {}},
    {vf(kNeedsRdma), [](Rig& rig) { move_rdma(rig), move_interface(rig); }, {}},
    {vf(kNeedsRdma), move_rdma, {"0000:3b:00.2", "no RDMA device", "on the host"}},
    {R"("attach": "rdma", "deviceID": "0000:3b:00.2")", move_rdma, {"0000:3b:00.2", "no RDMA device"}},
    {vf(), move_rdma, {}},
    {vf(), [](Rig& rig) { vf_function(rig).driver.clear(), drop_link(rig, "eth0v0"); }, {"no driver"}},
    {vf(), [](Rig& rig) { rig.machine.rdma("mlx5_1").is_movable = false; }, {}},
    {vf(kNeedsRdma), [](Rig& rig) { rig.machine.rdma("mlx5_1").is_movable = false; }, {"\"mlx5_1\"", "cannot move"}},
    {vf(R"(, "mtu": 9000)"), nothing, {"mtu: 9000", "1500", "\"eth0\""}},
    {R"("attach": "sriov", "deviceID": "ffff:00:00.0")", nothing, {"ffff:00:00.0", "does not exist"}},
    {R"("attach": "host-device", "device": "absent0")", nothing, {"\"absent0\"", "not an interface"}},
    {R"("attach": "host-device", "device": "eth0")", nothing, {"0000:3b:00.0", "PF of 2 VFs"}},
    {vf(R"(, "rdma": {"onInactivePort": "refuse"})"),
     [](Rig& rig) { rig.machine.rdma("mlx5_0").state = kernel::PortState::down; },
     {"port 1", "\"mlx5_0\"", "\"eth0\""}},
    // Parents.
    {macvlan(), nothing, {}},
    {macvlan(kNeedsRdma), nothing, {"exclusive", "`rdma system set netns shared`"}},
    {R"("attach": "macvlan", "master": "inner0", "linkInContainer": true)", nothing, {}},
    {R"("attach": "macvlan", "master": "absent0")", nothing, {"\"absent0\"", "neither"}},
    {macvlan(), [](Rig& rig) { rig.machine.netdev("eth7").link.flags = 0; }, {"\"eth7\" is down"}},
    {macvlan(R"(, "mtu": 9000)"), nothing, {"mtu: 9000", "1500"}},
    {macvlan(kNeedsRdma),
     [](Rig& rig) {
         share(rig);
         rig.machine.netdev("eth7").addresses.resize(8, {.prefix = base::IpPrefix::parse("10.8.0.1/24").value()});
     },
     {"\"eth7\"", "16 of 16", "2 more"}},
    // Addresses.
    {macvlan() + kOne, attach_it, {"no free address", "10.9.0.1/32", "leases: 1"}},
    {macvlan() + kOne, [](Rig& rig) { attach_it(rig), rig.machine.end_netns(rig.pod); }, {}}, // ADD would reclaim it
};

} // namespace

TEST_CASE("STATUS has code 50 where ADD would fail now, and changes nothing") {
    for (const Status& status : kStatuses) {
        Rig rig(status.members);
        status.prepare(rig);
        (void)rig.take_log();
        rig.machine.changes.clear();
        const std::string said = rig.status();
        INFO(status.members << ": " << said);
        CHECK(said.starts_with("code 50: ") == !status.words.empty());
        CHECK(said.empty() == status.words.empty());
        for (const std::string& word : status.words) {
            INFO(word);
            CHECK(names(said, word));
        }
        CHECK(rig.take_changes().empty());
        CHECK(rig.take_log() == "");
    }
}

TEST_CASE("STATUS does not warn of what ADD warns of") {
    Rig rig(macvlan());
    share(rig);
    rig.machine.rdma("mlx5_5").state = kernel::PortState::down;
    CHECK(rig.status() == "");
    CHECK(rig.take_log() == "");
}
