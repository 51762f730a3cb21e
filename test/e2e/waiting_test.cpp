// Other calls for an attachment wait while its DEL runs, and then look at the attachment again.
#include "attachment_stage.hpp"
#include "fake_plugin.hpp"

#include "support/concat.hpp"
#include "support/patience.hpp"

#include <catch2/catch.hpp>

#include <chrono>
#include <filesystem>
#include <future>
#include <optional>

namespace rdmanet::test {

using Catch::Contains;

namespace {

/// A pod with an end of a veth pair of the host. A delegate gives its addresses.
struct MovedStage {
    MovedStage() {
        shell("ip link add moved0 type veth peer name movedpeer0 && ip link set movedpeer0 addrgenmode none && "
              "ip link set moved0 addrgenmode none");
        node.emplace();
        plugin.install(kGoodAdd);
        (void)add(call);
        // DEL ends only after the test has seen that the other call waits.
        plugin.install(
            concat("[ $CNI_COMMAND != DEL ] || [ -e $dir/go ] || { touch $dir/started; until [ -e $dir/go ]; do "
                   "sleep 0.05; done; }\n",
                   kGoodAdd));
    }
    MovedStage(const MovedStage&) = delete;
    MovedStage& operator=(const MovedStage&) = delete;
    ~MovedStage() { (void)succeeds("ip link delete movedpeer0"); }

    static PluginCall call_in(const Pod& pod) {
        PluginCall call = call_for(pod, "'attach':'host-device','device':'moved0','ipam':{'type':'fake'}");
        call.path = FakePlugin::directory();
        return call;
    }

    Pod pod{"pod"};
    Pod next{"next"};
    FakePlugin plugin;
    PluginCall call = call_in(pod);
    std::optional<UnchangedNode> node;
};

std::future<std::string> begin_del(const PluginCall& call) {
    auto ended = std::async(std::launch::async, [call] { return del(call); });
    REQUIRE(comes_true([] { return std::filesystem::exists(FakePlugin::file("started")); }));
    return ended;
}

/// Waits until two processes have the lock file open, or until the second call has ended.
void wait_for_second(std::future<std::string>& second) {
    REQUIRE(comes_true([&] {
        return second.wait_for(std::chrono::seconds{0}) == std::future_status::ready ||
               succeeds(
                   "[ $(find /proc/[0-9]*/fd -lname /run/rdmanet/lock 2>/dev/null | cut -d/ -f3 | sort -u | wc -l) "
                   "-ge 2 ]");
    }));
}

} // namespace

TEST_CASE("ADD of a device waits for the running DEL of the pod that has it", "[delegate][device]") {
    const MovedStage stage;
    PluginCall call = MovedStage::call_in(stage.next);
    call.container = "c2";
    auto deleted = begin_del(stage.call);
    auto added = std::async(std::launch::async, [&] { return outcome(call, "ADD"); });
    wait_for_second(added);
    shell(concat("touch ", FakePlugin::file("go")));
    CHECK(deleted.get() == "");
    CHECK(added.get() == "");
    CHECK(del(call) == "");
    CHECK(stage.node->difference() == "");
}

TEST_CASE("`gc --forget` does not undo again what a running DEL removes", "[delegate][gc]") {
    MovedStage stage;
    stage.pod.destroy(); // --forget refuses living pods
    auto deleted = begin_del(stage.call);
    auto forgotten =
        std::async(std::launch::async, [] { return shell(concat(binary(), " gc --forget c1 net1 2>&1; true")); });
    wait_for_second(forgotten);
    shell(concat("touch ", FakePlugin::file("go")));
    CHECK(deleted.get() == "");
    CHECK_THAT(forgotten.get(), Contains("removed"));
    CHECK(FakePlugin::calls() == "DEL ");
}

} // namespace rdmanet::test
