// What a runtime sees of the binary whatever it asks for: environment and standard input in, one JSON document or
// nothing out, in every version of the specification.
#include "attachment_stage.hpp"
#include "support/names.hpp"
#include "support/reporter.hpp"

#include <catch2/catch.hpp>

#include <string>
#include <thread>
#include <vector>

using namespace rdmanet::test;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;

namespace {

const std::vector<std::string> kVersions = {"0.1.0", "0.2.0", "0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0"};

const std::string kVersionOutput =
    R"({"cniVersion":"1.1.0","supportedVersions":["0.1.0","0.2.0","0.3.0","0.3.1","0.4.0","1.0.0","1.1.0"]})"
    "\n";

/// Runs the binary by a shell command in which "$0" is its path.
ProcessResult run_by_shell(const std::string& command, const PluginCall& call) {
    return run_process({"/bin/bash", "-c", command, call.program}, call.options());
}

/// Dual stack, with routes and DNS.
PluginCall dual_stack(const Pod& pod, const std::string& version) {
    return call_for(pod,
                    "'master':'par0','dns':{'nameservers':['10.60.0.53'],'search':['a.b']},"
                    "'ipam':{'type':'rdmanet','cooldown':0,'ipRanges':[{'range':'10.60.0.0/24','gateway':'10.60.0.1'},"
                    "{'range':'fd60::/64'}],'routes':[{'dst':'10.61.0.0/16','priority':7},{'dst':'fd61::/64',"
                    "'gw':'fd60::ff'}]}",
                    version);
}

/// Attachments and leases; a snapshot of the node takes too long to be taken for each of many limits.
std::string held() {
    return shell(concat(binary(), " state --json --state-dir ${RDMANET_STATE_DIR:-/run/rdmanet}"));
}

constexpr const char* kOldest =
    R"({"cniVersion":"VERSION",)"
    R"("dns":{"nameservers":["10.60.0.53"],"search":["a.b"]},)"
    R"("ip4":{"gateway":"10.60.0.1","ip":"10.60.0.2/24","routes":[{"dst":"10.61.0.0/16","gw":"10.60.0.1"}]},)"
    R"("ip6":{"ip":"fd60::1/64","routes":[{"dst":"fd61::/64","gw":"fd60::ff"}]}})";
constexpr const char* kMiddle =
    R"({"cniVersion":"VERSION","dns":{"nameservers":["10.60.0.53"],"search":["a.b"]},)"
    R"("interfaces":[{"mac":"MAC","name":"net1","sandbox":"/run/netns/pod"}],)"
    R"("ips":[{"address":"10.60.0.2/24","gateway":"10.60.0.1","interface":0,"version":"4"},)"
    R"({"address":"fd60::1/64","interface":0,"version":"6"}],)"
    R"("routes":[{"dst":"10.61.0.0/16","gw":"10.60.0.1","priority":7},{"dst":"fd61::/64","gw":"fd60::ff"}]})";
constexpr const char* kNewest =
    R"({"cniVersion":"VERSION","dns":{"nameservers":["10.60.0.53"],"search":["a.b"]},)"
    R"("interfaces":[{"mac":"MAC","mtu":1500,"name":"net1","sandbox":"/run/netns/pod"}],)"
    R"("ips":[{"address":"10.60.0.2/24","gateway":"10.60.0.1","interface":0},)"
    R"({"address":"fd60::1/64","interface":0}],)"
    R"("routes":[{"dst":"10.61.0.0/16","gw":"10.60.0.1","priority":7},{"dst":"fd61::/64","gw":"fd60::ff"}]})";

std::string golden(const std::string& version) {
    return version < "0.3.0" ? kOldest : version < "1.0.0" ? kMiddle : kNewest;
}

} // namespace

