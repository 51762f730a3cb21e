// `rdmanet plan` reports what ADD would do, refuses in ADD's words, and changes nothing.
#include "plan_stage.hpp"

#include "support/concat.hpp"
#include "support/names.hpp"

#include <catch2/catch.hpp>

#include <filesystem>

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
    const CheckedStage stage;
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
}

TEST_CASE("a plan behind another plugin uses that plugin's result, or reports that it is missing", "[plan]") {
    const Stage stage;
    const fs::path result = "/tmp/rdmanet-plan-result.json";
    const auto list = [](const std::string& members) {
        return json_text(concat("{'cniVersion':'1.0.0','name':'net','plugins':[{'type':'bridge'},{'type':'rdmanet',",
                                members, "},{'type':'tuning'}]}"));
    };
    const CheckedNode node;
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
}

} // namespace rdmanet::test
