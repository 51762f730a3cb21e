// What keeps a device from returning to the host as it was: names that others have by now, resets that fail, and
// drivers and devices that are gone.
#include "scenes.hpp"

#include "support/names.hpp"

#include <catch2/catch.hpp>

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

using namespace rdmanet;
using namespace rdmanet::attach::test;
using kernel::fake::Netdev;
using rdmanet::test::Names;

namespace {

/// The VF's link on the host.
Netdev& link_of_vf(Rig& rig) {
    for (Netdev& each : rig.machine.spaces.at(rig.machine.host).netdevs)
        if (each.link.parent_device == "0000:3b:00.2") return each;
    throw std::logic_error("the VF is not on the host");
}

/// The other VF of the PF, for another pod.
void choose_other_vf(Rig& rig) {
    rig.machine.add_netns("/run/netns/other");
    rig.netns = "/run/netns/other";
    rig.container = "c2";
    rig.members = R"("attach": "sriov", "deviceID": "0000:3b:00.3")";
}

void choose_first_vf(Rig& rig) {
    rig.netns = kPodPath;
    rig.container = "c1";
    rig.members = vf();
}

void rename_rdma(Rig& rig, const std::string& from, const std::string& to, std::uint64_t in = 0) {
    rig.machine.rdma(from, in).device.name = to;
}

} // namespace

TEST_CASE("a VF returns although its names on the host and in the pod are taken, and the warning says what to rename") {
    struct Taken {
        std::vector<std::string> names;
        std::string name_after;
    };
    for (const Taken& taken :
         {Taken{{"net1"}, "eth0v0"}, Taken{{"eth0v0"}, "net1"}, Taken{{"eth0v0", "net1"}, "rdmanet"}}) {
        INFO(taken.name_after);
        Rig rig(vf());
        REQUIRE(rig.add() == "");
        for (const std::string& name : taken.names) rig.machine.add_virtual(name, "dummy");
        CHECK(rig.del() == "");
        CHECK_THAT(link_of_vf(rig).link.name, Catch::StartsWith(taken.name_after));
        const std::string log = rig.take_log();
        if (taken.name_after == "eth0v0") CHECK(log == "");
        if (taken.name_after != "eth0v0")
            CHECK_THAT(log, Names("0000:3b:00.2", "another interface now has its name \"eth0v0\"", "rename one"));
    }
}

TEST_CASE("alternative names stay on the host if the pod's name or another interface has them") {
    Rig rig(vf());
    link_of_vf(rig).link.altnames = {"uplink-zero", "net1"};
    const std::string before = rig.machine.text();
    REQUIRE(rig.add() == "");
    CHECK(rig.machine.netdev("net1", rig.pod).link.altnames == std::vector<std::string>{"uplink-zero"});
    CHECK(rig.check() == "");
    rig.machine.netdev("net1", rig.pod).link.altnames.emplace_back("eth0v0"); // the VF's own name on the host
    CHECK(rig.del() == "");
    CHECK(rig.take_log() == "");
    CHECK(rig.machine.text() == before);
    REQUIRE(rig.add() == "");
    rig.machine.netdev("eth7").link.altnames = {"net1"};
    CHECK(rig.del() == "");
    CHECK_THAT(rig.take_log(), Names("0000:3b:00.2", "\"net1\"", "another interface has it"));
    CHECK(link_of_vf(rig).link.altnames == std::vector<std::string>{"uplink-zero"});
}

TEST_CASE("DEL without a record returns the device of its own pod only") {
    Rig rig(vf());
    REQUIRE(rig.add() == "");
    std::filesystem::remove_all(rig.directory + "/attachments");
    choose_other_vf(rig);
    rig.netns = kPodPath;
    CHECK(rig.del() == "");
    CHECK(rig.machine.netdev("net1", rig.pod).link.parent_device == "0000:3b:00.2");
    choose_first_vf(rig);
    CHECK(rig.del() == "");
    CHECK(rig.machine.spaces.at(rig.pod).netdevs.empty());
    CHECK(rig.machine.rdma("mlx5_1").function == "0000:3b:00.2");
}

