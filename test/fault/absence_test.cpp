// DEL succeeds silently and restores the node from before ADD, whatever is already gone or was edited.
#include "stage.hpp"

#include "support/concat.hpp"
#include "support/reporter.hpp"

#include <catch2/catch.hpp>

#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace rdmanet::test {
namespace {

namespace fs = std::filesystem;

void replace(std::string& text, const std::string& what, const std::string& by) {
    const auto at = text.find(what);
    REQUIRE(at != std::string::npos);
    text.replace(at, what.size(), by);
}

/// Empty if DEL succeeds and prints nothing.
std::string run_del(const PluginCall& call) {
    const ProcessResult result = call.run();
    return result.exit_status == 0 && result.out.empty() ? "" : complaint("DEL", result);
}

/// What happens to the node, or to the call, between ADD and DEL.
struct Disturbance {
    std::string what;
    std::function<void(Stage&, PluginCall&)> act;
};

using Disturbances = std::vector<Disturbance>;

Disturbance edited(const std::string& what, const std::vector<std::pair<std::string, std::string>>& changes) {
    return {what, [changes](const Stage&, PluginCall& call) {
                for (const auto& [from, to] : changes) replace(call.config, from, to);
            }};
}

Disturbance edited(const std::string& from, const std::string& to) {
    return edited(to, {{from, to}});
}

Disturbance without_namespace(const std::string& netns) {
    return {concat("no namespace, CNI_NETNS=", netns), [netns](Stage& stage, PluginCall& call) {
                stage.destroy_pod();
                call.netns = netns;
                CHECK(run_del(call) == "");
                stage.create_pod();
            }};
}

Disturbances for_every_kind() {
    return {{"two earlier DELs",
             [](Stage&, const PluginCall& call) {
                 CHECK(run_del(call) == "");
                 CHECK(run_del(call) == "");
             }},
            {"no lease database",
             [](const Stage& stage, const PluginCall&) {
                 shell(concat("rm -f ", stage.state_directory(), "/leases.sqlite*"));
             }},
            {"no CNI_NETNS", [](const Stage&, PluginCall& call) { call.netns.clear(); }},
            without_namespace("/run/netns/fault-pod"),
            without_namespace("")};
}

/// Not for devices: only their records have their baselines.
Disturbances without_record() {
    return {{"no record", [](const Stage& stage, const PluginCall&) { fs::remove(stage.record()); }},
            {"no state directory", [](Stage& stage, const PluginCall&) { stage.forget_state(); }}};
}

Disturbances for_children() {
    return {
        {"somebody removed the link",
         [](const Stage&, const PluginCall&) { shell("ip -netns fault-pod link delete net1"); }},
        {"another master",
         [](const Stage& stage, PluginCall& call) {
             replace(call.config, concat('"', stage.parent(), '"'), "\"elsewhere0\"");
         }},
        {"no ipam", [](const Stage&,
                       PluginCall& call) { call.config = call.config.substr(0, call.config.find(",\"ipam\"")) + "}"; }},
        edited("\"attach\"", "\"mode\":\"l3\",\"attach\""),
        edited("\"attach\":", "\"mode\":7,\"attach\":")};
}

Disturbances operator+(Disturbances all, const Disturbances& more) {
    all.insert(all.end(), more.begin(), more.end());
    return all;
}

/// DEL before any ADD, and after an ADD and each disturbance. All on one stage, because a VF comes from a guest, in
/// which a stage takes long.
void del_despite(const char* kind, Ipam ipam, const Disturbances& disturbances) {
    NEEDS(missing_for(kind, ipam).empty(), missing_for(kind, ipam));
    Stage stage(kind, ipam);
    const NodeState before = NodeState::take();
    CHECK(stage.run("DEL") == "");
    CHECK(difference_from(before) == "");
    for (const auto& [what, act] : disturbances) {
        INFO(what);
        const ProcessResult added = stage.call("ADD").run();
        INFO(added.err);
        REQUIRE(added.exit_status == 0);
        PluginCall call = stage.call_after(added.out, "DEL");
        act(stage, call);
        CHECK(run_del(call) == "");
        CHECK(difference_from(before) == "");
    }
}

} // namespace

