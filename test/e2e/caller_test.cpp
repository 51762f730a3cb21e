// Callers that close or fill outputs, never end their input, or leave little memory, stack or descriptors.
#include "shell_call.hpp"

#include "support/concat.hpp"
#include "support/names.hpp"

#include <catch2/catch.hpp>

#include <string>
#include <thread>
#include <vector>

using namespace rdmanet::test;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;

namespace {

/// Attachments and leases. A snapshot of the node would take too long for so many limits.
std::string held() {
    return shell(concat(binary(), " state --json --state-dir ${RDMANET_STATE_DIR:-/run/rdmanet}"));
}

} // namespace

TEST_CASE("a command completes although its reader has gone", "[protocol]") {
    // The commands below write into a pipe without a reader, so every write fails.
    const std::string nobody_reads = "unset CNI_COMMAND; exec 3> >(exec true); trap '' PIPE; "
                                     "while printf x >&3; do :; done 2>/dev/null; trap - PIPE; exec \"$0\" ";
    const ProcessResult state = run_by_shell(concat(nobody_reads, "state >&3"), {});
    CHECK(state.exit_status == 1);
    CHECK(state.err.empty());

    const CheckedStage stage;
    Pod dying("dying");
    for (const char* container : {"c1", "c2", "c3"}) {
        PluginCall call = of(dual_stack(dying, "1.1.0"), container);
        call.ifname = concat("net", container);
        (void)add(call);
    }
    dying.destroy();
    // `gc` reports on standard error that it rebuilds the lease store before it removes anything.
    shell("printf x >${RDMANET_STATE_DIR:-/run/rdmanet}/leases");
    CHECK(run_by_shell(concat(nobody_reads, "gc >&3 2>&3"), {}).exit_status == 1);
    CHECK_THAT(held(), !Contains("containerID"));
    shell("rm -f ${RDMANET_STATE_DIR:-/run/rdmanet}/leases.corrupt*");
}

TEST_CASE("every command gives up on standard input that never ends", "[protocol]") {
    // The writer goes on as long as somebody reads.
    const std::string endless = "set -o pipefail; while sleep 0.1; do printf ' '; done 2>/dev/null | ";
    PluginCall call;
    call.container = "c1";
    call.ifname = "net1";
    call.netns = "/proc/self/ns/net";
    ProcessResult planned;
    std::thread planning([&] { planned = run_by_shell(concat("unset CNI_COMMAND; ", endless, "\"$0\" plan -"), {}); });
    const ProcessResult added = run_by_shell(concat(endless, "\"$0\""), call);
    planning.join();
    CHECK_FALSE(added.timed_out);
    CHECK_THAT(error_of(added), Names("code 5", "standard input", "10000 ms"));
    CHECK_FALSE(planned.timed_out);
    CHECK_THAT(planned.err, Names("standard input", "10000 ms"));
}

TEST_CASE("every command works with a small stack limit", "[protocol][memory-limit]") {
    const CheckedStage stage;
    const PluginCall call = dual_stack(stage.pod, "1.0.0");
    const std::string small = "ulimit -s 16; exec \"$0\" ";
    const ProcessResult added = run_by_shell(small, call);
    REQUIRE(added.exit_status == 0);
    const PluginCall later = after(call, document_of(added).root().to_text());
    CHECK(run_by_shell(small, later.with_command("CHECK")).exit_status == 0);
    for (const char* arguments : {"state", "state --json", "gc --dry-run", "gc --json"})
        CHECK(run_by_shell(concat("unset CNI_COMMAND; ", small, arguments), {}).exit_status == 0);
    CHECK_THAT(error_of(run_by_shell(small, with(call, "'mtu':'x'"))), Names("code 7", "mtu", "x"));
    CHECK(run_by_shell(small, later.with_command("DEL")).exit_status == 0);
}

TEST_CASE("without memory for a larger stack than the limit allows, the plugin reports an error",
          "[protocol][memory-limit]") {
    PluginCall call;
    call.command = "VERSION";
    // Finds the lowest limit at which the program itself fits. Another 8 MiB do not fit then.
    std::string none;
    ProcessResult asked;
    for (unsigned mib = 1; asked.out.empty() && mib < 64; ++mib) {
        none = concat("ulimit -s 64; ulimit -v ", mib * 1024, "; exec \"$0\"");
        asked = run_by_shell(none, call);
    }
    CHECK(asked.exit_status == 1);
    CHECK_THAT(error_of(asked), Names("code 999", "stack limit", "1024 KiB", "ulimit -s 1024"));
    CHECK(asked.err == "");
    const ProcessResult by_hand = run_by_shell(concat("unset CNI_COMMAND; ", none, " state"), {});
    CHECK(by_hand.out == "");
    CHECK_THAT(by_hand.err, Contains("ulimit -s 1024"));
}

