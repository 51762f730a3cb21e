// `rdmanet gc --forget` lets a person drop one record.
#include "containers.hpp"
#include "golden.hpp"
#include "vf_stage.hpp"

#include "support/concat.hpp"
#include "support/infiniband_node.hpp"
#include "support/names.hpp"
#include "support/patience.hpp"
#include "support/reporter.hpp"

#include <catch2/catch.hpp>

#include <regex>
#include <string>

namespace rdmanet::test {

using Catch::Contains;

namespace {

const std::string kRecords = "/run/rdmanet/attachments/";

PluginCall call_in(const std::string& netns, const std::string& container) {
    return call_at(netns, container, "10.74.0.0/24");
}

std::string forget(const std::string& program, const std::string& arguments) {
    return shell(concat(program, " gc --forget ", arguments, " 2>&1"));
}

std::string refused_forget(const std::string& arguments) {
    return shell(concat(binary(), " gc --forget ", arguments, " 2>&1 && echo succeeded; true"));
}

/// Of the attachment of a pod that cannot be seen from another PID namespace.
std::string forget_unseen() {
    const Wrapper inside("elsewhere", kContainer);
    return forget(inside.path(), "c1 net1 --dry-run");
}

/// The command in the line about `what`.
std::string command_for(const std::string& what, const std::string& given_up) {
    const auto line = given_up.find(concat("not undone: ", what));
    REQUIRE(line != std::string::npos);
    const auto begin = given_up.find('`', line) + 1;
    return given_up.substr(begin, given_up.find('`', begin) - begin);
}

/// Containers that have a record, then containers that have a lease.
std::string recorded_and_leased() {
    return shell(concat(binary(), " state --json | jq -j '[.attachments,.leases|map(.containerID)|sort|join(\" \")]|"
                                  "join(\"; \")'"));
}

} // namespace

TEST_CASE("gc --forget prints the commands that give a VF its settings back and reset it", "[gc][sriov]") {
    const Vfs vfs;
    const Pod unused("pod");
    const UnchangedNode node(Numbers::ignored); // binding a driver gives new numbers
    const ProcessPod pod;
    PluginCall call = vf_call(vfs, unused, 0,
                              "'vlan':100,'rdma':true,'reset':true,'runtimeConfig':{'CNIDeviceInfoFile':"
                              "'/var/run/k8s.cni.cncf.io/devinfo/cni/ml-vf-c1_net1'}");
    call.netns = pod.path();
    (void)add(call);
    Golden golden("what gc --forget of a VF gives up");
    const std::string given_up = forget_unseen();
    {
        const Wrapper inside("elsewhere", kContainer);
        const std::string json = shell(concat(inside.path(), " gc --forget c1 net1 --dry-run --json"));
        CHECK(value(json, "record.attach") == "sriov");
    }
    golden.add_lines(std::regex_replace(given_up, std::regex(R"(recorded as \{.*\})"), "recorded as JSON"));
    CHECK_THAT(given_up, Names(R"("mac":"02:52:00:00:00:01")", R"("txQueueLength")"));
    CHECK(golden.difference() == "");
    CHECK(del(call) == "");
    const std::string resets = shell(concat("cat /sys/kernel/debug/simrnic/", vfs.pf(), "/vf0/resets"));
    for (const std::string what : {"reset", "settings"}) shell(command_for(what, given_up));
    CHECK(shell(concat("cat /sys/kernel/debug/simrnic/", vfs.pf(), "/vf0/resets")) != resets);
    CHECK(shell(concat("cat /sys/kernel/debug/simrnic/", vfs.pf(), "/vf0/resets_under_driver")) == "0\n");
    CHECK(node.difference() == "");
}

TEST_CASE("gc --forget prints the command that gives an InfiniBand VF its GUIDs back", "[gc][sriov][infiniband]") {
    NEEDS(OtherNic::possible(), "an InfiniBand card");
    const InfinibandNode infiniband("exclusive");
    infiniband.make_vfs(1);
    const auto guids = [] {
        return shell(concat("cd /sys/bus/pci/devices/", InfinibandNode::vf(0),
                            "/infiniband/* && cat node_guid ports/1/gids/0 || true"));
    };
    const std::string before = guids();
    const ProcessPod pod;
    const Pod unused("pod");
    PluginCall call = call_for(
        unused, concat("'deviceID':'", InfinibandNode::vf(0), "','rdma':true,'guid':'02:00:00:00:00:00:00:99'"));
    call.netns = pod.path();
    (void)add(call);
    const std::string given_up = forget_unseen();
    CHECK_THAT(given_up, Names("port GUID", "node GUID", InfinibandNode::vf(0)));
    CHECK(del(call) == "");
    for (const std::string what : {"settings", "driver"}) shell(command_for(what, given_up));
    CHECK(comes_true([&] { return guids() == before; }));
}

TEST_CASE("gc --forget undoes a dead pod's attachment first, and drops no other", "[gc]") {
    const VethParent parent("par0");
    const CheckedNode node;
    Pod pod("pod");
    (void)add(call_in("/run/netns/pod", "c1"));
    PluginCall second = call_in("/run/netns/pod", "c1");
    second.ifname = "net2";
    (void)add(second);
    CHECK_THAT(refused_forget("c1 net3"), Names("c1", "net3") && !Contains("succeeded"));
    CHECK_THAT(refused_forget("c1 net1 net"), Contains("--forget") && !Contains("succeeded"));
    CHECK(recorded_and_leased() == "c1 c1; c1 c1");
    pod.destroy();
    CHECK_THAT(forget(binary(), "c1 net1"), Names("forgets", "nothing is left"));
    CHECK(recorded_and_leased() == "c1; c1");
    CHECK_THAT(forget(binary(), "c1:net2:net.json"), Names("nothing is left"));
}

TEST_CASE("gc --forget drops an unreadable record by its file name, and refuses an ambiguous name", "[gc]") {
    const VethParent parent("par0");
    const CheckedNode node;
    {
        Pod pod("pod");
        PluginCall call = call_for(pod, "'master':'par0'");
        (void)add(of(call, "c1"));
        pod.destroy();
    }
    shell(concat("cd ", kRecords,
                 " && truncate -s 100 c1:net1:net.json && cp c1:net1:net.json c1:net1:net:rdma.json && "
                 "cp c1:net1:net.json stray.json"));
    CHECK_THAT(refused_forget("c1 net1"),
               Names("2 records", "c1:net1:net.json", "c1:net1:net:rdma.json") && !Contains("succeeded"));
    for (const std::string name : {"stray.json", "c1:net1:net.json", "c1:net1:net:rdma.json"}) {
        CHECK_THAT(forget(binary(), concat(kRecords, name)), Names("not undone", concat(kRecords, name)));
        CHECK(succeeds(concat("! [ -e ", kRecords, name, " ]")));
    }
}

} // namespace rdmanet::test