TEST_CASE("DEL of a macvlan child, whatever is gone or was edited", "[absence]") {
    del_despite("macvlan", Ipam::built_in,
                for_every_kind() + without_record() + for_children() +
                    Disturbances{edited("another kind", {{R"("mac":"02:00:00:00:00:42",)", ""}, // not a key of ipvlan
                                                         {"\"macvlan\"", "\"ipvlan\""}}),
                                 edited("10.99.0.0/24", "10.77.0.0/24")});
}

TEST_CASE("DEL of an ipvlan child with host-local, whatever is gone or was edited", "[absence][ipvlan][host-local]") {
    del_despite("ipvlan", Ipam::host_local,
                for_every_kind() + without_record() + for_children() +
                    Disturbances{edited("\"ipvlan\"", "\"macvlan\""), edited("10.98.0.0/24", "10.77.0.0/24")});
}

TEST_CASE("DEL of a VF, whatever is gone or was edited", "[absence][sriov]") {
    del_despite("sriov", Ipam::built_in,
                for_every_kind() +
                    Disturbances{{"somebody moved it to the host",
                                  [](const Stage&, const PluginCall&) {
                                      shell(
                                          "ip -netns fault-pod link set net1 down && ip -netns fault-pod link set net1 "
                                          "netns 1");
                                  }},
                                 edited("another VF", {{":01.0\"", ":01.1\""}}),
                                 edited("\"sriov\"", "\"macvlan\""),
                                 edited("\"vlan\":100", "\"vlan\":\"wide\""),
                                 edited("\"rdma\":true", "\"rdma\":false")});
}

TEST_CASE("DEL of addresses for another plugin's interface, whatever is gone or was edited", "[absence][ipam-only]") {
    del_despite("ipam-only", Ipam::built_in,
                for_every_kind() + without_record() +
                    Disturbances{edited("\"fault0\"", "\"elsewhere0\""),
                                 edited("\"type\":\"macvlan\"", "\"type\":\"rdmanet\",\"attach\":\"macvlan\""),
                                 edited("10.99.0.0/24", "10.77.0.0/24"),
                                 edited("\"range\":\"10.99.0.0/24\"", "\"range\":7"),
                                 edited("\"ipRanges\":[{\"range\":\"fd99::/64\"}]",
                                        "\"ipRanges\":[{\"range\":\"fd99::/48\"}]")});
}

TEST_CASE("DEL leaves another pod alone that got the namespace's name", "[absence]") {
    NEEDS(missing_for("macvlan", Ipam::built_in).empty(), missing_for("macvlan", Ipam::built_in));
    Stage stage("macvlan", Ipam::built_in);
    REQUIRE(stage.run("ADD") == "");
    stage.destroy_pod();
    stage.create_pod();
    shell("ip -netns fault-pod link add net1 type dummy 2>/dev/null || "
          "ip -netns fault-pod link add net1 type veth peer name net1peer");
    CHECK(stage.run("DEL") == "");
    CHECK(succeeds("ip -netns fault-pod link show net1"));
}

TEST_CASE("DEL after the parent is gone", "[absence]") {
    NEEDS(missing_for("macvlan", Ipam::built_in).empty(), missing_for("macvlan", Ipam::built_in));
    Stage stage("macvlan", Ipam::built_in);
    const NodeState before = NodeState::take();
    PluginCall add = stage.call("ADD");
    {
        const VethParent parent("faultgone0");
        replace(add.config, concat('"', stage.parent(), '"'), "\"faultgone0\"");
        const ProcessResult added = add.run();
        INFO(added.out << added.err);
        REQUIRE(added.exit_status == 0);
    }
    CHECK(run_del(add.with_command("DEL")) == "");
    CHECK(difference_from(before) == "");
}

} // namespace rdmanet::test