TEST_CASE("VERSION answers whatever else is there or not", "[protocol]") {
    PluginCall call;
    call.command = "VERSION";
    call.netns = call.ifname = call.path = "dummy"; // as libcni calls it
    for (const char* input : {R"({"cniVersion":"0.4.0"})", "", "rubbish"}) {
        call.config = input;
        const ProcessResult result = call.run();
        CHECK(result.exit_status == 0);
        CHECK(result.out == kVersionOutput);
        CHECK(result.err.empty());
    }
    CHECK(run_by_shell("exec \"$0\" <&-", call).out == kVersionOutput);
    CHECK(run_by_shell("exec env -i CNI_COMMAND=VERSION \"$0\" 2>&- </dev/null", call).out == kVersionOutput);
    CHECK(run_by_shell("mkdir /tmp/gone && cd /tmp/gone && rmdir /tmp/gone && exec \"$0\"", call).out ==
          kVersionOutput);
}

TEST_CASE("without a command it says what it is, to whoever is looking", "[protocol]") {
    for (const char* command : {"exec \"$0\"", "CNI_COMMAND= exec \"$0\""}) {
        const ProcessResult result = run_by_shell(std::string("unset CNI_COMMAND; ") + command, {});
        CHECK(result.exit_status == 0);
        CHECK(result.out.empty());
        CHECK_THAT(result.err, StartsWith("CNI plugin rdmanet v"));
        CHECK_THAT(result.err,
                   Names("versions supported", "0.1.0", "0.2.0", "0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0"));
    }
}

TEST_CASE("a person who can't be answered is told so", "[protocol]") {
    for (const char* arguments : {"version", "--version", "--help", "state", "state --json", "gc --dry-run"}) {
        INFO(arguments);
        const std::string call = concat("unset CNI_COMMAND; exec \"$0\" ", arguments, " >/dev/full");
        const ProcessResult result = run_by_shell(call, {});
        CHECK(result.exit_status == 1);
        CHECK_THAT(result.err, Names("rdmanet", "standard output", "no space"));
        CHECK(run_by_shell(concat(call, " 2>&1"), {}).exit_status == 1);
    }
}

TEST_CASE("a person who mistypes is told what there is", "[protocol]") {
    const auto said = [](const std::string& arguments) {
        return run_by_shell(concat("unset CNI_COMMAND; exec \"$0\" ", arguments), {});
    };
    for (const char* arguments : {"stat", "help stat"}) {
        const ProcessResult unknown = said(arguments);
        CHECK(unknown.exit_status == 2);
        CHECK(unknown.out.empty());
        CHECK_THAT(unknown.err, Names("stat", "state", "`rdmanet --help`"));
    }
    const ProcessResult extra = said("gc one --two three");
    CHECK(extra.exit_status == 2);
    CHECK(extra.out.empty());
    CHECK_THAT(extra.err, Names("rdmanet", "one", "--two", "three", "`rdmanet help gc`"));
    CHECK(said("--two").exit_status == 2);
    CHECK(said("help").out == said("--help").out);
    CHECK_THAT(said("help plan").out, Contains("--prev-result"));
    CHECK(said("help plan").out == said("plan --help").out);
}

TEST_CASE("without /proc a person is told to mount it", "[protocol]") {
    const std::string call =
        "unset CNI_COMMAND; exec unshare --mount bash -c 'mount -t tmpfs none /proc && exec \"$0\" "
        "state' \"$0\"";
    const ProcessResult result = run_by_shell(call, {});
    CHECK(result.exit_status == 1);
    CHECK_THAT(result.err, Names("/proc/sys/kernel/random/boot_id", "missing", "/proc", "`mount -t proc proc /proc`"));
}

TEST_CASE("a reader that went away doesn't stop a command half way", "[protocol]") {
    // What follows writes into a pipe whose reader has ended.
    const std::string nobody_reads = "unset CNI_COMMAND; exec 3> >(exec true); wait $!; exec \"$0\" ";
    const ProcessResult state = run_by_shell(concat(nobody_reads, "state >&3"), {});
    CHECK(state.exit_status == 1);
    CHECK(state.err.empty());

    const Stage stage;
    Pod dying("dying");
    for (const char* container : {"c1", "c2", "c3"}) {
        PluginCall call = of(dual_stack(dying, "1.1.0"), container);
        call.ifname = concat("net", container);
        (void)add(call);
    }
    dying.destroy();
    // `gc` says on standard error that it rebuilds the lease store, before it removes anything.
    shell("printf x >${RDMANET_STATE_DIR:-/run/rdmanet}/leases.sqlite");
    CHECK(run_by_shell(concat(nobody_reads, "gc >&3 2>&3"), {}).exit_status == 1);
    CHECK_THAT(held(), !Contains("containerID"));
    shell("rm -f ${RDMANET_STATE_DIR:-/run/rdmanet}/leases.sqlite.corrupt*");
    CHECK(stage.node.difference() == "");
}

