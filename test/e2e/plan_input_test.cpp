// What `rdmanet plan` reads: configurations, lists and NetworkAttachmentDefinitions. Other input is refused.
#include "plan_stage.hpp"

#include "support/concat.hpp"
#include "support/names.hpp"

#include <catch2/catch.hpp>

namespace rdmanet::test {

using Catch::Contains;
using Catch::EndsWith;
using Catch::StartsWith;

TEST_CASE("a plan reads NetworkAttachmentDefinitions, YAML and JSON, by name", "[plan]") {
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
    const CheckedNode node;
    CHECK_THAT(plan_text(plan(nameless, {})), network("roce"));
    CHECK_THAT(plan_text(plan(concat(nameless, "---\n", pod), {})), network("roce"));
    CHECK_THAT(plan_text(plan(all, {"--name", "roce"})), network("roce"));
    CHECK_THAT(plan_text(plan(all, {"--name", "default/roce"})), network("roce"));
    CHECK_THAT(plan_text(plan(all, {"--name", "training/rail"})), network("own") && Contains("MTU 1400"));
    const std::string in_json = concat(R"({"kind":"NetworkAttachmentDefinition","metadata":{"name":"roce"},"spec":)",
                                       R"({"config":"{\"cniVersion\":\"1.0.0\",\"type\":\"rdmanet\",)",
                                       R"(\"attach\":\"macvlan\",\"master\":\"par0\"}"}})");
    CHECK_THAT(plan_text(plan(in_json, {})), network("roce"));
    CHECK_THAT(plan_text(plan(concat("{\"kind\":\"List\",\"items\":[{\"kind\":\"Pod\"},", in_json, "]}"), {})),
               network("roce"));
    CHECK_THAT(plan_text(plan(concat(in_json, "\n---\n{\"kind\":\"Pod\"}\n"), {})), network("roce"));

    CHECK_THAT(plan_refusal(plan(all, {})),
               Names("4 networks", "default/roce", "training/rail", "test/rail", "default/empty", "--name"));
    CHECK_THAT(plan_refusal(plan(all, {"--name", "rail"})), Names("rail", "--name", "NAMESPACE/NAME"));
    CHECK_THAT(plan_refusal(plan(all, {"--name", "roc"})), Names("NetworkAttachmentDefinition", "roc"));
    CHECK_THAT(plan_refusal(plan(all, {"--name", "empty"})), Names("spec.config"));
    CHECK_THAT(plan_refusal(plan(definition("bad", "", "{,}"), {})),
               Names("NetworkAttachmentDefinition", "bad", "line 1", "column 2"));
    CHECK_THAT(plan_refusal(plan(definition("bridge", "", R"({"type":"bridge"})"), {})),
               Names("NetworkAttachmentDefinition", "bridge", "type", "rdmanet"));
    CHECK_THAT(plan_refusal(plan(pod, {})), Names("JSON", "NetworkAttachmentDefinition", "YAML", "found Pod"));
    CHECK_THAT(plan_refusal(plan("rubbish", {})), Names("JSON"));
    CHECK_THAT(plan_refusal(plan("kind: [\n", {})), Names("YAML"));
    CHECK_THAT(plan_refusal(plan(std::string(100'000, '['), {})), Contains("nested deeper"));
    CHECK_THAT(plan_refusal(plan(concat("-\n---\n", std::string(100'000, '[')), {})), Contains("YAML: "));
    CHECK_THAT(plan_refusal(plan("&a { kind: List, items: [ *a ] }", {})), Contains("found List"));
}

TEST_CASE("unknown keys are refused if the network or its node is strict, and end a plan with status 1", "[plan]") {
    const CheckedStage stage;
    const PluginCall call = call_for(stage.pod, concat("'master':'par0','mtuu':7,", ipam("10.121.0.0/29", "'x':1")));
    const ProcessResult planned = plan(call);
    CHECK(planned.exit_status == 1);
    CHECK_THAT(planned.out, Names("interface", "net1"));
    CHECK_THAT(planned.err,
               Names("warning: mtuu", "did you mean", "mtu", "warning: ipam.x") && EndsWith("mtuu, ipam.x\n"));
    const PluginCall strict = with(call, "'strict':true");
    CHECK_THAT(plan_refusal(plan(strict)), Names("mtuu", "mtu", "ipam.x", "strict"));
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
    CHECK(check(strict, result) == ""); // strictness does not matter after ADD
    CHECK(del(strict) == "");
}

TEST_CASE("a plan names keys without effect on this kind of network, and a strict network refuses them", "[plan]") {
    const CheckedStage stage;
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
    (void)add(call); // peers ignore unknown keys too
    CHECK(del(call) == "");
}

TEST_CASE("a refused plan in JSON has ADD's error and the warnings", "[plan]") {
    const CheckedNode node;
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
}

TEST_CASE("input without a network to plan is refused, and the error says why", "[plan]") {
    const CheckedNode node;
    const auto said = [](const std::string& config, const Options& options = {}) {
        return plan_refusal(plan(json_text(config), options));
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
    CHECK_THAT(said(concat(network, "}"), {"--args", "CNI_PATH=1"}), Names("--args", "\"CNI_PATH\""));
    CHECK_THAT(said(concat(network, "}"), {"--device", "0000:ff:1f.7", "--netns", "/proc/self/ns/net"}),
               Names("--netns", "/proc/self/ns/net"));
    CHECK_THAT(said(concat(network, "}"), {"--device", "0000:ff:1f.7", "--netns", "/run/netns/absent"}),
               Names("--netns", "/run/netns/absent"));
    const ProcessResult without_root =
        run_process({"setpriv", "--bounding-set", "-sys_admin", "--inh-caps", "-sys_admin", binary(), "plan"},
                    {.input = json_text(concat(network, "}"))});
    CHECK_THAT(plan_refusal(without_root), Names("root"));
    for (const char* command : {"plan", "state", "gc"})
        CHECK_THAT(run_process({"setpriv", "--reuid=65534", binary(), command}).err, Names("root"));
    CHECK(run_process({binary(), "plan", "--nothing"}).exit_status == 2);
}

} // namespace rdmanet::test
