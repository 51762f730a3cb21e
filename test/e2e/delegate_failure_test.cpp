// IPAM plugins that fail, hang or are absent: what ADD leaves, and what DEL still does.
#include "attachment_stage.hpp"
#include "fake_plugin.hpp"
#include "golden.hpp"
#include "support/concat.hpp"
#include "support/names.hpp"
#include "support/patience.hpp"

#include <catch2/catch.hpp>

#include <chrono>
#include <filesystem>
#include <future>

using namespace rdmanet;
using namespace rdmanet::test;
using Catch::Matchers::Contains;

namespace {

namespace fs = std::filesystem;

/// `seconds` is a regular expression. The test ends, so rdmanet kept the time that it reports: the delegates hang
/// longer than a test may take.
auto gave_up_after(const std::string& seconds) {
    return Catch::Matches(concat("[^]*gave up after ", seconds, "([.][0-9]+)? s [^]*"));
}

} // namespace

TEST_CASE("a delegate's unreleased address after a killed ADD blocks nobody, and a corrected configuration releases it",
          "[delegate][remaining]") {
    const CheckedStage stage;
    const FakePlugin plugin;
    const char* const on_del = R"(if [ $CNI_COMMAND = DEL ]; then )"
                               R"(grep -q corrected || { echo '{"code":999,"msg":"subnet is nonsense"}'; exit 1; }; )"
                               R"(exit; fi; )";
    const PluginCall call = fake_call(stage.pod);
    const PluginCall corrected = with(call, "'mark':'corrected'");
    const auto kill_add = [&] {
        plugin.install(concat(on_del, "kill -9 $PPID; exec sleep 300"));
        CHECK(call.run().exit_status != 0);
        plugin.install(concat(on_del, kGoodAdd));
    };
    kill_add();
    for (int time = 0; time < 2; ++time)
        CHECK_THAT(del(call), Names("code 108", "still held", "addresses", "fake", "DEL", "subnet is nonsense"));
    CHECK_FALSE(stage.pod.succeeds("ip link show net1"));
    const UnchangedNode with_unreleased;
    const PluginCall other = of(corrected, "c2");
    (void)add(other);
    CHECK(del(other) == "");
    CHECK(with_unreleased.difference() == "");
    SECTION("the same container is attached again, and a corrected DEL releases") {
        (void)add(call);
        CHECK_THAT(del(call), Names("code 108", "still held", "addresses", "fake"));
        (void)add(corrected);
        CHECK(del(corrected) == "");
    }
    SECTION("the same container is attached again without that plugin, and a corrected DEL releases") {
        const PluginCall leased = call_for(stage.pod, concat("'master':'par0',", ipam("10.62.7.0/24")));
        (void)add(leased);
        CHECK_THAT(del(leased), Contains("108") && Contains("subnet is nonsense"));
        CHECK(shell(concat(binary(), " state --json | jq -c .leases")) == "[]\n");
        CHECK(del(corrected) == "");
    }
}

TEST_CASE("if a delegate fails DEL, the rest is undone, the failure is reported, and the next DEL calls it again",
          "[delegate][golden]") {
    const CheckedStage stage;
    const FakePlugin plugin;
    const PluginCall call = fake_call(stage.pod);
    Golden golden("DEL with a delegate that fails");
    const auto fail_with = [&](const std::string& failure, const std::string& members) {
        INFO(failure << members);
        plugin.install(kGoodAdd);
        (void)add(call);
        if (failure.empty())
            plugin.uninstall();
        else
            plugin.install(failure);
        const PluginCall edited = members.empty() ? call : with(call, members);
        golden.add(error_of(edited.with_command("DEL").run())); // run() refuses words of success
        CHECK_FALSE(stage.pod.succeeds("ip link show net1"));
        plugin.install("");
        CHECK(del(call) == "");
        CHECK(FakePlugin::calls() == "DEL ");
        CHECK(stage.node.difference() == "");
    };
    for (const char* failure :
         {R"(echo '{"code":11,"msg":"lease not found: no such file or directory","details":"not found"}'; exit 1)",
          "exit 3", "kill -9 $$", "echo rubbish; exit 1", "echo 'not found' >&2; exit 1", ""})
        fail_with(failure, "");
    fail_with("exit 3", "'mark':'corrected'");
    // A plugin that refused the ADD holds nothing, so the failure of its DEL is only logged.
    plugin.install(R"(echo '{"code":7,"msg":"lease not found"}'; exit 1)");
    (void)refusal(call);
    const ProcessResult result = call.with_command("DEL").run();
    CHECK(result.exit_status == 0);
    CHECK_NOTHROW(refuse_words_of_success({.out = result.err}));
    golden.add(complaints(result.err));
    CHECK(golden.difference() == "");
}

TEST_CASE("DEL removes the interface although the delegate hangs", "[delegate][.hang]") {
    const CheckedStage stage;
    const FakePlugin plugin;
    plugin.install(kGoodAdd);
    const PluginCall call = fake_call(stage.pod);
    (void)add(call);
    plugin.install("exec sleep 3000");
    CHECK_THAT(del(call), Names("code 108", "still held", "addresses", "fake") &&
                              gave_up_after("(4[0-9]|50)")); // CRI-O ends a DEL after 60 seconds
    CHECK_FALSE(stage.pod.succeeds("ip link show net1"));
    plugin.install("");
    CHECK(del(call) == "");
}

TEST_CASE("ADD gives up on a delegate that hangs, calls its DEL, and leaves nothing", "[delegate][.hang]") {
    const CheckedStage stage;
    const FakePlugin plugin;
    plugin.install("[ $CNI_COMMAND = ADD ] || exit 0\nsleep 3000 & wait");
    CHECK_THAT(refusal(fake_call(stage.pod)), Names("code 11", "IPAM", "fake", "ADD") && gave_up_after("(9[0-9]|100)"));
    CHECK(FakePlugin::calls() == "ADD DEL ");
}

TEST_CASE("a DEL that cannot wait for an ADD makes this ADD undo itself, and no other", "[delegate][.hang]") {
    const CheckedStage stage;
    const FakePlugin plugin;
    plugin.install(concat("if [ $CNI_COMMAND = ADD ]; then touch $dir/started; until [ -e $dir/go ]; do sleep 0.05; "
                          "done; fi\n",
                          kGoodAdd));
    PluginCall call = fake_call(stage.pod);
    call.timeout = std::chrono::seconds(115);
    auto added = std::async(std::launch::async, [&] { return error_of(call.run()); });
    REQUIRE(comes_true([] { return fs::exists(FakePlugin::file("started")); }));
    CHECK_THAT(del(call), Names("code 11", "ADD", "undo", "held by process", "rdmanet gc"));
    shell(concat("touch ", FakePlugin::file("go")));
    CHECK_THAT(added.get(), Names("code 11", "DEL", "net", "c1"));
    CHECK(stage.node.difference() == "");
    CHECK(addresses(add(call)) == "10.62.0.5/24"); // the same container ID is used again
    CHECK(del(call) == "");
}

TEST_CASE("STATUS gives up on a delegate that hangs before the runtime's deadline", "[delegate]") {
    const CheckedStage stage;
    const FakePlugin plugin;
    plugin.install("sleep 3000 & wait");
    CHECK_THAT(outcome(fake_call(stage.pod), "STATUS"),
               Names("code 11", "IPAM", "fake", "STATUS") && gave_up_after("[0-9]"));
}
