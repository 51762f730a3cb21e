// State directories that rdmanet cannot write to, or that root must not trust.
#include "containers.hpp"
#include "golden.hpp"
#include "read_only_state.hpp"

#include "support/concat.hpp"
#include "support/names.hpp"
#include "support/patience.hpp"
#include "support/reporter.hpp"

#include <catch2/catch.hpp>

namespace rdmanet::test {

using Catch::Contains;
using Catch::StartsWith;

namespace {

/// A small file system with the contents of the state directory, and without free space until the end of the scope.
class FullState {
public:
    FullState() {
        shell(concat("cp -a ", kState, " /tmp/saved && mount -t tmpfs -o size=256k,nr_inodes=100 full ", kState,
                     " && cp -a /tmp/saved/. ", kState, " && rm -r /tmp/saved"));
        shell(concat("cd ", kState, " && ! dd if=/dev/zero of=ballast bs=4k 2>/dev/null && ! echo >more && rm more"));
    }
    FullState(const FullState&) = delete;
    FullState& operator=(const FullState&) = delete;
    ~FullState() { (void)succeeds(concat("umount ", kState)); }

    static void make_room() { shell(concat("rm ", kState, "/ballast")); }
};

/// A program that runs the binary with failing system calls.
Wrapper failing(const std::string& injection) {
    return Wrapper("failing", concat("strace -f -o /dev/null -e trace=fsync,linkat,rename -e inject=", injection));
}

PluginCall by(const Wrapper& program, PluginCall call) {
    call.program = program.path();
    return call;
}

struct Said {
    int exit_status;
    std::string out;
    std::string warning; // all of standard error
};

Said command(const std::string& arguments) {
    const ProcessResult result = run_process({"/bin/sh", "-c", concat(binary(), ' ', arguments)});
    return {.exit_status = result.exit_status, .out = result.out, .warning = result.err};
}

/// Checks that ADD, ADD as an IPAM plugin, STATUS and `rdmanet plan` refuse with one text, and returns this text.
std::string refused_by_all(const PluginCall& call) {
    const std::string told = refusal(call);
    CHECK_THAT(told, StartsWith("code 109: ") && Contains(kState));
    const std::string text = told.substr(told.find(": ") + 2);
    CHECK(outcome(call, "STATUS") == concat("code 50: ", text));
    PluginCall as_ipam = call;
    as_ipam.config = replaced(call.config, json_text("'type':'rdmanet','attach':'macvlan'"), json_text("'type':'x'"));
    CHECK(refusal(as_ipam) == told);
    const ProcessResult plan =
        run_process({binary(), "plan", "--json", "--netns", call.netns, "--ifname", "net9"}, {.input = call.config});
    CHECK(plan.exit_status == 1);
    CHECK(value(plan.out, "code") == "109");
    CHECK(value(plan.out, "msg") == text);
    for (const std::string name : {"state", "gc", "check"}) {
        INFO(name);
        CHECK_THAT(command(name).warning, Contains(concat("warning: ", text)) && Contains("109"));
    }
    return text;
}

} // namespace

TEST_CASE("ADD, STATUS, plan and the commands name an unusable state directory in one text", "[status][plan][golden]") {
    const CheckedStage stage;
    Golden golden("unusable state directories");
    const PluginCall living = call_for(stage.pod, concat("'master':'par0',", ipam("10.140.0.0/24")));
    PluginCall call = of(living, "c2");
    call.ifname = "net2";
    (void)add(living);
    {
        const ReadOnlyState state;
        golden.add(refused_by_all(call));
    }
    {
        const FullState state;
        golden.add(refused_by_all(call));
        FullState::make_room();
        shell(concat("cd ", kState,
                     " && mkdir more && ! (for i in $(seq 100); do : >more/$i || exit; done) 2>/dev/null"));
        golden.add(refused_by_all(call));
    }
    shell(concat("chown 1000 ", kState));
    golden.add(refused_by_all(call));
    shell(concat("chown 0 ", kState, "; chmod 1777 ", kState));
    golden.add(refused_by_all(call));
    shell(concat("chmod 770 ", kState, "; chgrp 1000 ", kState));
    golden.add(refused_by_all(call));
    CHECK(run_process({"/bin/sh", "-c", concat(binary(), " gc 2>/dev/full")}).exit_status == 0);
    shell(concat("chmod 700 ", kState, "; chgrp 0 ", kState));
    CHECK(del(living) == "");
    shell(concat("rm -r ", kState, "; touch ", kState));
    golden.add(refused_by_all(call));
    for (const std::string name : {"state", "gc", "check"}) CHECK(command(name).exit_status == 1);
    shell(concat("rm ", kState));
    (void)add(call);
    CHECK(del(call) == "");
    CHECK(golden.difference() == "");
}

TEST_CASE("ADD names the state directory if the disk or a quota refuses a record, and leaves nothing behind",
          "[core]") {
    const Stage stage;
    const PluginCall call = call_for(stage.pod, "'master':'par0'");
    const auto add_with = [&](const std::string& injection) { return refusal(by(failing(injection), call)); };
    const auto named = [](const std::string& why) { return Names("code 109", "state directory", kState, why); };
    CHECK_THAT(add_with("linkat:error=EIO"), named("input/output error"));
    CHECK_THAT(add_with("linkat:error=EDQUOT"), named("disk quota exceeded"));
    CHECK_THAT(add_with("rename:error=EIO"), named("input/output error")); // the pod has its interface by then
    CHECK_THAT(add_with("linkat:error=ENOMEM"), Names("code 11", "cannot allocate memory") && !Contains("dmesg"));
    CHECK(shell(concat("ls ", kState, "/attachments")) == "");
    CHECK(stage.node.difference() == "");
    (void)add(call);
    CHECK(del(call) == "");
}

TEST_CASE("ADD waits for the disk that holds the state directory, and not for memory", "[core]") {
    const std::string disk = "/var/tmp";
    NEEDS(shell(concat("stat -f -c %T ", disk)) != "tmpfs\n", "a disk at /var/tmp");
    const CheckedStage stage;
    const PluginCall call = call_for(stage.pod, "'master':'par0'");
    const Wrapper program = failing("fsync:error=EIO");
    const PluginCall without_disk = by(program, call);
    const std::string state = shell(concat("mktemp -d -p ", disk, " | tr -d '\\n'"));
    shell(concat("mkdir -p -m 700 ", kState, " && mount --bind ", state, ' ', kState));
    CHECK_THAT(refusal(without_disk), Names("code 109", "input/output error"));
    shell(concat("umount ", kState, " && rm -r ", state));
    (void)add(without_disk);
    CHECK(del(without_disk) == "");
}

TEST_CASE("with an unusable state directory ADD undoes nothing of a dead pod, and names the directory", "[device]") {
    const Pod pod("pod");
    const CheckedNode node;
    Pod dying("dying");
    const std::string make = "ip link add virt0 type veth peer name virtpeer0";
    const PluginCall stale = of(call_for(dying, "'attach':'host-device','device':'virt0'"), "dead");
    const PluginCall call = call_for(pod, "'attach':'host-device','device':'virt0'");
    const auto records = [] { return shell(concat("cd ", kState, "/attachments && cat -- *")); };
    shell(make);
    (void)add(stale);
    dying.destroy();
    CHECK(comes_true([&] { return succeeds(make); })); // the kernel destroys the interfaces some time after the pod
    const std::string before = records();
    {
        const ReadOnlyState state;
        CHECK_THAT(refusal(call), Names("code 109", "state directory", kState, "read-only file system"));
    }
    {
        const FullState state;
        CHECK_THAT(refusal(call), Names("code 109", "state directory", kState, "space"));
        CHECK(records() == before);
    }
    shell(concat("mv ", kState, "/lock /run/saved-lock && ln -s /run/saved-lock ", kState, "/lock"));
    CHECK_THAT(refusal(call), Names("code 109", concat(kState, "/lock"), "remove the symbolic link"));
    shell(concat("rm ", kState, "/lock && mv /run/saved-lock ", kState, "/lock"));
    CHECK(records() == before);
    (void)add(call);
    CHECK(del(call) == "");
    shell("ip link delete virt0");
}

TEST_CASE("with a read-only state directory check compares, and gc lists what it could not remove", "[check][gc]") {
    const CheckedStage stage;
    Pod dying("dying");
    const PluginCall call = call_for(stage.pod, concat("'master':'par0',", ipam("10.140.0.0/24")));
    (void)add(call);
    {
        const ReadOnlyState state;
        CHECK_THAT(command("check").out, StartsWith("1 attachment: 1 "));
        CHECK(command("check").exit_status == 0);
        stage.pod.run("ip link set net1 down");
        CHECK_THAT(command("check").out, StartsWith("differs: "));
        CHECK(command("check").exit_status == 1);
    }
    CHECK(del(call) == "");
    (void)add(of(call_for(dying, "'master':'par0'"), "c2"));
    dying.destroy();
    {
        const ReadOnlyState state;
        const Said said = command("gc");
        CHECK(said.exit_status == 1);
        CHECK_THAT(said.out, Contains("\"c2\"") && Contains("journal record") && Contains("read-only"));
    }
    CHECK_THAT(command("gc").out, StartsWith("removed ") && Contains("\"c2\""));
}

TEST_CASE("with a read-only or full state directory DEL removes what it can, and reports what it could not write",
          "[del][golden]") {
    const CheckedStage stage;
    Golden golden("DEL with a read-only or full state directory");
    const PluginCall call = call_for(stage.pod, concat("'master':'par0',", ipam("10.140.0.0/24")));
    const PluginCall bare = of(call_for(stage.pod, "'master':'par0'"), "c2");
    const auto has_link = [&] { return stage.pod.succeeds("ip link show net1"); };
    (void)add(call);
    {
        const ReadOnlyState state;
        golden.add(del(call));
        CHECK_FALSE(has_link());
    }
    CHECK(del(call) == "");
    (void)add(bare);
    {
        const ReadOnlyState state;
        golden.add(del(bare));
        CHECK_FALSE(has_link());
        CHECK(run_process({binary(), "gc"}).exit_status == 0); // the pod lives
    }
    CHECK(del(bare) == "");
    (void)add(call);
    {
        const FullState state;
        shell(concat("chgrp 1000 ", kState, " && chmod 770 ", kState)); // not why DEL fails
        golden.add(del(call));
        CHECK_FALSE(has_link());
        FullState::make_room();
        CHECK(del(call) == "");
        CHECK(shell(concat(binary(), " state --json | jq -c .leases")) == "[]\n");
    }
    CHECK(del(call) == "");
    (void)add(call);
    shell(concat("echo '{}' >", kState, "/attachments/c1:net1:net.json"));
    {
        const ReadOnlyState state;
        golden.add(del(call));
    }
    const ProcessResult unread = call.with_command("DEL").run();
    CHECK(unread.exit_status == 0);
    CHECK_NOTHROW(refuse_words_of_success({.out = unread.err})); // if DEL dies, the log stands for the error
    golden.add(complaints(unread.err));
    CHECK(golden.difference() == "");
}

} // namespace rdmanet::test
