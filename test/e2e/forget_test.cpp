// `rdmanet gc --forget` lets a person drop one record.
#include "containers.hpp"
#include "golden.hpp"
#include "vf_stage.hpp"

#include "support/concat.hpp"
#include "support/names.hpp"
#include "support/reporter.hpp"

#include <catch2/catch.hpp>

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

/// Containers that have a record, then containers that have a lease.
std::string recorded_and_leased() {
    return shell(concat(binary(), " state --json | jq -j '[.attachments,.leases|map(.containerID)|sort|join(\" \")]|"
                                  "join(\"; \")'"));
}

} // namespace

TEST_CASE("gc --forget drops the record and the lease of the named attachment, and of no other", "[gc][liveness]") {
    NEEDS(kernel_has("macvlan"), "macvlan");
    const VethParent parent("par0");
    const UnchangedNode node;
    const ProcessPod pod;
    const ProcessPod other;
    const PluginCall call = call_in(pod.path(), "c1");
    (void)add(call);
    (void)add(call_in(other.path(), "c2"));
    const Wrapper inside("elsewhere", kContainer);
    const std::string links = concat("nsenter --net=", pod.path(), " ip -o link");
    CHECK_THAT(run_in(inside, "gc"), Names("kept", "net", "c1", "`rdmanet gc --forget CONTAINER INTERFACE`"));

    const std::string dry = forget(inside.path(), "c1 net1 --dry-run");
    CHECK_THAT(dry, Names("forget", "net", "c1", "net1", "another PID namespace", "alive", "released", "10.74.0.1/24",
                          "not undone", "interface \"net1\"", "ends with the pod"));
    CHECK(recorded_and_leased() == "c1 c2; c1 c2");
    CHECK_THAT(shell(concat(inside.path(), " gc --forget c1 net1 --dry-run --json | jq -r .record.attach")),
               Contains("macvlan"));

    CHECK_THAT(forget(inside.path(), "c1 net1"),
               Names("forgets", "net", "c1", "not undone", "released", "10.74.0.1/24"));
    CHECK(recorded_and_leased() == "c2; c2");
    CHECK_THAT(shell(links), Contains("net1"));
    CHECK(del(call) == "");
    CHECK_THAT(shell(links), !Contains("net1"));
    CHECK(del(call_in(other.path(), "c2")) == "");
    CHECK(node.difference() == "");
}

TEST_CASE("gc --forget prints the command that gives a VF its settings back", "[gc][sriov]") {
    NEEDS_VFS();
    const VfStage stage;
    const ProcessPod pod;
    PluginCall call = vf_call(stage.vfs, stage.pod, 0, "'vlan':100,'rdma':true");
    call.netns = pod.path();
    (void)add(call);
    Golden golden("what gc --forget of a VF gives up");
    {
        const Wrapper inside("elsewhere", kContainer);
        golden.add_lines(forget(inside.path(), "c1 net1 --dry-run"));
    }
    CHECK(golden.difference() == "");
    CHECK(del(call) == "");
    CHECK(stage.node.difference() == "");
}

TEST_CASE("gc --forget refuses living pods, and undoes a dead pod's attachment first", "[gc]") {
    NEEDS(kernel_has("macvlan"), "macvlan");
    const VethParent parent("par0");
    const UnchangedNode node;
    Pod pod("pod");
    (void)add(call_in("/run/netns/pod", "c1"));
    PluginCall second = call_in("/run/netns/pod", "c1");
    second.ifname = "net2";
    (void)add(second);
    CHECK_THAT(refused_forget("c1 net1"), Names("/run/netns/pod", "delete the pod") && !Contains("succeeded"));
    CHECK_THAT(refused_forget("c1 net3"), Names("c1", "net3") && !Contains("succeeded"));
    CHECK_THAT(refused_forget("c1:net3:net.json"),
               Names("c1:net3:net.json", "CONTAINER", "INTERFACE") && !Contains("succeeded"));
    CHECK_THAT(refused_forget("c1 net1 net"), Contains("--forget") && !Contains("succeeded"));
    CHECK(recorded_and_leased() == "c1 c1; c1 c1");
    pod.destroy();
    CHECK_THAT(forget(binary(), "c1 net1 --dry-run"), Names("undone first", "`rdmanet gc`", "net1"));
    CHECK_THAT(forget(binary(), "c1 net1"), Names("forgets", "nothing is left"));
    CHECK(recorded_and_leased() == "c1; c1");
    CHECK_THAT(forget(binary(), "c1:net2:net.json"), Names("nothing is left"));
    CHECK(node.difference() == "");
}

TEST_CASE("gc --forget drops an unreadable record by its file name, and refuses an ambiguous name", "[gc]") {
    NEEDS(kernel_has("macvlan"), "macvlan");
    const VethParent parent("par0");
    const UnchangedNode node;
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
    CHECK_THAT(shell(concat(binary(), " gc || true")),
               Names(concat("`rdmanet gc --forget ", kRecords, "stray.json`"),
                     concat("`rdmanet gc --forget ", kRecords, "c1:net1:net.json`")));
    CHECK_THAT(shell(concat(binary(), " state; ", binary(), " check || true")),
               Names("unreadable record", "stray.json", "`rdmanet gc`") && Contains("\ndiffers: "));
    CHECK_THAT(shell(concat(binary(), " state --state-dir /nope")), Names("/nope", "does not exist"));
    CHECK_THAT(shell(concat(binary(), " state --help")),
               Contains("records and leases") && Contains("RDMANET_STATE_DIR"));
    for (const std::string name : {"stray.json", "c1:net1:net.json", "c1:net1:net:rdma.json"}) {
        CHECK_THAT(forget(binary(), concat(kRecords, name)), Names("not undone", concat(kRecords, name)));
        CHECK(succeeds(concat("! [ -e ", kRecords, name, " ]")));
    }
    CHECK(node.difference() == "");
}

} // namespace rdmanet::test
