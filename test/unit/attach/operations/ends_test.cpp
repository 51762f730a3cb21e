// What GC and DEL leave alone, and what ends with whom.
#include "scenes.hpp"

#include "detach.hpp"

#include "support/names.hpp"

#include <rdmanet/base/file.hpp>
#include <rdmanet/base/file_lock.hpp>

#include <catch2/catch.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <stdexcept>
#include <utility>

using namespace rdmanet;
using namespace rdmanet::attach;
using namespace rdmanet::attach::test;
using rdmanet::test::Names;

namespace {

state::AttachmentRecord record_of(Rig& rig) {
    return rig.records().at(0);
}

constexpr const char* kMaster = R"("master": "eth7", "rdma": false)";

} // namespace

TEST_CASE("an undo goes on after any exception of one step") {
    Rig rig(kVf.members);
    kVf.prepare(rig);
    const std::string before = rig.machine.text();
    REQUIRE(rig.add() == "");
    bool has_thrown = false;
    rig.machine.fails = [&](std::size_t, const std::string&) {
        if (!std::exchange(has_thrown, true)) throw std::length_error("not foreseen");
        return 0;
    };
    CHECK_THAT(rig.del(), Names("still held", "not foreseen"));
    REQUIRE(rig.records().size() == 1);
    CHECK(record_of(rig).leases.empty());
    CHECK(rig.del() == "");
    CHECK(rig.machine.text() == before);
}

TEST_CASE("GC leaves an attachment alone that an ADD has made again while GC waited for its lock") {
    Rig rig(plain(kIpam));
    REQUIRE(rig.add() == "");
    rig.machine.end_netns(rig.pod);
    std::string living;
    rig.machine.on_look = [&] { // GC judges what it has read
        rig.machine.on_look = {};
        rig.pod = rig.machine.add_netns(kPodPath);
        REQUIRE(rig.add() == "");
        living = rig.machine.text();
    };
    CHECK(rig.gc_of_node() == "");
    REQUIRE(!living.empty());
    CHECK(rig.machine.text() == living);
    REQUIRE(rig.records().size() == 1);
    CHECK(rig.check() == "");
}

TEST_CASE("GC of the runtime keeps what it lists, what is of other networks, and what is not proven dead") {
    Rig rig(plain(kIpam));
    REQUIRE(rig.add() == "");
    CHECK(rig.gc() == "");
    CHECK(rig.records().size() == 1);
    rig.machine.end_netns(rig.pod);
    rig.machine.doubt = "process 5 hides";
    CHECK(rig.gc() == "");
    CHECK(rig.records().size() == 1);
    CHECK_THAT(rig.log.back(), Names("GC kept", "process 5 hides"));
    rig.machine.doubt.clear();
    rig.network = "other";
    CHECK(rig.gc() == "");
    rig.network = "net";
    rig.wanted_by_runtime = R"({"containerID": "c1", "ifname": "net1"})";
    CHECK(rig.gc() == "");
    CHECK(rig.records().size() == 1);
    rig.wanted_by_runtime = R"({"containerID": "c1", "ifname": "net2"}, {"containerID": "c2", "ifname": "net1"})";
    CHECK(rig.gc() == "");
    CHECK(rig.records().empty());
}

TEST_CASE("a function whose RDMA device is in use on the host is not reset, and no other pod gets it before") {
    Rig rig(kResetVf.members + kIpam);
    kResetVf.prepare(rig);
    REQUIRE(rig.add() == "");
    rig.machine.rdma("mlx5_1").users = {1}; // of the device that stayed
    (void)rig.take_changes();
    CHECK_THAT(rig.del(), Names("reset of 0000:3b:00.2", "\"mlx5_1\"", "in use", "No other pod", "sriov_numvfs"));
    for (const std::string& change : rig.take_changes()) CHECK_THAT(change, !Catch::Contains("bind 0000"));
    CHECK(rig.machine.function("0000:3b:00.2").resets == 0);
    rig.container = "c2";
    CHECK_THAT(rig.add(), Names("0000:3b:00.2", "\"c1\""));
    rig.container = "c1";
    rig.machine.rdma("mlx5_1").users.clear();
    CHECK(rig.del() == "");
    CHECK(rig.machine.function("0000:3b:00.2").resets == 1);
    CHECK(rig.records().empty());
}

