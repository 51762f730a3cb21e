// rdmanet plan: it tells what ADD then does, refuses in ADD's words, and changes nothing.
#include "vf_stage.hpp"

#include "support/infiniband_node.hpp"
#include "support/names.hpp"
#include "support/patience.hpp"
#include "support/reporter.hpp"

#include <rdmanet/base/error.hpp>

#include <catch2/catch.hpp>

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <vector>

namespace rdmanet::test {

using Catch::Contains;
using Catch::StartsWith;
namespace fs = std::filesystem;

namespace {

/// So that ADD's records have the same key as the plan's.
constexpr const char* kPlanned = "rdmanet-plan";
/// A state directory that isn't there, and must not be after a plan.
constexpr const char* kNoState = "/tmp/rdmanet-no-state";

using Options = std::vector<std::string>;

ProcessResult plan(const std::string& config, const Options& options) {
    std::vector<std::string> arguments{binary(), "plan"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    ProcessOptions process{.input = config};
    if (const char* directory = std::getenv("RDMANET_STATE_DIR"))
        process.environment = {concat("RDMANET_STATE_DIR=", directory)};
    return run_process(arguments, process);
}

/// For the pod that the call is for.
ProcessResult plan(const PluginCall& call, const Options& more = {}) {
    Options options{"--netns", call.netns, "--ifname", call.ifname, "--args", call.args, "--cni-path", call.path};
    options.insert(options.end(), more.begin(), more.end());
    return plan(call.config, options);
}

std::string told(const ProcessResult& result) {
    if (result.exit_status != 0) throw base::Error(concat("the plan is refused: ", result.err));
    return result.out;
}

std::string last_line(const std::string& text) {
    const std::string line = text.substr(0, text.rfind('\n'));
    return line.substr(line.rfind('\n') + 1);
}

/// What a person reads then, without the program's name.
std::string no_plan(const ProcessResult& result) {
    const std::string line = last_line(result.err);
    if (result.exit_status != 1 || !result.out.empty() || !line.starts_with("rdmanet: "))
        throw base::Error(concat("no refusal: ", result.out, result.err));
    return line.substr(line.find(' ') + 1);
}

std::string without_code(const std::string& refusal) {
    return refusal.substr(refusal.find(": ") + 2);
}

/// Every file and directory of the state, with its inode and the time of its last change.
std::string look_at_state() {
    return shell(
        "cd ${RDMANET_STATE_DIR:-/run/rdmanet} && find . -exec stat -c '%n %i %s %z' {} + | sort || echo none");
}

/// The node as it is, looked at more closely than after an ADD and a DEL.
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

/// The plan in JSON, and nothing changed by it.
std::string plan_untouched(const PluginCall& call) {
    const Untouched node;
    std::string json = told(plan(call, {"--json"}));
    CHECK(node.difference() == "");
    return json;
}

/// Of a plan or a record; without numbers that the kernel gives what ADD makes.
constexpr const char* kSteps = "jq -cS '.steps | map(if .step == \"create-link\" then .ifindex = 0 else . end)' ";
/// A GUID makes the RDMA device another.
constexpr const char* kStepsOfNewGuid =
    "jq -cS '.steps | map(if .step == \"move-rdma\" then del(.index, .nodeGuid) else . end)' ";

std::string steps_in(const std::string& json, const std::string& filter = kSteps) {
    return shell(concat(filter, "<<'END'\n", json, "\nEND"));
}

std::string recorded_steps(const std::string& filter = kSteps) {
    return shell(concat(filter, "${RDMANET_STATE_DIR:-/run/rdmanet}/attachments/", kPlanned, ":*"));
}

void check_same_words(const PluginCall& call) {
    const std::string state = look_at_state();
    const std::string said = no_plan(plan(call));
    CHECK(look_at_state() == state);
    CHECK(said == replaced(without_code(refusal(call)), "CNI_PATH", "--cni-path"));
}

} // namespace

TEST_CASE("a plan tells what ADD then does, and leaves no trace", "[plan]") {
    NEEDS(kernel_has("macvlan"), "macvlan");
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
        const std::string expected = told(in_list);
        CHECK_THAT(expected, Names("network \"net\"", "net1", "10.120.0.0/29", "6 of 6", "10.121.0.1/24", "macvlan",
                                   "bridge", "par0", "MTU 1400", "02:00:00:00:00:42", "no RDMA device", "10.0.0.0/8"));
        CHECK_FALSE(fs::exists(kNoState));
        const std::string nameless = replaced(call.config, "\"name\":\"net\",", "");
        CHECK(told(plan(nameless, {"--name", "net"})) == expected);
        const std::string log = "/var/log/rdmanet-plan.log";
        CHECK(told(plan(with(call, concat("'logFile':'", log, '\'')).config, {})) == expected);
        CHECK_FALSE(fs::exists(log));
        CHECK_THAT(no_plan(plan(nameless, {})), StartsWith("name: missing"));
        CHECK(node.difference() == "");
    }
    const std::string json = plan_untouched(call);
    const std::string result = add(call);
    CHECK(steps_in(json) == recorded_steps());
    CHECK(value(json, "ranges.0.free") == "6");
    const PluginCall next =
        with(of(call_for(stage.pod, concat("'master':'par0',", ipam("10.120.0.0/29"))), "c2"), "'mtu':0");
    CHECK_THAT(no_plan(plan(next)), Names("net1", "exists", "/run/netns/pod"));
    check_same_words(next);
    CHECK_THAT(told(plan(next.config, {})), Names("5 of 6", "MTU 1500") && !Contains("routes"));
    CHECK_THAT(told(plan(next.config, {"--args", "IP=10.120.0.5"})), Names("lease 10.120.0.5"));
    PluginCall beside = of(call_for(stage.pod, "'master':'par0','attach':'ipvlan'"), "c2");
    beside.ifname = "net2";
    CHECK_THAT(no_plan(plan(beside)), Names("par0", "child", "macvlan", "mode bridge"));
    check_same_words(beside);
    CHECK_THAT(told(plan(beside.config, {"--state-dir", kNoState})), Names("ipvlan", "mode l2", "flag bridge"));
    CHECK_FALSE(fs::exists(kNoState)); // nor the lock of a parent
    CHECK(check(call, result) == "");
    CHECK(del(call) == "");
    CHECK(stage.node.difference() == "");
}

TEST_CASE("a plan refuses for want of addresses as ADD does", "[plan]") {
    NEEDS(kernel_has("macvlan"), "macvlan");
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
    check_same_words(call); // somebody has the address
    call = with(of(call_for(stage.pod, "'master':'par0'"), "c2"), ipam("10.122.0.0/29"));
    call.ifname = "net2";
    for (const char* address : {"IP=10.122.0.2", "IP=10.9.9.9"}) {
        call.args = address;
        check_same_words(call);
    }
    const std::string state = look_at_state();
    call = of(call_for(stage.pod, "'master':'par0','ipam':{'type':'rdmanet-absent'}"), "c2");
    call.ifname = "net2";
    check_same_words(call); // before there is a record
    const std::string called = "/tmp/rdmanet-ipam-called";
    const std::string plugins = "/tmp/rdmanet-plan-plugins";
    shell(concat("mkdir -p ", plugins, " && printf '#!/bin/sh\\ntouch ", called, "\\n' >", plugins,
                 "/rdmanet-absent && chmod 755 ", plugins, "/rdmanet-absent"));
    call.path = plugins;
    CHECK_THAT(told(plan(call)), Names("IPAM plugin", "rdmanet-absent"));
    CHECK_FALSE(fs::exists(called));
    CHECK(look_at_state() == state);
    fs::remove_all(plugins);
    CHECK(del(holder) == "");
    CHECK(stage.node.difference() == "");
}

TEST_CASE("a plan reads NetworkAttachmentDefinitions, YAML and JSON, by name", "[plan]") {
    NEEDS(kernel_has("macvlan"), "macvlan");
    const Stage stage;
    const std::string members = "\"type\":\"rdmanet\",\"attach\":\"macvlan\",\"master\":\"par0\"";
    const auto definition = [](const std::string& name, const std::string& name_space, const std::string& config) {
        return concat("apiVersion: k8s.cni.cncf.io/v1\nkind: NetworkAttachmentDefinition\nmetadata: { name: ", name,
                      name_space.empty() ? "" : concat(", namespace: ", name_space), " }\nspec:\n  config: |-\n    ",
                      config, '\n');
    };
    const std::string nameless = definition("roce", "", concat("{\"cniVersion\":\"1.0.0\",", members, '}'));
    const std::string list =
        definition("rail", "training",
                   concat("{\"cniVersion\":\"1.0.0\",\"name\":\"own\",\"plugins\":[{", members, ",\"mtu\":1400}]}"));
    const std::string pod = "kind: Pod\nmetadata: { name: worker }\n";
    const std::string all = concat("# networks\n---\n", nameless, "---\n", pod, "---\n", list, "---\n",
                                   definition("rail", "test", "{}"), "---\n", definition("empty", "", ""));
    const auto network = [](const std::string& name) {
        return Contains(concat("ADD of network \"", name, "\" for interface \"net1\" (macvlan) would\n"));
    };
    const UnchangedNode node;
    CHECK_THAT(told(plan(nameless, {})), network("roce"));
    CHECK_THAT(told(plan(concat(nameless, "---\n", pod), {})), network("roce"));
    CHECK_THAT(told(plan(all, {"--name", "roce"})), network("roce"));
    CHECK_THAT(told(plan(all, {"--name", "default/roce"})), network("roce"));
    CHECK_THAT(told(plan(all, {"--name", "training/rail"})), network("own") && Contains("MTU 1400"));
    const std::string in_json = concat(R"({"kind":"NetworkAttachmentDefinition","metadata":{"name":"roce"},"spec":)",
                                       R"({"config":"{\"cniVersion\":\"1.0.0\",\"type\":\"rdmanet\",)",
                                       R"(\"attach\":\"macvlan\",\"master\":\"par0\"}"}})");
    CHECK_THAT(told(plan(in_json, {})), network("roce"));
    CHECK_THAT(told(plan(concat("{\"kind\":\"List\",\"items\":[{\"kind\":\"Pod\"},", in_json, "]}"), {})),
               network("roce"));
    CHECK_THAT(told(plan(concat(in_json, "\n---\n{\"kind\":\"Pod\"}\n"), {})), network("roce"));