TEST_CASE("a large configuration is accepted, an endless one is refused", "[protocol][large]") {
    const CheckedStage stage;
    const PluginCall large =
        with(dual_stack(stage.pod, "1.0.0"), concat("'filler':'", std::string(std::size_t{15} << 20U, 'x'), '\''));
    CHECK(addresses(add(large)) == "10.60.0.2/24 fd60::1/64");
    CHECK(del(large).empty());
    PluginCall call = dual_stack(stage.pod, "1.0.0");
    CHECK_THAT(error_of(run_by_shell("exec \"$0\" </dev/zero", call)), StartsWith("code 5: "));
    CHECK_THAT(error_of(run_by_shell("exec \"$0\" <&-", call)), StartsWith("code 5: "));
    CHECK_THAT(error_of(run_by_shell("exec \"$0\" </", call)), StartsWith("code 5: ")); // a directory
    CHECK_THAT(error_of(run_by_shell("exec \"$0\" </dev/null", call)), StartsWith("code 6: "));
}

TEST_CASE("ADD undoes the attachment if its caller cannot receive the result", "[protocol]") {
    const Stage stage;
    const PluginCall call = dual_stack(stage.pod, "1.0.0");
    for (const char* command : {"exec \"$0\" >&-", "exec \"$0\" >/dev/full", "exec \"$0\" 1</dev/null",
                                "(sleep 0.2; exec \"$0\") | true; exit ${PIPESTATUS[0]}", "exec \"$0\" >&- 2>&-"}) {
        INFO(command);
        const ProcessResult result = run_by_shell(command, call);
        CHECK(result.exit_status == 1);
        CHECK(result.out.empty());
        CHECK(stage.node.difference() == "");
    }
}

TEST_CASE("DEL and GC print nothing, so they work with closed outputs", "[protocol]") {
    const Stage stage;
    const PluginCall call = dual_stack(stage.pod, "1.1.0");
    for (const char* command : {"exec \"$0\" >&-", "exec \"$0\" >/dev/full", "exec \"$0\" >&- 2>&-"}) {
        INFO(command);
        (void)add(call);
        CHECK(run_by_shell(command, call.with_command("DEL")).exit_status == 0);
        CHECK(stage.node.difference() == "");
    }
}

TEST_CASE("closed standard error changes no result, and its text goes nowhere else", "[protocol]") {
    const CheckedStage stage;
    const PluginCall call = with(dual_stack(stage.pod, "1.0.0"), "'logLevel':'debug'");
    const ProcessResult added = run_by_shell("exec \"$0\" 2>&-", call);
    CHECK(added.exit_status == 0);
    const std::string result = document_of(added).root().to_text();
    CHECK(run_by_shell("exec \"$0\" 2>&-", after(call, result).with_command("CHECK")).exit_status == 0);
    CHECK(run_by_shell("exec \"$0\" 2>&-", call.with_command("DEL")).exit_status == 0);
}

TEST_CASE("working directory and unrelated environment variables have no effect", "[protocol]") {
    const CheckedStage stage;
    const PluginCall call = dual_stack(stage.pod, "1.0.0");
    const std::string odd = "mkdir /tmp/gone && cd /tmp/gone && rmdir /tmp/gone && umask 777 && ulimit -n 64 && "
                            "export LC_ALL=xx_XX.rubbish TMPDIR=/absent HOME= TZ=:/etc/passwd && "
                            "trap '' CHLD PIPE TERM INT HUP && exec \"$0\"";
    CHECK(run_by_shell(odd, call).exit_status == 0);
    const ProcessResult removed = run_by_shell(odd, call.with_command("DEL"));
    CHECK(removed.exit_status == 0);
    CHECK(removed.out.empty());
}

TEST_CASE("with too little memory, descriptors or file size ADD fails or dies, and DEL cleans up", "[protocol]") {
    const CheckedStage stage;
    const PluginCall call = dual_stack(stage.pod, "1.0.0");
    std::vector<std::string> limits;
    for (unsigned mib = 1; mib <= 16; ++mib) limits.push_back(concat("ulimit -v ", mib * 1024));
    for (unsigned kib = 384; kib <= 896; kib += 32) limits.push_back(concat("ulimit -d ", kib));
    for (unsigned descriptors = 4; descriptors <= 12; ++descriptors)
        limits.push_back(concat("ulimit -n ", descriptors));
    for (unsigned kib : {0U, 1U, 40U}) limits.push_back(concat("ulimit -f ", kib));
    const std::string nothing = held();
    unsigned failed = 0;
    for (const std::string& limit : limits) {
        INFO(limit);
        const ProcessResult result = run_by_shell(concat(limit, "; exec \"$0\""), call);
        CHECK_FALSE(result.timed_out);
        if (!result.out.empty()) CHECK_NOTHROW(document_of(result)); // exactly one complete document
        if (result.exit_status == 0) CHECK_FALSE(result.out.empty());
        if (result.exit_status != 0) ++failed;
        CHECK(del(call).empty());
        CHECK_FALSE(stage.pod.succeeds("ip link show net1"));
        CHECK(held() == nothing);
    }
    CHECK(failed > 0);
}