TEST_CASE("a container that is made again after its requested address was edited gets the new one") {
    Rig rig(plain(kIpam));
    rig.args = "IP=10.9.0.5";
    rig.machine.fails = [](std::size_t, const std::string& what) { return what.starts_with("add 10.9") ? EIO : 0; };
    CHECK(rig.add() != ""); // and nothing is left
    rig.machine.fails = {};
    REQUIRE(rig.add() == "");
    CHECK(rig.result->ips.at(0).address.to_string() == "10.9.0.5/24");
    rig.machine.end_netns(rig.pod); // the sandbox ends without a DEL
    rig.pod = rig.machine.add_netns(kPodPath);
    rig.args = "IP=10.9.0.6";
    REQUIRE(rig.add() == "");
    CHECK(rig.result->ips.at(0).address.to_string() == "10.9.0.6/24");
    CHECK(record_of(rig).ips == std::vector<std::string>{"10.9.0.6/24"});
    CHECK(rig.check() == "");
}

TEST_CASE("a second ADD is refused and changes nothing, also if the pod has renamed its interface") {
    Rig rig(plain(kIpam));
    REQUIRE(rig.add() == "");
    for (const char* name : {"net1", "renamed"}) {
        rig.machine.spaces.at(rig.pod).netdevs.front().link.name = name;
        const std::string attached = rig.machine.text();
        CHECK_THAT(rig.add(), Names("code 101", "net1", "already exists"));
        CHECK(rig.machine.text() == attached);
        CHECK(record_of(rig).ips.size() == 1);
    }
    CHECK(rig.del() == "");
    CHECK(rig.machine.spaces.at(rig.pod).netdevs.empty());
}

TEST_CASE("a full range gives the address of a dead pod, whose late DEL takes nothing from the living one") {
    Rig rig(plain(R"(, "ipam": {"type": "rdmanet", "range": "10.9.0.1/32", "enable_l3": true})"));
    attach_to_another_pod(rig);
    CHECK_THAT(rig.add(), Names("no free address", "10.9.0.1/32"));
    rig.machine.end_netns(kernel::get_netns("/run/netns/other").id().inode);
    REQUIRE(rig.add() == "");
    const auto result = std::exchange(rig.result, {});
    rig.container = "c0";
    CHECK(rig.del() == "");
    rig.container = "c1", rig.result = result;
    CHECK(rig.check() == "");
}

TEST_CASE("no address is given twice after the lease store was lost") {
    Rig rig(plain(kIpam));
    REQUIRE(rig.add() == "");
    std::filesystem::remove(rig.directory + "/leases");
    rig.machine.add_netns("/run/netns/other");
    rig.netns = "/run/netns/other", rig.container = "c2";
    REQUIRE(rig.add() == "");
    CHECK(rig.result->ips.front().address.to_string() == "10.9.0.2/24");
}

TEST_CASE("addresses for another plugin's interface: a repeated ADD gets the same, or is refused and keeps it") {
    Rig rig(R"("master": "eth7")" + std::string(kIpam));
    rig.type = "macvlan";
    for (int times = 0; times < 2; ++times) {
        REQUIRE(rig.add() == "");
        CHECK(rig.result->ips.front().address.to_string() == "10.9.0.1/24");
        CHECK(rig.result->interfaces.empty());
        rig.args = "IP=10.9.0.7";
        CHECK_THAT(rig.add(), Names("already holds 10.9.0.1/24"));
        rig.args.clear();
        CHECK(rig.check() == "");
        CHECK(rig.status() == "");
    }
    // GC keeps what lives or is listed.
    rig.machine.add_netns("/run/netns/other");
    rig.netns = "/run/netns/other", rig.container = "c2";
    REQUIRE(rig.add() == "");
    const auto after_gc = [&](const char* listed) {
        rig.wanted_by_runtime = listed;
        CHECK(rig.gc() == "");
        return rig.records().size();
    };
    CHECK(after_gc("") == 2);
    rig.machine.end_netns(kernel::get_netns("/run/netns/other").id().inode);
    CHECK(after_gc(R"({"containerID": "c2", "ifname": "net1"})") == 2);
    CHECK(after_gc(R"({"containerID": "c1", "ifname": "net1"})") == 1);
    rig.netns = kPodPath, rig.container = "c1";
    CHECK(rig.del() == "");
    CHECK_THAT(rig.check(), Names("code 107", "leased"));
}