    CHECK_THAT(no_plan(plan(all, {})),
               Names("4 networks", "default/roce", "training/rail", "test/rail", "default/empty", "--name"));
    CHECK_THAT(no_plan(plan(all, {"--name", "rail"})), Names("rail", "--name", "NAMESPACE/NAME"));
    CHECK_THAT(no_plan(plan(all, {"--name", "roc"})), Names("NetworkAttachmentDefinition", "roc"));
    CHECK_THAT(no_plan(plan(all, {"--name", "empty"})), Names("spec.config"));
    CHECK_THAT(no_plan(plan(definition("bad", "", "{,}"), {})),
               Names("NetworkAttachmentDefinition", "bad", "line 1", "column 2"));
    CHECK_THAT(no_plan(plan(definition("bridge", "", R"({"type":"bridge"})"), {})),
               Names("NetworkAttachmentDefinition", "bridge", "type", "rdmanet"));
    CHECK_THAT(no_plan(plan(pod, {})), Names("JSON", "NetworkAttachmentDefinition", "YAML", "found Pod"));
    CHECK_THAT(no_plan(plan("rubbish", {})), Names("JSON"));
    CHECK_THAT(no_plan(plan("kind: [\n", {})), Names("YAML"));
    CHECK_THAT(no_plan(plan(std::string(100'000, '['), {})), Contains("nested deeper"));
    CHECK_THAT(no_plan(plan(concat("-\n---\n", std::string(100'000, '[')), {})), Contains("YAML: "));
    CHECK_THAT(no_plan(plan("&a { kind: List, items: [ *a ] }", {})), Contains("found List"));
    CHECK(node.difference() == "");
}

TEST_CASE("unknown keys are refused where the network or its node is strict, and end a plan with status 1", "[plan]") {
    NEEDS(kernel_has("macvlan"), "macvlan");
    const Stage stage;
    const PluginCall call = call_for(stage.pod, concat("'master':'par0','mtuu':7,", ipam("10.121.0.0/29", "'x':1")));
    const ProcessResult planned = plan(call);
    CHECK(planned.exit_status == 1);
    CHECK_THAT(planned.out, Names("interface", "net1"));
    CHECK_THAT(planned.err,
               Names("warning: mtuu", "did you mean", "mtu", "warning: ipam.x") && EndsWith("mtuu, ipam.x\n"));
    const PluginCall strict = with(call, "'strict':true");
    CHECK_THAT(no_plan(plan(strict)), Names("mtuu", "mtu", "ipam.x", "strict"));
    CHECK_THAT(plan(strict).err, !Contains("ignored"));
    CHECK_THAT(refusal(strict), Names("code 7", "mtuu", "mtu", "ipam.x", "strict"));
    CHECK_THAT(outcome(strict, "STATUS"), Names("code 7", "mtuu", "mtu", "ipam.x", "strict"));
    PluginCall on_strict_node = call;
    on_strict_node.more_environment = {"RDMANET_STRICT=1"};
    CHECK_THAT(refusal(on_strict_node), Names("code 7", "mtuu", "ipam.x", "RDMANET_STRICT"));
    PluginCall as_ipam = on_strict_node;
    as_ipam.config = json_text(
        concat("{'cniVersion':'1.0.0','name':'net','type':'bridge','brige':'x',", ipam("10.121.0.0/29", "'x':1"), '}'));
    CHECK_THAT(refusal(as_ipam), Names("code 7", "ipam.x", "RDMANET_STRICT") && !Contains("brige"));
    on_strict_node.more_environment = {"RDMANET_STRICT=0"};
    const std::string result = add(on_strict_node);
    CHECK(check(strict, result) == ""); // the pod has what it has
    CHECK(del(strict) == "");
    CHECK(stage.node.difference() == "");
}

TEST_CASE("keys that do nothing for this kind of network are named by a plan, and refused where it is strict",
          "[plan]") {
    NEEDS(kernel_has("macvlan"), "macvlan");
    const Stage stage;
    const PluginCall call = call_for(stage.pod, "'master':'par0','vlan':100,'trust':'on','Master':'par1'");
    const ProcessResult planned = plan(call);
    CHECK(planned.exit_status == 1);
    CHECK_THAT(planned.out, Contains("on parent \"par0\""));
    CHECK_THAT(last_line(planned.err), Names("3 keys", "Master", "trust", "vlan"));
    CHECK_THAT(planned.err, Names("warning: Master", "ignored", "master"));
    const std::string json = plan(call, {"--json"}).out;
    CHECK_THAT(value(json, "idleKeys.2"), Names("vlan", "VF"));
    CHECK_THAT(value(json, "warnings.2"), Names("vlan", "ignored", "VF"));
    CHECK_THAT(last_line(plan(with(call, "'vlan':0,'trust':'','Master':null,'mdoe':'vepa'")).err),
               Names("1 unknown", "mdoe"));
    CHECK_THAT(refusal(with(call, "'strict':true")), Names("code 7", "Master", "master", "trust", "vlan"));
    (void)add(call); // as the peers do, which ignore keys that they don't know
    CHECK(del(call) == "");
    CHECK(stage.node.difference() == "");
}

TEST_CASE("a refused plan in JSON has ADD's error and the warnings", "[plan]") {
    const UnchangedNode node;
    const ProcessResult refused = plan(
        json_text("{'cniVersion':'1.0.0','name':'net','type':'rdmanet','attach':'macvlan','master':'absent0','x':1}"),
        {"--json"});
    CHECK(refused.exit_status == 1);
    CHECK(value(refused.out, "code") == "102");
    CHECK_THAT(value(refused.out, "msg"), Names("master", "absent0"));
    CHECK(value(refused.out, "details") == "");
    CHECK(value(refused.out, "warnings.0") == "x: unknown key, ignored");
    CHECK_THAT(refused.err, Names("warning: x", "ignored", "rdmanet: master", "absent0"));
    const ProcessResult absent = plan("", {"--json"});
    CHECK(absent.exit_status == 1);
    CHECK(value(absent.out, "code") == "6");
    CHECK(node.difference() == "");
}

TEST_CASE("a plan behind another plugin takes that one's result, or says that it is missing", "[plan]") {
    NEEDS(kernel_has("macvlan"), "macvlan");
    const Stage stage;
    const fs::path result = "/tmp/rdmanet-plan-result.json";
    const auto list = [](const std::string& members) {
        return json_text(concat("{'cniVersion':'1.0.0','name':'net','plugins':[{'type':'bridge'},{'type':'rdmanet',",
                                members, "},{'type':'tuning'}]}"));
    };
    const UnchangedNode node;
    const ProcessResult alone = plan(list("'attach':'macvlan','master':'par0'"), {});
    CHECK_THAT(told(alone), Contains("on parent \"par0\""));
    CHECK_THAT(alone.err, Contains("\"bridge\"") && Contains("--prev-result FILE"));
    CHECK_THAT(no_plan(plan(list("'attach':'rdma'"), {})),
               Contains("interface \"net1\"") && Contains("--prev-result FILE"));
    shell(concat("echo '{\"cniVersion\":\"1.0.0\",\"interfaces\":[{\"name\":\"par0\"}]}' >", result.string()));
    const Options with_result{"--prev-result", result};
    const ProcessResult behind = plan(list("'attach':'macvlan'"), with_result);
    CHECK_THAT(told(behind), Contains("on parent \"par0\""));
    CHECK(behind.err.empty());
    CHECK_THAT(no_plan(plan(list("'attach':'rdma'"), with_result)), Names("net1") && !Contains("--prev-result"));
    shell(concat("echo '{' >", result.string()));
    CHECK_THAT(no_plan(plan(list("'attach':'macvlan'"), with_result)), Names(result.string(), "line 2"));
    fs::remove(result);
    CHECK_THAT(no_plan(plan(list("'attach':'macvlan'"), with_result)), Contains(concat(result.string(), ": ")));
    CHECK(node.difference() == "");
}

TEST_CASE("what is no network to plan is refused with what is wrong", "[plan]") {
    const UnchangedNode node;
    const auto said = [](const std::string& config, const Options& options = {}) {
        return no_plan(plan(json_text(config), options));
    };
    const std::string network = "{'cniVersion':'1.1.0','name':'net','type':'rdmanet','attach':'sriov'";
    CHECK_THAT(said("", {"/tmp/rdmanet-absent.json"}), Names("no such file", "/tmp/rdmanet-absent.json"));
    CHECK_THAT(said("", {"/tmp"}), Contains("/tmp: is a directory"));
    CHECK_THAT(said(""), Names("standard input", "empty"));
    CHECK_THAT(refusal(PluginCall{.netns = "/run/netns/absent", .config = " "}), Names("code 6", "empty"));
    CHECK_THAT(said("{'cniVersion"), Contains("line 1"));
    CHECK_THAT(said("[]"), Contains("expected an object"));
    CHECK_THAT(said("{'cniVersion':'1.1.0','name':'net','type':'macvlan'}"), Names("type", "rdmanet", "macvlan"));
    const std::string only_ipam = "{'cniVersion':'1.1.0','name':'net','type':'macvlan','ipam':{'type':'rdmanet'}}";
    CHECK_THAT(said(only_ipam), Names("ipam", "IPAM plugin", "macvlan", "`rdmanet state`"));
    CHECK_THAT(said(concat("{'cniVersion':'1.1.0','name':'net','plugins':[", only_ipam, "]}")),
               Names("IPAM plugin", "macvlan", "`rdmanet state`"));
    CHECK_THAT(said("{'cniVersion':'1.1.0','name':'net','plugins':[{'type':'bridge'}]}"),
               Names("plugins", "rdmanet", "found"));
    CHECK_THAT(said("{'cniVersion':'1.1.0','name':'net','plugins':7}"), Names("plugins"));
    CHECK_THAT(said(concat(network, ",'vlan':'x'}")), Contains("vlan: expected "));
    CHECK_THAT(said(concat(network, "}")), Names("no VF", "`--device 0000:3b:00.2`"));
    CHECK_THAT(said(replaced(network, "sriov", "host-device") + "}"), Names("no device", "--device"));
    CHECK_THAT(said(concat(network, "}"), {"--device", "0000:ff:1f.7"}), Names("0000:ff:1f.7"));
    CHECK_THAT(said(concat(network, "}"), {"--device", "a\"b"}), Contains("deviceID: expected "));
    CHECK_THAT(said(concat(network, "}"), {"--ifname", "a/b"}), StartsWith("--ifname: ") && Contains("\"a/b\""));
    CHECK_THAT(said(concat(network, "}"), {"--args", "X=1"}), Contains("--args: unknown keys \"X\""));
    CHECK_THAT(said(concat(network, "}"), {"--device", "0000:ff:1f.7", "--netns", "/proc/self/ns/net"}),
               Names("--netns", "/proc/self/ns/net"));
    CHECK_THAT(said(concat(network, "}"), {"--device", "0000:ff:1f.7", "--netns", "/run/netns/absent"}),
               Names("--netns", "/run/netns/absent"));
    const ProcessResult without_root =
        run_process({"setpriv", "--bounding-set", "-sys_admin", "--inh-caps", "-sys_admin", binary(), "plan"},
                    {.input = json_text(concat(network, "}"))});
    CHECK_THAT(no_plan(without_root), Names("root"));
    for (const char* command : {"plan", "state", "gc"})
        CHECK_THAT(run_process({"setpriv", "--reuid=65534", binary(), command}).err, Names("root"));
    CHECK(run_process({binary(), "plan", "--nothing"}).exit_status == 2);
    CHECK(node.difference() == "");
}

TEST_CASE("the plan of a VF has its settings, its owner and what the dead left", "[plan][sriov]") {
    NEEDS_VFS();
    const VfStage stage;
    const std::string members = concat(
        "'rdma':{'name':'rdma0'},'vlan':100,'trust':'on','mtu':1300,'mac':'02:00:00:00:00:42',", ipam("10.124.0.0/24"));
    std::optional<Pod> dead(std::in_place, "dead");
    const PluginCall call = of(vf_call(stage.vfs, stage.pod, 0, members), kPlanned);
    const std::string json = plan_untouched(call);
    const std::string text =
        told(plan(replaced(call.config, "\"deviceID\":", "\"pciBusID\":\"0000:00:00.0\",\"$comment\":"),
                  {"--device", stage.vfs.vf(0), "--state-dir", kNoState}));
    CHECK_FALSE(fs::exists(kNoState));
    const std::string missing = "warning: capabilities: \"CNIDeviceInfoFile\" is missing";
    CHECK_THAT(plan(call.config, {}).err, Contains(missing));
    CHECK_THAT(plan(with(call, "'capabilities':{'CNIDeviceInfoFile':false}").config, {}).err, Contains(missing));
    CHECK_THAT(plan(with(call, "'capabilities':{'CNIDeviceInfoFile':true}").config, {}).err, !Contains(missing));
    CHECK_THAT(text, Names("net1", "sriov", stage.vfs.vf(0), "VF 0", stage.vfs.pf(), "02:00:00:00:00:42", "vlan 0",
                           "vlan 100", "trust off", "trust on", stage.vfs.netdev(0), "MTU 1500", "1300", "MAC", "RDMA",
                           stage.vfs.rdma(0), "rdma0"));
    const std::string result = add(call);
    CHECK(steps_in(json) == recorded_steps());
    CHECK(value(json, "rdmaDevice") == "rdma0");
    PluginCall other = of(call, "c2");
    other.ifname = "net2";
    CHECK_THAT(no_plan(plan(other)), Names(stage.vfs.vf(0), "net", kPlanned));
    check_same_words(other);
    CHECK(del(call) == "");

    const PluginCall of_dead = of(vf_call(stage.vfs, *dead, 0, members), "c3");
    (void)add(of_dead);
    dead->destroy();
    CHECK(comes_true([&] { return succeeds("rdma dev show rdma0"); }));
    const std::string seen = plan_untouched(other);
    CHECK_THAT(value(seen, "takenBack.0"), Names("net", "c3", "net1"));
    CHECK_THAT(told(plan(other)), Contains("(network \"net\", container \"c3\""));
    (void)add(other);
    CHECK(del(other) == "");
    CHECK(del(of_dead) == "");
    CHECK(stage.node.difference() == "");
}

TEST_CASE("the plan of an InfiniBand VF binds its driver anew for a GUID", "[plan][infiniband]") {
    NEEDS(OtherNic::possible(), "an InfiniBand card");
    const InfinibandNode infiniband("exclusive");
    infiniband.make_vfs(1);
    const Pod pod("pod");
    const UnchangedNode but_numbers(Numbers::ignored);
    const PluginCall call = of(
        call_for(pod, concat("'deviceID':'", InfinibandNode::vf(0), "','rdma':true,'guid':'02:00:00:00:00:00:00:99'")),
        kPlanned);
    const std::string json = plan_untouched(call);
    CHECK_THAT(told(plan(call)),
               Names("node_guid", "02:00:00:00:00:00:00:99", "port_guid", "driver", "simrnic", "RDMA", "ib0p0v0"));
    (void)add(call);
    CHECK(steps_in(json, kStepsOfNewGuid) == recorded_steps(kStepsOfNewGuid));
    CHECK(del(call) == "");
    CHECK(but_numbers.difference() == "");
}

TEST_CASE("a plan sets up a VF's representor, and refuses the NIC of the default route as ADD does",
          "[plan][sriov][device]") {
    NEEDS_VFS();
    const std::string spare = rdma_parent(1); // before there are representors, which are net devices of a PF, too
    const VfNode vfs;
    const SwitchdevMode mode(vfs.pf());
    const Pod pod("pod");
    const UnchangedNode node;
    const PluginCall call = of(vf_call(vfs, pod, 1, "'mtu':1400,'rdma':false"), kPlanned);
    shell(concat("ip link set ", mode.representor(1), " mtu 1300"));
    const std::string json = plan_untouched(call);
    CHECK_THAT(value(json, "actions.1"), Names("representor", mode.representor(1), "MTU 1300", "1400", "IPv6"));
    (void)add(call);
    CHECK(steps_in(json) == recorded_steps());
    CHECK(del(call) == "");
    shell(concat("ip link set ", mode.representor(1), " mtu 1500"));
    shell(concat("ip -6 route add default dev ", spare));
    check_same_words(of(call_for(pod, concat("'attach':'host-device','device':'", spare, '\'')), kPlanned));
    shell(concat("ip -6 route del default dev ", spare));
    CHECK(node.difference() == "");
}

} // namespace rdmanet::test
