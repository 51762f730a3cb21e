// `rdmanet plan` reports what ADD would do, refuses in ADD's words, and changes nothing.
#include "plan_stage.hpp"

#include "support/concat.hpp"
#include "support/names.hpp"
#include "support/patience.hpp"
#include "support/reporter.hpp"

#include <catch2/catch.hpp>

#include <filesystem>
#include <optional>

namespace rdmanet::test {

using Catch::Contains;
using Catch::StartsWith;
namespace fs = std::filesystem;

namespace {

std::string without_code(const std::string& refusal) {
    return refusal.substr(refusal.find(": ") + 2);
}

/// Compares the node more closely than after ADD and DEL: a plan must not even touch the state directory.
class Untouched {
public:
    [[nodiscard]] std::string difference() const {
        const std::string state = look_at_state();
        return concat(node_.difference(), state == state_ ? "" : concat("before: ", state_, "after: ", state));
    }

private:
    UnchangedNode node_;
    std::string state_ = look_at_state();
};

/// Returns the plan in JSON, and checks that it changed nothing.
std::string plan_untouched(const PluginCall& call) {
    const Untouched node;
    std::string json = plan_text(plan(call, {"--json"}));
    CHECK(node.difference() == "");
    return json;
}

/// Steps of a plan or a record, without the numbers that the kernel gives to new links.
constexpr const char* kSteps = "jq -cS '.steps | map(if .step == \"create-link\" then .ifindex = 0 else . end)' ";

std::string steps_in(const std::string& json) {
    return shell(concat(kSteps, "<<'END'\n", json, "\nEND"));
}

std::string recorded_steps() {
    return shell(concat(kSteps, "${RDMANET_STATE_DIR:-/run/rdmanet}/attachments/", kPlanned, ":*"));
}

void check_same_words(const PluginCall& call) {
    const std::string state = look_at_state();
    const std::string said = plan_refusal(plan(call));
    CHECK(look_at_state() == state);
    CHECK(said == replaced(without_code(refusal(call)), "CNI_PATH", "--cni-path"));
}

} // namespace

TEST_CASE("a plan reports what ADD then does, and leaves no trace", "[plan]") {
    const Stage stage;
    const PluginCall call =
        of(call_for(stage.pod, concat("'master':'par0','mtu':1400,'mac':'02:00:00:00:00:42',",
                                      ipam("10.120.0.0/29", "'routes':[{'dst':'10.0.0.0/8'}],'addresses':[{'address':"
                                                            "'10.121.0.1/24'}]"))),
           kPlanned);
    {
        const Untouched node;
        const ProcessResult in_list =
            plan(json_text(concat("{'cniVersion':'1.0.0','name':'net','plugins':[{'type':'bridge'},",
                                  replaced(call.config, "\"name\":\"net\"", "\"name\":\"other\""), "]}")),
                 {"--state-dir", kNoState});
        const std::string expected = plan_text(in_list);
        CHECK_THAT(expected, Names("network \"net\"", "net1", "10.120.0.0/29", "6 of 6", "10.121.0.1/24", "macvlan",
                                   "bridge", "par0", "MTU 1400", "02:00:00:00:00:42", "no RDMA device", "10.0.0.0/8"));
        CHECK_FALSE(fs::exists(kNoState));
        const std::string nameless = replaced(call.config, "\"name\":\"net\",", "");
        CHECK(plan_text(plan(nameless, {"--name", "net"})) == expected);
        const std::string log = "/var/log/rdmanet-plan.log";
        CHECK(plan_text(plan(with(call, concat("'logFile':'", log, '\'')).config, {})) == expected);
        CHECK_FALSE(fs::exists(log));
        CHECK_THAT(plan_refusal(plan(nameless, {})), StartsWith("name: missing"));
        CHECK(node.difference() == "");
    }
    const std::string json = plan_untouched(call);
    const std::string result = add(call);
    CHECK(steps_in(json) == recorded_steps());
    CHECK(value(json, "ranges.0.free") == "6");
    const PluginCall next =
        with(of(call_for(stage.pod, concat("'master':'par0',", ipam("10.120.0.0/29"))), "c2"), "'mtu':0");
    check_same_words(next);
    CHECK_THAT(plan_text(plan(next.config, {})), Names("5 of 6", "MTU 1500") && !Contains("routes"));
    CHECK_THAT(plan_text(plan(next.config, {"--args", "IP=10.120.0.5"})), Names("requested address 10.120.0.5"));
    PluginCall beside = of(call_for(stage.pod, "'master':'par0','attach':'ipvlan'"), "c2");
    beside.ifname = "net2";
    check_same_words(beside);
    CHECK_THAT(plan_text(plan(beside.config, {"--state-dir", kNoState})), Names("ipvlan", "mode l2", "flag bridge"));
    CHECK_FALSE(fs::exists(kNoState)); // nor the lock of a parent
    CHECK(check(call, result) == "");
    CHECK(del(call) == "");
    CHECK(stage.node.difference() == "");
}

TEST_CASE("a plan refuses in ADD's words when no address is available", "[plan]") {
    const Stage stage;
    const std::string one = "'ipam':{'type':'rdmanet','cooldown':0,'range':'10.122.0.0/29','range_start':'10.122.0.2',"
                            "'range_end':'10.122.0.2','addresses':[{'address':'10.123.0.1/24'}]}";
    const PluginCall holder = of(call_for(stage.pod, concat("'master':'par0',", one)), "holder");
    (void)add(holder);
    PluginCall call = of(holder, "c2");
    call.ifname = "net2";
    check_same_words(call); // the range is full
    call =
        of(call_for(stage.pod, "'master':'par0','ipam':{'type':'rdmanet','addresses':[{'address':'10.123.0.1/24'}]}"),
           "c2");
    call.ifname = "net2";
    check_same_words(call); // another attachment has the address
    call = with(of(call_for(stage.pod, "'master':'par0'"), "c2"), ipam("10.122.0.0/29"));
    call.ifname = "net2";
    for (const char* address : {"IP=10.122.0.2", "IP=10.9.9.9"}) {
        call.args = address;
        check_same_words(call);
    }
    const std::string state = look_at_state();
    call = of(call_for(stage.pod, "'master':'par0','ipam':{'type':'rdmanet-absent'}"), "c2");
    call.ifname = "net2";
    check_same_words(call); // refused before a record is written
    const std::string called = "/tmp/rdmanet-ipam-called";
    const std::string plugins = "/tmp/rdmanet-plan-plugins";
    shell(concat("mkdir -p ", plugins, " && printf '#!/bin/sh\\ntouch ", called, "\\n' >", plugins,
                 "/rdmanet-absent && chmod 755 ", plugins, "/rdmanet-absent"));
    call.path = plugins;
    CHECK_THAT(plan_text(plan(call)), Names("IPAM plugin", "rdmanet-absent"));
    CHECK_FALSE(fs::exists(called));
    CHECK(look_at_state() == state);
    fs::remove_all(plugins);
    CHECK(del(holder) == "");
    CHECK(stage.node.difference() == "");
}

TEST_CASE("a plan behind another plugin uses that plugin's result, or reports that it is missing", "[plan]") {
    const Stage stage;
    const fs::path result = "/tmp/rdmanet-plan-result.json";
    const auto list = [](const std::string& members) {
        return json_text(concat("{'cniVersion':'1.0.0','name':'net','plugins':[{'type':'bridge'},{'type':'rdmanet',",
                                members, "},{'type':'tuning'}]}"));
    };
    const UnchangedNode node;
    const ProcessResult alone = plan(list("'attach':'macvlan','master':'par0'"), {});
    CHECK_THAT(plan_text(alone), Contains("on parent \"par0\""));
    CHECK_THAT(alone.err, Contains("\"bridge\"") && Contains("--prev-result FILE"));
    CHECK_THAT(plan_refusal(plan(list("'attach':'rdma'"), {})),
               Contains("interface \"net1\"") && Contains("--prev-result FILE"));
    shell(concat("echo '{\"cniVersion\":\"1.0.0\",\"interfaces\":[{\"name\":\"par0\"}]}' >", result.string()));
    const Options with_result{"--prev-result", result};
    const ProcessResult behind = plan(list("'attach':'macvlan'"), with_result);
    CHECK_THAT(plan_text(behind), Contains("on parent \"par0\""));
    CHECK(behind.err.empty());
    CHECK_THAT(plan_refusal(plan(list("'attach':'rdma'"), with_result)),
               Names("net1", "is not in") && !Contains("--prev-result"));
    shell(concat("echo '{' >", result.string()));
    CHECK_THAT(plan_refusal(plan(list("'attach':'macvlan'"), with_result)), Names(result.string(), "line 2"));
    fs::remove(result);
    CHECK_THAT(plan_refusal(plan(list("'attach':'macvlan'"), with_result)), Contains(concat(result.string(), ": ")));
    CHECK(node.difference() == "");
}

TEST_CASE("a VF's plan has ADD's steps, its owner and what ADD reclaims from a dead pod", "[plan][sriov]") {
    NEEDS_VFS();
    const VfStage stage;
    const std::string members = concat(
        "'rdma':{'name':'rdma0'},'vlan':100,'trust':'on','mtu':1300,'mac':'02:00:00:00:00:42',", ipam("10.124.0.0/24"));
    std::optional<Pod> dead(std::in_place, "dead");
    const PluginCall call = of(vf_call(stage.vfs, stage.pod, 0, members), kPlanned);
    const std::string json = plan_untouched(call);
    CHECK_THAT(plan_text(plan(replaced(call.config, "\"deviceID\":", "\"pciBusID\":\"0000:00:00.0\",\"$comment\":"),
                              {"--device", stage.vfs.vf(0), "--state-dir", kNoState})),
               Contains(stage.vfs.vf(0)));
    CHECK_FALSE(fs::exists(kNoState));
    const std::string missing = "warning: capabilities: \"CNIDeviceInfoFile\" is missing";
    CHECK_THAT(plan(call.config, {}).err, Contains(missing));
    CHECK_THAT(plan(with(call, "'capabilities':{'CNIDeviceInfoFile':false}").config, {}).err, Contains(missing));
    CHECK_THAT(plan(with(call, "'capabilities':{'CNIDeviceInfoFile':true}").config, {}).err, !Contains(missing));
    (void)add(call);
    CHECK(steps_in(json) == recorded_steps());
    CHECK(value(json, "rdmaDevice") == "rdma0");
    PluginCall other = of(call, "c2");
    other.ifname = "net2";
    check_same_words(other);
    CHECK(del(call) == "");

    const PluginCall of_dead = of(vf_call(stage.vfs, *dead, 0, members), "c3");
    (void)add(of_dead);
    dead->destroy();
    CHECK(comes_true([&] { return succeeds("rdma dev show rdma0"); }));
    const std::string seen = plan_untouched(other);
    CHECK_THAT(value(seen, "takenBack.0"), Names("net", "c3", "net1"));
    CHECK_THAT(plan_text(plan(other)), Contains("(network \"net\", container \"c3\""));
    (void)add(other);
    CHECK(del(other) == "");
    CHECK(del(of_dead) == "");
    CHECK(stage.node.difference() == "");
}

} // namespace rdmanet::test