TEST_CASE("an attachment is undone whole after its network's type became another plugin's, and the other way round") {
    for (const char* by : {"rdmanet", "macvlan"}) {
        Rig rig(kMaster + std::string(kIpam));
        rig.type = "macvlan";
        INFO(by);
        REQUIRE(rig.add() == "");
        REQUIRE(rig.add() == "");
        CHECK(rig.result->ips.front().address.to_string() == "10.9.0.1/24");
        rig.type = by;
        CHECK(rig.del() == "");
        CHECK(rig.records().empty());
    }
    Rig rig(kMaster + std::string(kIpam));
    REQUIRE(rig.add() == "");
    const auto attached = rig.result;
    rig.type = "macvlan";
    rig.args = "IP=10.9.0.7";
    CHECK_THAT(rig.add(), Names("already holds 10.9.0.1/24"));
    rig.args.clear();
    REQUIRE(rig.add() == "");
    CHECK(rig.result->ips.front().address.to_string() == "10.9.0.1/24");
    rig.type = "rdmanet";
    rig.result = attached;
    CHECK(rig.check() == "");
    rig.type = "macvlan";
    CHECK(rig.del() == "");
    CHECK(rig.machine.spaces.at(rig.pod).netdevs.empty());
    CHECK(rig.records().empty());
}

TEST_CASE("a lease says whether the pod of an unreadable record lives") {
    Rig rig(plain(kIpam));
    REQUIRE(rig.add() == "");
    const std::string record = std::filesystem::directory_iterator(rig.directory + "/attachments")->path();
    std::filesystem::resize_file(record, 100);
    CHECK_THAT(rig.gc_of_node(), Names(record, "cannot be read"));
    CHECK(rig.gc() == "");
    CHECK(std::filesystem::exists(record));
    rig.machine.end_netns(rig.pod);
    CHECK(rig.gc_of_node() == "");
    CHECK_FALSE(std::filesystem::exists(record));
}

TEST_CASE("a dry run leaves a damaged lease store as it is, and reads the journal") {
    Rig rig(plain(kIpam));
    REQUIRE(rig.add() == "");
    rig.machine.end_netns(rig.pod);
    const std::string file = rig.directory + "/leases";
    base::write_file_durably(file, "rubbish");
    const Collected collected = collect_dead(rig.node(), DryRun::yes);
    REQUIRE(collected.removed.size() == 1);
    CHECK_THAT(collected.removed.front(), Names("\"c1\""));
    CHECK_THAT(rig.take_log(), Names("leases", "dry run"));
    CHECK(base::read_file(file, 100) == "rubbish");
    CHECK(rig.records().size() == 1);
}

TEST_CASE("GC and DEL find an IPoIB child without a record by its mark when the kernel has returned it to the host") {
    Rig rig(kIpoib.members);
    kIpoib.prepare(rig);
    kernel::Link& other = rig.machine.add_virtual("admin0", "ipoib").link; // of another program
    other.parent_ifindex = rig.machine.netdev("ib0").link.ifindex;
    other.flags = 0;
    const std::string before = rig.machine.text();
    const auto lose_child = [&] {
        REQUIRE(rig.add() == "");
        std::filesystem::remove_all(rig.directory + "/attachments");
        CHECK(collect_dead(rig.node(), DryRun::no).removed.empty()); // while it is in its pod
        rig.machine.end_netns(rig.pod);
        CHECK(rig.machine.text() != before);
    };
    const auto is_restored = [&] {
        rig.pod = rig.machine.add_netns(kPodPath);
        return rig.machine.text() == before;
    };
    const auto gc_changes = [&](const char* network, const char* listed) {
        const std::string now = rig.machine.text();
        rig.network = network;
        rig.wanted_by_runtime = listed;
        CHECK(rig.gc() == "");
        return rig.machine.text() != now;
    };
    lose_child();
    CHECK_FALSE(gc_changes("elsewhere", ""));
    CHECK_FALSE(gc_changes("net", R"({"containerID": "c1", "ifname": "net1"})"));
    const auto foreseen = collect_dead(rig.node(), DryRun::yes).removed;
    REQUIRE(foreseen.size() == 1);
    CHECK_THAT(foreseen.front(), Names("\"c1\"", "returned to the host"));
    CHECK(gc_changes("net", ""));
    CHECK(is_restored());
    lose_child();
    CHECK(collect_dead(rig.node(), DryRun::no).removed.size() == 1);
    CHECK(is_restored());
    lose_child();
    CHECK(rig.del() == "");
    CHECK(is_restored());
    // The mark of a network with a long name would be cut to the length of an alias, so there is none.
    for (const std::size_t length : {150U, 230U}) {
        rig.network = std::string(length, 'n');
        REQUIRE(rig.add() == "");
        CHECK(rig.machine.netdev("net1", rig.pod).link.alias.empty() == (length == 230));
        CHECK(rig.del() == "");
    }
}