TEST_CASE("standard input that never ends is given up by every command", "[protocol]") {
    // Whoever writes goes on for as long as somebody reads.
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

TEST_CASE("a small stack limit keeps nobody from anything", "[protocol][memory-limit]") {
    const Stage stage;
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
    CHECK(stage.node.difference() == "");
}

TEST_CASE("without memory for a stack of its own beside a small one, the plugin says so", "[protocol][memory-limit]") {
    PluginCall call;
    call.command = "VERSION";
    // The first limit under which the program itself fits; 8 MiB more don't.
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

TEST_CASE("ADD, CHECK and DEL at every version, and the shape of its result", "[protocol]") {
    const Stage stage;
    for (const std::string& version : kVersions) {
        INFO(version);
        const PluginCall call = dual_stack(stage.pod, version);
        const ProcessResult added = call.run();
        REQUIRE(added.exit_status == 0);
        const std::string result = document_of(added).root().to_text();
        CHECK(result == replaced(replaced(golden(version), "VERSION", version), "MAC", mac_of(stage.pod)));
        CHECK_THAT(added.out, StartsWith("{\n    \"cniVersion\": \"" + version + "\",\n"));
        if (version >= "0.4.0")
            CHECK(check(call, result) == "");
        else
            CHECK_THAT(check(call, result), Names("code 1", "CHECK", version, "0.4.0"));
        CHECK(del(version >= "0.4.0" ? after(call, result) : call).empty());
        CHECK(stage.node.difference() == "");
    }
}

TEST_CASE("a configuration without a version is of 0.1.0", "[protocol]") {
    const Stage stage;
    PluginCall call = dual_stack(stage.pod, "0.1.0");
    call.config = replaced(call.config, R"("cniVersion":"0.1.0",)", "");
    CHECK(add(call) == replaced(kOldest, "VERSION", "0.1.0"));
    CHECK(del(call).empty());
    CHECK(stage.node.difference() == "");
}

TEST_CASE("GC and STATUS came with 1.1.0, and print nothing", "[protocol]") {
    const Stage stage;
    for (const std::string& version : kVersions)
        for (const char* command : {"GC", "STATUS"}) {
            INFO(version << command);
            PluginCall call = dual_stack(stage.pod, version);
            call.container = call.netns = call.ifname = "";
            const ProcessResult result = call.with_command(command).run();
            if (version == "1.1.0") {
                CHECK(result.exit_status == 0);
                CHECK(result.out.empty());
            } else {
                CHECK_THAT(error_of(result), Names("code 1", command, version, "1.1.0"));
            }
        }
    CHECK(stage.node.difference() == "");
}

TEST_CASE("STATUS says with code 50 that ADD can't work", "[protocol]") {
    const Stage stage;
    CHECK_THAT(outcome(call_for(stage.pod, "'master':'absent0'"), "STATUS"), Names("code 50", "master", "absent0"));
    const PluginCall full = call_for(stage.pod, concat("'master':'par0',", ipam("10.60.0.0/30", "'exclude':["
                                                                                                "'10.60.0.2/32']")));
    CHECK(outcome(full, "STATUS").empty());
    (void)add(full);
    CHECK_THAT(outcome(full, "STATUS"), Names("code 50", "10.60.0.0/30", "exhausted"));
    CHECK(del(full).empty());
    CHECK(stage.node.difference() == "");
}

TEST_CASE("an attachment without an address is refused before anything is touched where a result can't say it",
          "[protocol]") {
    const Stage stage;
    for (const std::string& version : kVersions) {
        INFO(version);
        const PluginCall call = call_for(stage.pod, "'master':'par0'", version);
        if (version < "0.3.0") {
            CHECK_THAT(refusal(call), Names("code 7", "cniVersion", version, "address"));
            CHECK(stage.node.difference() == "");
        } else {
            CHECK(addresses(add(call)).empty());
        }
        CHECK(del(call).empty());
        CHECK(stage.node.difference() == "");
    }
}

TEST_CASE("what earlier plugins of the chain did is passed through, ours comes behind", "[protocol]") {
    const Stage stage;
    const std::string earlier =
        R"({"cniVersion":"VERSION","interfaces":[{"name":"cali0","mac":"ee:ee:ee:ee:ee:ee"},)"
        R"({"name":"eth0","mac":"02:00:00:00:00:09","sandbox":"/run/netns/pod"}],)"
        R"("ips":[{"version":"4","interface":1,"address":"10.0.0.9/32","gateway":"169.254.1.1"}],)"
        R"("routes":[{"dst":"0.0.0.0/0","gw":"169.254.1.1"}],"dns":{"domain":"cluster.local"}})";
    for (const std::string& version : kVersions) {
        if (version < "0.3.0") continue;
        INFO(version);
        const PluginCall call = after(dual_stack(stage.pod, version), replaced(earlier, "VERSION", version));
        const std::string result = add(call);
        CHECK_THAT(value(result, "interfaces"),
                   StartsWith(R"([{"mac":"ee:ee:ee:ee:ee:ee","name":"cali0"},)"
                              R"({"mac":"02:00:00:00:00:09","name":"eth0","sandbox":"/run/netns/pod"},{"mac":")" +
                              mac_of(stage.pod) + '"'));
        CHECK(addresses(result) == "10.0.0.9/32 10.60.0.2/24 fd60::1/64");
        CHECK(value(result, "ips.0.interface") + value(result, "ips.1.interface") + value(result, "ips.2.interface") ==
              "122");
        CHECK(value(result, "routes") ==
              R"([{"dst":"0.0.0.0/0","gw":"169.254.1.1"},{"dst":"10.61.0.0/16","gw":"10.60.0.1","priority":7},)"
              R"({"dst":"fd61::/64","gw":"fd60::ff"}])");
        if (version >= "0.4.0") CHECK(check(dual_stack(stage.pod, version), result).empty());
        CHECK(del(after(dual_stack(stage.pod, version), result)).empty());
        CHECK(stage.node.difference() == "");
    }
}

TEST_CASE("DNS settings of earlier plugins stay where this one has none", "[protocol]") {
    const Stage stage;
    const PluginCall call = call_for(stage.pod, "'master':'par0'", "1.0.0");
    const std::string result = add(after(call, R"({"cniVersion":"1.0.0","dns":{"domain":"cluster.local"}})"));
    CHECK(del(call).empty());
    CHECK(value(result, "dns.domain") == "cluster.local");
    CHECK(stage.node.difference() == "");
}

TEST_CASE("every refusal is one document with version, code and message", "[protocol]") {
    const Stage stage;
    const PluginCall good = dual_stack(stage.pod, "0.4.0");
    const auto conf = [&](const std::string& text) {
        PluginCall call = good;
        call.config = text;
        return call;
    };
    const auto variable = [&](std::string PluginCall::*member, const std::string& text) {
        PluginCall call = good;
        call.*member = text;
        return call;
    };
    struct Case {
        PluginCall call;
        const char* version;
        const char* start;
    };
    const Case cases[] = {
        {variable(&PluginCall::command, "add"), "1.1.0", "code 4: unknown CNI_COMMAND: \"add\""},
        {variable(&PluginCall::container, ""), "1.1.0", "code 4: required env variables [CNI_CONTAINERID] missing"},
        {variable(&PluginCall::container, "../x"), "1.1.0", "code 4: invalid characters in containerID"},
        {variable(&PluginCall::container, "\xff"), "1.1.0", "code 4: invalid characters in containerID"},
        {variable(&PluginCall::container, "c\n"), "1.1.0", "code 4: invalid characters in containerID"},
        {variable(&PluginCall::ifname, "a/b"), "1.1.0", "code 4: CNI_IFNAME: "},
        {variable(&PluginCall::netns, "/run/netns/absent"), "0.4.0", "code 4: CNI_NETNS: "},
        {variable(&PluginCall::netns, "/etc/passwd"), "0.4.0", "code 4: CNI_NETNS: "},
        {variable(&PluginCall::netns, "/proc/self/ns/mnt"), "0.4.0", "code 4: CNI_NETNS: "},
        {variable(&PluginCall::netns, "/proc/self/ns/net"), "0.4.0", "code 8: CNI_NETNS \"/proc/self/ns/net\" is the"},
        {variable(&PluginCall::args, "FOO=1"), "0.4.0", "code 4: CNI_ARGS: unknown keys \"FOO\""},
        {conf("{"), "1.1.0", "code 6: parse error at line 1"},
        {conf("{\"a\":\"\xff\"}"), "1.1.0", "code 6: "},
        {conf(std::string(100'000, '[')), "1.1.0", "code 6: nested deeper than 64 levels"},
        {conf("[]"), "1.1.0", "code 7: expected an object, found an array"},
        {conf(R"({"cniVersion":"0.4.0"})"), "0.4.0", "code 7: name: missing"},
        {conf(R"({"cniVersion":"0.4.0","name":"a/b"})"), "0.4.0", "code 7: name: expected letters"},
        {conf(R"({"cniVersion":"1.0","name":"n"})"), "1.1.0", "code 1: incompatible CNI versions: cniVersion \"1.0\""},
        {conf(R"({"cniVersion":"2.0.0","name":"n"})"), "1.1.0", "code 1: incompatible CNI versions"},
        {conf(R"({"cniVersion":4,"name":"n"})"), "1.1.0", "code 7: cniVersion: expected a string, found 4"},
        {with(good, "'mtu':'1400'"), "0.4.0", "code 7: mtu: expected a whole number from 0 to 65535, found \"1400\""},
        {with(good, "'flag':'vepa'"), "0.4.0", "code 2: flag: \"vepa\" "},
    };
    for (const auto& [call, version, start] : cases) {
        INFO(start);
        const ProcessResult result = call.run();
        CHECK(result.exit_status == 1);
        CHECK_THAT(error_of(result), StartsWith(start));
        CHECK(document_of(result).root().at("cniVersion").string() == version);
    }
    CHECK(stage.node.difference() == "");
}

TEST_CASE("the plugin's own namespace is a pod's only for those who say so", "[protocol]") {
    const Stage stage;
    PluginCall call = dual_stack(stage.pod, "1.0.0");
    call.netns = "/proc/self/ns/net";
    CHECK_THAT(refusal(call), StartsWith("code 8: "));
    CHECK(del(call).empty());
    for (const char* yes : {"1", "TRUE", "true"}) {
        call.more_environment = {concat("CNI_NETNS_OVERRIDE=", yes)};
        const std::string result = add(call);
        CHECK(succeeds("ip link show net1"));
        CHECK(check(call, result).empty());
        CHECK(del(call).empty());
        CHECK(stage.node.difference() == "");
    }
    call.more_environment = {"CNI_NETNS_OVERRIDE=0"};
    CHECK_THAT(refusal(call), StartsWith("code 8: "));
    CHECK(stage.node.difference() == "");
}

TEST_CASE("a large configuration is taken, an endless one is refused", "[protocol][large]") {
    const Stage stage;
    const PluginCall large =
        with(dual_stack(stage.pod, "1.0.0"), concat("'filler':'", std::string(std::size_t{15} << 20U, 'x'), '\''));
    CHECK(addresses(add(large)) == "10.60.0.2/24 fd60::1/64");
    CHECK(del(large).empty());
    PluginCall call = dual_stack(stage.pod, "1.0.0");
    CHECK_THAT(error_of(run_by_shell("exec \"$0\" </dev/zero", call)), StartsWith("code 5: "));
    CHECK_THAT(error_of(run_by_shell("exec \"$0\" <&-", call)), StartsWith("code 5: "));
    CHECK_THAT(error_of(run_by_shell("exec \"$0\" </", call)), StartsWith("code 5: ")); // a directory
    CHECK_THAT(error_of(run_by_shell("exec \"$0\" </dev/null", call)), StartsWith("code 6: "));
    CHECK(stage.node.difference() == "");
}

TEST_CASE("a caller that can't be told the result has no attachment", "[protocol]") {
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

TEST_CASE("DEL and GC have nothing to say, so closed outputs don't keep them from their work", "[protocol]") {
    const Stage stage;
    const PluginCall call = dual_stack(stage.pod, "1.1.0");
    for (const char* command : {"exec \"$0\" >&-", "exec \"$0\" >/dev/full", "exec \"$0\" >&- 2>&-"}) {
        INFO(command);
        (void)add(call);
        CHECK(run_by_shell(command, call.with_command("DEL")).exit_status == 0);
        CHECK(stage.node.difference() == "");
    }
}

TEST_CASE("a caller that closed standard error gets the same, and nothing is written elsewhere", "[protocol]") {
    const Stage stage;
    const PluginCall call = with(dual_stack(stage.pod, "1.0.0"), "'logLevel':'debug'");
    const ProcessResult added = run_by_shell("exec \"$0\" 2>&-", call);
    CHECK(added.exit_status == 0);
    const std::string result = document_of(added).root().to_text();
    CHECK(run_by_shell("exec \"$0\" 2>&-", after(call, result).with_command("CHECK")).exit_status == 0);
    CHECK(run_by_shell("exec \"$0\" 2>&-", call.with_command("DEL")).exit_status == 0);
    CHECK(stage.node.difference() == "");
}

TEST_CASE("the directory that it is started in, and odd environments, mean nothing", "[protocol]") {
    const Stage stage;
    const PluginCall call = dual_stack(stage.pod, "1.0.0");
    const std::string odd = "mkdir /tmp/gone && cd /tmp/gone && rmdir /tmp/gone && umask 777 && ulimit -n 64 && "
                            "export LC_ALL=xx_XX.rubbish TMPDIR=/absent HOME= TZ=:/etc/passwd && "
                            "trap '' CHLD PIPE TERM INT HUP && exec \"$0\"";
    CHECK(run_by_shell(odd, call).exit_status == 0);
    const ProcessResult removed = run_by_shell(odd, call.with_command("DEL"));
    CHECK(removed.exit_status == 0);
    CHECK(removed.out.empty());
    CHECK(stage.node.difference() == "");
}

TEST_CASE("too little memory, descriptors or file size: ADD answers with an error or dies, DEL puts it right",
          "[protocol]") {
    const Stage stage;
    const PluginCall call = dual_stack(stage.pod, "1.0.0");
    std::vector<std::string> limits;
    for (unsigned mib = 1; mib <= 16; ++mib) limits.push_back(concat("ulimit -v ", mib * 1024));
    for (unsigned kib = 384; kib <= 896; kib += 32) limits.push_back(concat("ulimit -d ", kib));
    for (unsigned descriptors = 4; descriptors <= 12; ++descriptors)
        limits.push_back(concat("ulimit -n ", descriptors));
    for (unsigned kib : {0, 1, 40}) limits.push_back(concat("ulimit -f ", kib));
    const std::string nothing = held();
    unsigned failed = 0;
    for (const std::string& limit : limits) {
        INFO(limit);
        const ProcessResult result = run_by_shell(concat(limit, "; exec \"$0\""), call);
        CHECK_FALSE(result.timed_out);
        if (!result.out.empty()) CHECK_NOTHROW(document_of(result)); // one document, never half of one or two
        if (result.exit_status == 0) CHECK_FALSE(result.out.empty());
        if (result.exit_status != 0) ++failed;
        CHECK(del(call).empty());
        CHECK_FALSE(stage.pod.succeeds("ip link show net1"));
        CHECK(held() == nothing);
    }
    CHECK(failed > 0);
    CHECK(stage.node.difference() == "");
}
