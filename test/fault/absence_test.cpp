// DEL succeeds silently and restores the node from before ADD, whatever is already gone or was edited.
#include "stage.hpp"

#include "support/concat.hpp"
#include "support/reporter.hpp"

#include <catch2/catch.hpp>

#include <filesystem>
#include <string>
#include <utility>

namespace rdmanet::test {
namespace {

namespace fs = std::filesystem;

void replace(std::string& text, const std::string& what, const std::string& by) {
    const auto at = text.find(what);
    REQUIRE(at != std::string::npos);
    text.replace(at, what.size(), by);
}

/// Nothing on stdout, exit status 0; what is wrong otherwise.
std::string run_del(const PluginCall& call) {
    const ProcessResult result = call.run();
    return result.exit_status == 0 && result.out.empty() ? "" : complaint("DEL", result);
}

template <class Disturb>
void del_after_on(Stage& stage, const NodeState& before, Disturb disturb) {
    const ProcessResult added = stage.call("ADD").run();
    REQUIRE(added.exit_status == 0);
    PluginCall call = stage.call_after(added.out, "DEL");
    disturb(stage, call);
    CHECK(run_del(call) == "");
    CHECK(difference_from(before) == "");
}

/// The pod was attached, then `disturb` did something to the node or to the call.
template <class Disturb>
void del_after(Disturb disturb) {
    constexpr std::pair<const char*, Ipam> kPairs[] = {{"macvlan", Ipam::built_in}, {"ipvlan", Ipam::host_local}};
    for (const auto& [kind, ipam] : kPairs) {
        if (!missing_for(kind, ipam).empty()) continue;
        INFO(kind << (ipam == Ipam::built_in ? ", built-in" : ", host-local"));
        Stage stage(kind, ipam);
        del_after_on(stage, NodeState::take(), disturb);
    }
}

#define NEEDS_MACVLAN() NEEDS(missing_for("macvlan", Ipam::built_in).empty(), missing_for("macvlan", Ipam::built_in))

} // namespace

TEST_CASE("DEL three times in a row", "[absence]") {
    NEEDS_MACVLAN();
    del_after([](Stage&, const PluginCall& call) {
        CHECK(run_del(call) == "");
        CHECK(run_del(call) == "");
    });
}

TEST_CASE("DEL before any ADD", "[absence]") {
    NEEDS_MACVLAN();
    Stage stage("macvlan", Ipam::built_in);
    const NodeState before = NodeState::take();
    CHECK(stage.run("DEL") == "");
    CHECK(difference_from(before) == "");
}

TEST_CASE("DEL without the state directory", "[absence]") {
    NEEDS_MACVLAN();
    del_after([](Stage& stage, const PluginCall&) { stage.forget_state(); });
}

TEST_CASE("DEL without the lease database", "[absence]") {
    NEEDS_MACVLAN();
    del_after([](const Stage& stage, const PluginCall&) {
        shell(concat("rm -f ", stage.state_directory(), "/leases.sqlite*"));
    });
}

TEST_CASE("DEL without the record", "[absence]") {
    NEEDS_MACVLAN();
    del_after([](const Stage& stage, const PluginCall&) { fs::remove(stage.record()); });
}

TEST_CASE("DEL after somebody removed the link", "[absence]") {
    NEEDS_MACVLAN();
    del_after([](const Stage&, const PluginCall&) { shell("ip -netns fault-pod link delete net1"); });
}

TEST_CASE("DEL after the namespace is gone", "[absence]") {
    NEEDS_MACVLAN();
    for (const char* netns : {"/run/netns/fault-pod", ""}) {
        Stage stage("macvlan", Ipam::built_in);
        stage.destroy_pod();
        const NodeState before = NodeState::take();
        stage.create_pod();
        REQUIRE(stage.run("ADD") == "");
        stage.destroy_pod();
        PluginCall call = stage.call("DEL");
        call.netns = netns;
        CHECK(run_del(call) == "");
        CHECK(difference_from(before) == "");
    }
}

TEST_CASE("DEL without CNI_NETNS while the namespace lives", "[absence]") {
    NEEDS_MACVLAN();
    del_after([](const Stage&, PluginCall& call) { call.netns.clear(); });
}

TEST_CASE("DEL after the namespace's name went to another pod", "[absence]") {
    NEEDS_MACVLAN();
    Stage stage("macvlan", Ipam::built_in);
    REQUIRE(stage.run("ADD") == "");
    stage.destroy_pod();
    stage.create_pod();
    shell("ip -netns fault-pod link add net1 type dummy 2>/dev/null || "
          "ip -netns fault-pod link add net1 type veth peer name net1peer");
    CHECK(stage.run("DEL") == "");
    CHECK(succeeds("ip -netns fault-pod link show net1"));
}

TEST_CASE("DEL with an edited configuration", "[absence]") {
    NEEDS_MACVLAN();
    SECTION("another master") {
        del_after([](const Stage& stage, PluginCall& call) {
            replace(call.config, concat('"', stage.parent(), '"'), "\"elsewhere0\"");
        });
    }
    SECTION("another kind") {
        del_after([](const Stage&, PluginCall& call) {
            const bool macvlan = call.config.find("\"macvlan\"") != std::string::npos;
            if (macvlan) replace(call.config, R"("mac":"02:00:00:00:00:42",)", ""); // no key of ipvlan
            replace(call.config, macvlan ? "\"macvlan\"" : "\"ipvlan\"", macvlan ? "\"ipvlan\"" : "\"macvlan\"");
        });
    }
    SECTION("another mode") {
        del_after(
            [](const Stage&, PluginCall& call) { replace(call.config, "\"attach\"", "\"mode\":\"l3\",\"attach\""); });
    }
    SECTION("another range") {
        del_after([](const Stage&, PluginCall& call) {
            const bool built_in = call.config.find("10.99.0.0/24") != std::string::npos;
            replace(call.config, built_in ? "10.99.0.0/24" : "10.98.0.0/24", "10.77.0.0/24");
        });
    }
    SECTION("no ipam") {
        del_after([](const Stage&, PluginCall& call) {
            const auto at = call.config.find(",\"ipam\"");
            call.config = call.config.substr(0, at) + "}";
        });
    }
    SECTION("nonsense in our keys") {
        del_after(
            [](const Stage&, PluginCall& call) { replace(call.config, "\"attach\":", "\"mode\":7,\"attach\":"); });
    }
}

TEST_CASE("DEL after the parent is gone", "[absence]") {
    NEEDS_MACVLAN();
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

/// On one stage: a VF comes from a guest, where each takes its time.
TEST_CASE("DEL of a VF, whatever is already gone or was edited", "[absence][sriov]") {
    NEEDS(missing_for("sriov", Ipam::built_in).empty(), missing_for("sriov", Ipam::built_in));
    Stage stage("sriov", Ipam::built_in);
    const NodeState before = NodeState::take();
    const auto after = [&](const char* what, const auto& disturb) {
        INFO(what);
        del_after_on(stage, before, disturb);
    };
    const auto edited = [&](const char* from, const char* to) {
        after(to, [&](Stage&, PluginCall& call) { replace(call.config, from, to); });
    };
    CHECK(stage.run("DEL") == "");
    CHECK(difference_from(before) == "");
    after("twice before", [](Stage&, const PluginCall& call) {
        CHECK(run_del(call) == "");
        CHECK(run_del(call) == "");
    });
    after("no lease database", [](const Stage& own, const PluginCall&) {
        shell(concat("rm -f ", own.state_directory(), "/leases.sqlite*"));
    });
    after("no CNI_NETNS", [](Stage&, PluginCall& call) { call.netns.clear(); });
    after("somebody brought it home", [](Stage&, const PluginCall&) {
        shell("ip -netns fault-pod link set net1 down && ip -netns fault-pod link set net1 netns 1");
    });
    for (const char* netns : {"/run/netns/fault-pod", ""})
        after("no namespace", [&](Stage& own, PluginCall& call) {
            own.destroy_pod();
            call.netns = netns;
            CHECK(run_del(call) == "");
            own.create_pod();
        });
    edited(":01.0\"", ":01.1\""); // another VF
    edited("\"sriov\"", "\"macvlan\"");
    edited("\"vlan\":100", "\"vlan\":\"wide\"");
    edited("\"rdma\":true", "\"rdma\":false");
}

TEST_CASE("DEL of addresses for another plugin's interface, whatever is already gone or was edited",
          "[absence][ipam-only]") {
    NEEDS_MACVLAN();
    Stage stage("ipam-only", Ipam::built_in);
    const NodeState before = NodeState::take();
    const auto after = [&](const char* what, const auto& disturb) {
        INFO(what);
        del_after_on(stage, before, disturb);
    };
    const auto edited = [&](const char* from, const char* to) {
        after(to, [&](Stage&, PluginCall& call) { replace(call.config, from, to); });
    };
    CHECK(stage.run("DEL") == "");
    CHECK(difference_from(before) == "");
    after("twice before", [](Stage&, const PluginCall& call) {
        CHECK(run_del(call) == "");
        CHECK(run_del(call) == "");
    });
    after("no state directory", [](Stage& own, const PluginCall&) { own.forget_state(); });
    after("no record", [](Stage& own, const PluginCall&) { fs::remove(own.record()); });
    after("no lease database",
          [](Stage& own, const PluginCall&) { shell(concat("rm -f ", own.state_directory(), "/leases.sqlite*")); });
    after("no CNI_NETNS", [](Stage&, PluginCall& call) { call.netns.clear(); });
    for (const char* netns : {"/run/netns/fault-pod", ""})
        after("no namespace", [&](Stage& own, PluginCall& call) {
            own.destroy_pod();
            call.netns = netns;
            CHECK(run_del(call) == "");
            own.create_pod();
        });
    edited("\"fault0\"", "\"elsewhere0\"");
    edited("\"type\":\"macvlan\"", "\"type\":\"rdmanet\",\"attach\":\"macvlan\"");
    edited("10.99.0.0/24", "10.77.0.0/24");
    edited("\"range\":\"10.99.0.0/24\"", "\"range\":7");
    edited("\"ipRanges\":[{\"range\":\"fd99::/64\"}]", "\"ipRanges\":[{\"range\":\"fd99::/48\"}]");
}

} // namespace rdmanet::test