TEST_CASE("GC names VFs with settings and no pod, and leaves them alone") {
    Rig rig(R"("attach": "sriov", "deviceID": "0000:3b:00.2", "vlan": 100)");
    REQUIRE(rig.add() == "");
    const auto noticed = [&] {
        std::string text;
        for (const std::string& each : collect_dead(rig.node(), DryRun::no).noticed) text += each + "\n";
        return text;
    };
    CHECK(noticed() == ""); // its record says that it has a pod
    auto& vf = rig.machine.function("0000:3b:00.0").vfs.at(1);
    vf.vlan = kernel::VfVlan{.id = 7, .qos = 3};
    vf.link_state = kernel::VfLinkState::disable;
    const std::string text = rig.machine.text();
    CHECK_THAT(noticed(), Names("0000:3b:00.3", "VF 1", "\"eth0\"", "vlan 7", "qos 3", "link_state disable",
                                "`ip link set eth0 vf 1 vlan 0 state auto`"));
    CHECK(rig.machine.text() == text);
    // Before its second look a DEL ends, or an ADD begins.
    const auto noticed_after = [&](const auto& happens) {
        unsigned looks = 0;
        rig.machine.on_find = [&](std::string_view name) {
            if (name == "eth0v1" && ++looks == 2) happens();
        };
        return noticed();
    };
    CHECK(noticed_after([&] { vf.vlan.reset(), vf.link_state.reset(); }) == "");
    vf.vlan = kernel::VfVlan{.id = 7};
    state::AttachmentRecord record = record_of(rig);
    record.steps = {state::MoveLink{.device = "0000:3b:00.3"}};
    CHECK(noticed_after([&] { rig.node().records().save(record); }) == "");
}

TEST_CASE("DEL of an ADD that was killed before it made its child leaves another interface of that name alone") {
    Rig rig(kMacvlan.members);
    share(rig);
    REQUIRE(rig.add() == "");
    state::AttachmentRecord record = record_of(rig);
    for (state::Step& step : record.steps) std::get<state::CreateLink>(step).ifindex = 0;
    rig.node().records().save(record); // as before the child was made
    rig.machine.netdev("net1", rig.pod).link.hardware_address[5] ^= 1U;
    CHECK(rig.del() == "");
    CHECK(rig.machine.netdev("net1", rig.pod).link.kind == "macvlan");
    CHECK(rig.records().empty());
}

TEST_CASE("ADD of an ipvlan child locks its parent, also if \"master\" becomes another interface meanwhile") {
    Rig rig(kIpvlan.members);
    share(rig);
    const unsigned before = rig.machine.netdev("eth7").link.ifindex;
    const unsigned after = rig.machine.netdev("eth0").link.ifindex;
    const std::string file = rig.directory + "/parents.lock";
    const auto is_locked = [&](unsigned ifindex) { // a process does not see its own locks
        const pid_t child = ::fork();
        if (child == 0) ::_exit(base::find_lock_holder(file, ifindex) == ::getppid() ? 7 : 0);
        int status = 0;
        return ::waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 7;
    };
    unsigned looks = 0;
    rig.machine.on_find = [&](std::string_view name) {
        if (name != "eth7" || ++looks != 2) return;
        CHECK(is_locked(before));
        rig.machine.netdev("eth7").link.name = "was7";
        rig.machine.netdev("eth0").link.name = "eth7";
    };
    bool was_locked = false;
    rig.machine.on_look = [&] { // ADD plans: it looks whether the siblings live
        was_locked = is_locked(after) && !is_locked(before);
    };
    state::AttachmentRecord sibling;
    sibling.key = {.network = "net", .container_id = "c0", .ifname = "net1"};
    sibling.boot_id = rig.node().boot_id;
    sibling.netns = {.path = "/gone", .inode = 1};
    sibling.steps = {state::CreateLink{
        .child = {.kind = "ipvlan", .mode = "ipvlan mode l2", .parent = "eth0", .parent_ifindex = after},
        .ifname = "net1"}};
    rig.node().records().save(sibling);
    CHECK(rig.add() == "");
    CHECK(looks == 3);
    CHECK(was_locked);
    CHECK(rig.machine.netdev("net1", rig.pod).link.parent_ifindex == after);
}

TEST_CASE("undoing a record releases no leases that a record of the other role has") {
    Rig rig(plain(kIpam));
    REQUIRE(rig.add() == "");
    const Node node = rig.node();
    const Call call(node, base::Deadline::in(std::chrono::seconds(60)));
    state::AttachmentRecord other = record_of(rig);
    other.key.role = state::kIpamRole;
    other.steps.clear();
    call.records.save(other);
    state::AttachmentRecord bare = record_of(rig);
    bare.leases.clear();
    CHECK(detach(bare, call).empty());
    CHECK(call.leases.find(other.key, {}, call.deadline).size() == 1);
    CHECK(detach(other, call).empty());
    CHECK(call.leases.find(other.key, {}, call.deadline).empty());
}
