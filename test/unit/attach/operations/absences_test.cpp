// DEL succeeds and leaves the machine as it was before ADD, whatever is already gone or was edited.
#include "kinds.hpp"

#include "lookup/call.hpp"

#include <rdmanet/base/file.hpp>

#include <catch2/catch.hpp>

#include <algorithm>
#include <filesystem>

using namespace rdmanet;
using namespace rdmanet::attach;
using namespace rdmanet::attach::test;

namespace {

namespace fs = std::filesystem;

/// What happens between ADD and DEL.
struct Disturbance {
    const char* what;
    void (*act)(Rig& rig);
};

void edit(Rig& rig, const std::string& from, const std::string& to) {
    REQUIRE(rig.members.find(from) != std::string::npos);
    rig.members.replace(rig.members.find(from), from.size(), to);
}

void remove_from_pod(Rig& rig) {
    rig.machine.spaces.at(rig.pod).netdevs.clear();
}

const Disturbance kAlways[] = {
    {"nothing", [](Rig&) {}},
    {"two earlier DELs", [](Rig& rig) { CHECK((rig.del() + rig.del()).empty()); }},
    {"no file of leases", [](Rig& rig) { fs::remove(rig.directory + "/leases"); }},
    {"no CNI_NETNS", [](Rig& rig) { rig.netns.clear(); }},
    {"no namespace", [](Rig& rig) { rig.machine.end_netns(rig.pod); }},
    {"no namespace and no CNI_NETNS", [](Rig& rig) { rig.machine.end_netns(rig.pod), rig.netns.clear(); }},
    {"no result", [](Rig& rig) { rig.result.reset(); }},
    {"no ipam", [](Rig& rig) { edit(rig, kIpam, ""); }},
    {"another range", [](Rig& rig) { edit(rig, "10.9.0.0/24", "10.77.0.0/24"); }},
    {"an ill-typed range", [](Rig& rig) { edit(rig, "\"10.9.0.0/24\"", "7"); }},
    {"another IPAM plugin", [](Rig& rig) { edit(rig, "\"type\": \"rdmanet\"", "\"type\": \"other\""); }},
};

const Disturbance kOfChildren[] = {
    // Only their records have the baselines of devices.
    {"no record", [](Rig& rig) { fs::remove_all(rig.directory + "/attachments"); }},
    {"no state directory", [](Rig& rig) { fs::remove_all(rig.directory); }},
    {"no record and no result", [](Rig& rig) { fs::remove_all(rig.directory + "/attachments"), rig.result.reset(); }},
    {"no record and no leases",
     [](Rig& rig) { fs::remove_all(rig.directory + "/attachments"), fs::remove(rig.directory + "/leases"); }},
    {"somebody removed the link", remove_from_pod},
    {"another master", [](Rig& rig) { edit(rig, "\"eth7\"", "\"elsewhere0\""); }},
    {"another mode", [](Rig& rig) { edit(rig, "\"attach\"", R"("mode": "vepa", "attach")"); }},
    {"an ill-typed mode", [](Rig& rig) { edit(rig, "\"attach\"", R"("mode": 7, "attach")"); }},
    {"another kind", [](Rig& rig) { edit(rig, "vlan\"", "poib\""); }},
    {"no parent",
     [](Rig& rig) { // which takes its children with it
         remove_from_pod(rig);
         std::erase_if(rig.machine.spaces.at(rig.machine.host).netdevs,
                       [](const auto& each) { return each.link.name == "eth7"; });
     }},
};

const Disturbance kOfDevices[] = {
    {"somebody moved it to the host",
     [](Rig& rig) {
         auto& inside = rig.machine.spaces.at(rig.pod).netdevs;
         for (auto& each : inside) rig.machine.spaces.at(rig.machine.host).netdevs.push_back(each);
         inside.clear();
     }},
    {"another VF", [](Rig& rig) { edit(rig, "3b:00.2", "3b:00.3"); }},
    {"a child", [](Rig& rig) { edit(rig, "\"sriov\"", "\"macvlan\""); }},
    {"an ill-typed setting", [](Rig& rig) { edit(rig, "\"vlan\": 100", "\"vlan\": \"wide\""); }},
    {"no RDMA", [](Rig& rig) { rig.members += R"(, "rdma": false)"; }},
};

const Disturbance kOfIpam[] = {
    {"no record", [](Rig& rig) { fs::remove_all(rig.directory + "/attachments"); }},
    {"no state directory", [](Rig& rig) { fs::remove_all(rig.directory); }},
    {"rdmanet itself",
     [](Rig& rig) {
         rig.type = "rdmanet";
         rig.members.insert(0, R"("attach": "macvlan", )");
     }},
};

/// Addresses for another plugin's interface.
const Kind kIpamOnly{
    .name = "addresses", .members = R"("master": "eth7")", .prepare = [](Rig& rig) { rig.type = "macvlan"; }};

void require_ends(const Kind& kind, const Disturbance& disturbance) {
    INFO(kind.name << ", " << disturbance.what);
    Rig rig(kind.members + kIpam);
    kind.prepare(rig);
    std::string before = rig.machine.text();
    CHECK(rig.del() == "");
    REQUIRE(rig.add() == "");
    const state::AttachmentKey key = key_of(rig.request(cni::Command::del));
    disturbance.act(rig);
    if (disturbance.what == std::string("no parent")) before = rig.machine.text();
    CHECK(rig.del() == "");
    CHECK(rig.machine.text() == before);
    CHECK(rig.records().empty());
    const Node node = rig.node();
    const state::AttachmentStore records = node.records();
    CHECK(leases::Leases(node, records).find(key, {}, base::Deadline::in(std::chrono::seconds(60))).empty());
}

} // namespace