TEST_CASE("DEL and GC end attachments of devices that have left the machine or lost their drivers") {
    for (const Kind* kind : {&kVf, &kResetVf, &kSwitchdevVf, &kGuid, &kNic, &kUserSpace, &kMacvlan})
        for (const bool is_gone : {false, true})
            for (const bool by_gc : {false, true}) {
                INFO(kind->name << (is_gone ? ", gone" : ", without a driver") << (by_gc ? ", GC" : ", DEL"));
                Rig rig(kind->members + (has_addresses(*kind) ? kIpam : ""));
                kind->prepare(rig);
                REQUIRE(rig.add() == "");
                for (const char* address : {"0000:3b:00.2", "0000:3b:00.0", "0000:5e:00.1", "0000:81:00.0"}) {
                    if (!is_gone && address == std::string("0000:3b:00.0"))
                        continue; // its VFs would go with its driver
                    rig.machine.remove_made(address);
                    rig.machine.function(address).driver.clear();
                    if (is_gone) rig.machine.functions.erase(address);
                }
                std::erase_if(rig.machine.spaces.at(rig.pod).netdevs,
                              [](const Netdev& each) { return each.link.kind == "macvlan"; });
                CHECK_THAT(rig.check(), Catch::StartsWith(kind == &kUserSpace && !is_gone ? "" : "code 107: "));
                if (by_gc) rig.machine.end_netns(rig.pod);
                CHECK((by_gc ? rig.gc() : rig.del()) == "");
                CHECK(rig.records().empty());
            }
}

TEST_CASE("RDMA devices whose pods have exchanged their names get them back, also if one has to wait") {
    Rig rig(vf());
    const std::string before = rig.machine.text();
    const auto attach_and_swap = [&] {
        choose_first_vf(rig);
        REQUIRE(rig.add() == "");
        choose_other_vf(rig);
        REQUIRE(rig.add() == "");
        const std::uint64_t other = kernel::get_netns("/run/netns/other").id().inode;
        rename_rdma(rig, "mlx5_1", "swap", rig.pod);
        rename_rdma(rig, "mlx5_2", "mlx5_1", other);
        rename_rdma(rig, "swap", "mlx5_2", rig.pod);
        choose_first_vf(rig);
        CHECK(rig.del() == "");
        CHECK_THAT(rig.take_log(), Names("0000:3b:00.2", "stays \"mlx5_2\"", "an RDMA device in a pod", "\"mlx5_1\""));
        return other;
    };
    attach_and_swap();
    rig.netns = "/run/netns/other", rig.container = "c2";
    state::AttachmentRecord user; // a pod that uses one of them on the host
    user.key = {.network = "net", .container_id = "c9", .ifname = "net1"};
    user.boot_id = rig.node().boot_id;
    user.rdma_device = "mlx5_1/1";
    rig.node().records().save(user);
    CHECK(rig.del() == "");
    for (const char* used : {"mlx5_1/1", "mlx5_2/1"}) {
        user.rdma_device = used;
        rig.node().records().save(user);
        CHECK(rig.gc() == "");
        CHECK(rig.machine.rdma("mlx5_2").function == "0000:3b:00.2");
    }
    rig.node().records().remove(user.key);
    CHECK(rig.gc() == "");
    rig.machine.end_netns(kernel::get_netns("/run/netns/other").id().inode);
    CHECK(rig.machine.text() == before);
    // Another pod may have the device until then. The next call of any kind restores the name.
    const std::uint64_t other = attach_and_swap();
    rig.container = "c3";
    REQUIRE(rig.add() == "");
    CHECK(rig.machine.rdma("mlx5_2", rig.pod).function == "0000:3b:00.2");
    CHECK(rig.check() == "");
    CHECK(rig.del() == "");
    (void)rig.take_log();
    rename_rdma(rig, "mlx5_1", "mine", other);
    rig.members = R"("attach": "sriov", "deviceID": "0000:3b:00.7")";
    CHECK(rig.add() != "");
    CHECK(rig.machine.rdma("mlx5_1").function == "0000:3b:00.2");
}

TEST_CASE("an RDMA device waits for its name while another device on the host has it") {
    Rig rig(vf(R"(, "rdma": {"name": "rdma0"})"));
    const std::string before = rig.machine.text();
    REQUIRE(rig.add() == "");
    rename_rdma(rig, "mlx5_2", "mlx5_1"); // an administrator's name
    rig.machine.end_netns(rig.pod);
    CHECK(rig.del() == "");
    CHECK_THAT(rig.take_log(),
               Names("0000:3b:00.2", "stays \"rdma0\"", "another RDMA device on the host", "`rdmanet gc`"));
    const std::string file = rig.directory + "/rdma-names.json";
    const auto inode = [&] {
        struct stat status {};
        return ::stat(file.c_str(), &status) == 0 ? status.st_ino : 0;
    };
    const auto written = inode();
    CHECK(rig.gc_of_node() == "");
    CHECK(rig.machine.rdma("rdma0").function == "0000:3b:00.2");
    CHECK(inode() == written); // nothing was written
    const state::WaitingNames file_of_names = rig.node().records().waiting_names();
    auto waiting = file_of_names.load(rig.node().boot_id);
    const kernel::RdmaDevice another = rig.machine.rdma("mlx5_5").device;
    waiting.push_back({"0000:81:00.0", another.index, another.node_guid, "mlx5_0"});
    file_of_names.save(waiting, rig.node().boot_id);
    CHECK(rig.gc_of_node() == "");
    CHECK(rig.machine.rdma("mlx5_1").function == "0000:3b:00.3"); // which doesn't wait
    waiting.pop_back();
    file_of_names.save(waiting, rig.node().boot_id);
    rename_rdma(rig, "mlx5_1", "mlx5_2");
    CHECK(rig.gc_of_node() == "");
    rig.pod = rig.machine.add_netns(kPodPath);
    CHECK(rig.machine.text() == before);
    // Its driver creates another device meanwhile.
    REQUIRE(rig.add() == "");
    rename_rdma(rig, "mlx5_2", "mlx5_1");
    rig.machine.end_netns(rig.pod);
    CHECK(rig.del() == "");
    CHECK(inode() != 0);
    rig.machine.remove_made("0000:3b:00.2");
    rig.machine.probe("0000:3b:00.2");
    CHECK(rig.gc_of_node() == "");
    CHECK(inode() == 0);
}

TEST_CASE("a device that cannot be reset now stays with its record, and everything else is restored") {
    struct Obstacle {
        const Kind& kind;
        void (*begin)(Rig& rig);
        void (*end)(Rig& rig);
        Names words;
    };
    const Obstacle obstacles[] = {
        {kResetVf, [](Rig& rig) { vf_function(rig).resettable = kernel::Resettable::switched_off; },
         [](Rig& rig) { vf_function(rig).resettable = kernel::Resettable::yes; },
         Names("switched off", "`echo default >/sys/bus/pci/devices/0000:3b:00.2/reset_method`", "write 0 to")},
        {kResetVf,
         [](Rig& rig) {
             rig.machine.fails = [](std::size_t, const std::string& what) {
                 return what.starts_with("reset") ? EIO : 0;
             };
         },
         [](Rig& rig) { rig.machine.fails = {}; }, Names("input/output error", "`dmesg`")},
        {kNic, [](Rig& rig) { rig.machine.function("0000:81:00.0").vfs[0] = {}; },
         [](Rig& rig) { rig.machine.function("0000:81:00.0").vfs.clear(); },
         Names("1 VF", "`echo 0 >/sys/bus/pci/devices/0000:81:00.0/sriov_numvfs`")}};
    for (const Obstacle& obstacle : obstacles) {
        Rig rig(obstacle.kind.members + (&obstacle.kind == &kNic ? R"(, "reset": true)" : ""));
        obstacle.kind.prepare(rig);
        const std::string before = rig.machine.text();
        REQUIRE(rig.add() == "");
        obstacle.begin(rig);
        const std::string said = rig.del();
        CHECK_THAT(said, Names("code 108", "still held", "reset of") && obstacle.words);
        CHECK(rig.machine.spaces.at(rig.pod).netdevs.empty());
        rig.machine.end_netns(rig.pod);
        rig.pod = rig.machine.add_netns(kPodPath);
        rig.container = "c2";
        CHECK_THAT(rig.add(), Names("\"c1\"", "reset of"));
        obstacle.end(rig);
        REQUIRE(rig.add() == "");
        CHECK(rig.machine.function(&obstacle.kind == &kNic ? "0000:81:00.0" : "0000:3b:00.2").resets == 1);
        CHECK(rig.del() == "");
        CHECK(rig.machine.text() == before);
    }
}

TEST_CASE("DEL warns if the number of a device in /dev/infiniband has changed with its reset") {
    Rig rig(kResetVf.members);
    kResetVf.prepare(rig);
    REQUIRE(rig.add() == "");
    rig.machine.fails = [&](std::size_t, const std::string& what) {
        if (what.starts_with("unbind")) rig.machine.rdma("mlx5_2").uverbs = "uverbs1";
        return 0;
    };
    CHECK(rig.del() == "");
    CHECK_THAT(rig.take_log(), Names("\"mlx5_1\"", "/dev/infiniband/uverbs2", "uverbs1", "restart the device plugin"));
}