TEST_CASE("DEL leaves the machine as it was, whatever is gone or was edited") {
    for (const Kind* kind : {&kMacvlan, &kIpvlan, &kVf})
        for (const Disturbance& disturbance : kAlways) require_ends(*kind, disturbance);
    for (const Kind* kind : {&kMacvlan, &kIpvlan})
        for (const Disturbance& disturbance : kOfChildren) require_ends(*kind, disturbance);
    for (const Disturbance& disturbance : kOfDevices) require_ends(kVf, disturbance);
    for (const Disturbance& disturbance : kAlways) require_ends(kIpamOnly, disturbance);
    for (const Disturbance& disturbance : kOfIpam) require_ends(kIpamOnly, disturbance);
}

TEST_CASE("DEL without a record returns a device to the host, and resets it if the network asks for that") {
    for (const Kind* kind : {&kVf, &kResetVf, &kGuid}) {
        INFO(kind->name);
        Rig rig(kind->members + kIpam);
        kind->prepare(rig);
        const std::string device = kind == &kGuid ? "0000:5e:00.1" : "0000:3b:00.2";
        REQUIRE(rig.add() == "");
        fs::remove_all(rig.directory + "/attachments");
        CHECK(rig.del() == "");
        const auto& host = rig.machine.spaces.at(rig.machine.host);
        CHECK(std::count_if(host.netdevs.begin(), host.netdevs.end(),
                            [&](const auto& each) { return each.link.parent_device == device; }) == 1);
        CHECK(std::count_if(host.rdma.begin(), host.rdma.end(),
                            [&](const auto& each) { return each.function == device; }) == (kind == &kResetVf ? 2 : 1));
        CHECK(rig.machine.function(device).resets == (kind == &kResetVf ? 1 : 0));
        CHECK(rig.machine.spaces.at(rig.pod).netdevs.empty());
        CHECK(rig.machine.spaces.at(rig.pod).rdma.empty());
    }
}

TEST_CASE("DEL and GC end an attachment whose record or lease database is truncated at any length") {
    for (const Kind* kind : {&kMacvlan, &kIpamOnly})
        for (const bool is_record : {true, false})
            for (const bool by_gc : {false, true}) {
                bool is_whole = false;
                for (std::uintmax_t length = 0; !is_whole; length += is_record ? 67 : 1999) {
                    INFO(kind->name << (is_record ? ", record" : ", leases") << " of " << length << " bytes, "
                                    << by_gc);
                    Rig rig(kind->members + kIpam);
                    kind->prepare(rig);
                    const std::string before = rig.machine.text();
                    REQUIRE(rig.add() == "");
                    const std::string record = fs::directory_iterator(rig.directory + "/attachments")->path();
                    const std::string file = is_record ? record : rig.directory + "/leases";
                    is_whole = fs::file_size(file) <= length;
                    if (!is_whole) fs::resize_file(file, length);
                    if (by_gc) rig.machine.end_netns(rig.pod);
                    CHECK((by_gc ? rig.gc() : rig.del()) == "");
                    CHECK(rig.machine.text() == before);
                    CHECK(rig.records().empty());
                    CHECK(rig.node().records().list().unreadable.empty());
                }
            }
}

TEST_CASE("DEL leaves another pod alone that got the namespace's path") {
    Rig rig(kMacvlan.members + kIpam);
    share(rig);
    REQUIRE(rig.add() == "");
    const auto other = rig.machine.spaces.at(rig.pod).netdevs.front();
    rig.machine.end_netns(rig.pod);
    rig.pod = rig.machine.add_netns(kPodPath);
    rig.machine.spaces.at(rig.pod).netdevs.push_back(other);
    CHECK(rig.del() == "");
    CHECK(rig.machine.spaces.at(rig.pod).netdevs.size() == 1);
}

TEST_CASE("what a killed writer of leases has left goes with DEL, and with GC") {
    Rig rig(kMacvlan.members + kIpam);
    const auto end = GENERATE(&Rig::del, &Rig::gc, &Rig::gc_of_node);
    const std::string files[] = {rig.directory + "/leases.tmp", rig.directory + "/blocks.tmp"};
    REQUIRE(rig.add() == "");
    for (const std::string& file : files) base::write_file_durably(file, "{");
    CHECK((rig.*end)() == "");
    for (const std::string& file : files) CHECK_FALSE(fs::exists(file));
}
