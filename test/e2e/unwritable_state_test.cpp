// State directories that rdmanet cannot write to, or that root must not trust.
#include "read_only_state.hpp"
#include "vf_stage.hpp"

#include "support/concat.hpp"
#include "support/names.hpp"
#include "support/patience.hpp"
#include "support/reporter.hpp"

#include <catch2/catch.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>

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

/// Runs the binary with failing system calls.
class Injector {
public:
    Injector() {
        char name[] = "/tmp/rdmanet-injector-XXXXXX";
        if (::mkdtemp(name) == nullptr) throw std::runtime_error("mkdtemp");
        directory_ = name;
    }
    Injector(const Injector&) = delete;
    Injector& operator=(const Injector&) = delete;
    ~Injector() { std::filesystem::remove_all(directory_); }

    [[nodiscard]] PluginCall with(PluginCall call, const std::string& injection) const {
        call.program = concat(directory_, "/rdmanet");
        std::ofstream(call.program)
            << "#!/bin/bash\nexec strace -f -o /dev/null -e trace=fsync,linkat,rename -e inject=" << injection << ' '
            << binary() << '\n';
        std::filesystem::permissions(call.program, std::filesystem::perms::owner_all);
        return call;
    }

private:
    std::string directory_;
};

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
    PluginCall status = call;
    status.container = status.netns = status.ifname = "";
    CHECK(outcome(status, "STATUS") == concat("code 50: ", text));
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

TEST_CASE("ADD, STATUS, plan and the commands name an unusable state directory in one text", "[status][plan]") {
    NEEDS(kernel_has("macvlan"), "macvlan");
    const Stage stage;
    const PluginCall living = call_for(stage.pod, concat("'master':'par0',", ipam("10.140.0.0/24")));
    PluginCall call = of(living, "c2");
    call.ifname = "net2";
    (void)add(living);
    {
        const ReadOnlyState state;
        CHECK_THAT(refused_by_all(call), Contains("read-only"));
    }
    {
        const FullState state;
        CHECK_THAT(refused_by_all(call), Contains("space"));
        FullState::make_room();
        shell(concat("cd ", kState,
                     " && mkdir more && ! (for i in $(seq 100); do : >more/$i || exit; done) 2>/dev/null"));
        CHECK_THAT(refused_by_all(call), Contains("inodes"));
    }
    shell(concat("chown 1000 ", kState));
    CHECK_THAT(refused_by_all(call), Contains("user 1000") && Contains(concat("`chown -R root ", kState)));
    shell(concat("chown 0 ", kState, "; chmod 1777 ", kState));
    CHECK_THAT(refused_by_all(call), Contains(concat("`chmod o-w ", kState)));
    shell(concat("chmod 770 ", kState, "; chgrp 1000 ", kState));
    CHECK_THAT(refused_by_all(call), Contains("group 1000") && Contains(concat("`chmod g-w ", kState)));
    CHECK(run_process({"/bin/sh", "-c", concat(binary(), " gc 2>/dev/full")}).exit_status == 0);
    shell(concat("chmod 700 ", kState, "; chgrp 0 ", kState));
    CHECK(del(living) == "");
    shell(concat("rm -r ", kState, "; touch ", kState));
    CHECK_THAT(refused_by_all(call), Contains("not a directory"));
    for (const std::string name : {"state", "gc", "check"}) CHECK(command(name).exit_status == 1);
    shell(concat("rm ", kState));
    (void)add(call);
    CHECK(del(call) == "");
    CHECK(stage.node.difference() == "");
}

TEST_CASE("ADD names the state directory if the disk or a quota refuses a record, and leaves nothing behind",
          "[core]") {
    NEEDS(kernel_has("macvlan"), "macvlan");
    const Stage stage;
    const PluginCall call = call_for(stage.pod, "'master':'par0'");
    const Injector injector;
    const auto add_with = [&](const std::string& injection) { return refusal(injector.with(call, injection)); };
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
    NEEDS(kernel_has("macvlan"), "macvlan");
    const std::string disk = "/var/tmp";
    NEEDS(shell(concat("stat -f -c %T ", disk)) != "tmpfs\n", "a disk at /var/tmp");
    const Stage stage;
    const PluginCall call = call_for(stage.pod, "'master':'par0'");
    const Injector injector;
    const PluginCall without_disk = injector.with(call, "fsync:error=EIO");
    const std::string state = shell(concat("mktemp -d -p ", disk, " | tr -d '\\n'"));
    shell(concat("mkdir -p -m 700 ", kState, " && mount --bind ", state, ' ', kState));
    CHECK_THAT(refusal(without_disk), Names("code 109", "input/output error"));
    shell(concat("umount ", kState, " && rm -r ", state));
    (void)add(without_disk);
    CHECK(del(without_disk) == "");
    CHECK(stage.node.difference() == "");
}

TEST_CASE("with an unusable state directory ADD undoes nothing of a dead pod, and names the directory", "[device]") {
    NEEDS(kernel_has("veth"), "veth");
    const Pod pod("pod");
    const UnchangedNode node;
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
    CHECK(node.difference() == "");
}

TEST_CASE("with a read-only state directory check compares, and gc lists what it could not remove", "[check][gc]") {
    NEEDS(kernel_has("macvlan"), "macvlan");
    const Stage stage;
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
    CHECK(stage.node.difference() == "");
}

TEST_CASE("with a read-only or full state directory DEL removes what it can, and reports what it could not write",
          "[del]") {
    NEEDS(kernel_has("macvlan"), "macvlan");
    const Stage stage;
    const PluginCall call = call_for(stage.pod, concat("'master':'par0',", ipam("10.140.0.0/24")));
    const PluginCall bare = of(call_for(stage.pod, "'master':'par0'"), "c2");
    const auto has_link = [&] { return stage.pod.succeeds("ip link show net1"); };
    (void)add(call);
    {
        const ReadOnlyState state;
        CHECK_THAT(del(call), Names("code 108", "still held", "addresses", "readonly database"));
        CHECK_FALSE(has_link());
    }
    CHECK(del(call) == "");
    (void)add(bare);
    {
        const ReadOnlyState state;
        CHECK_THAT(del(bare), Names("code 108", "still held", "journal record", "read-only file system"));
        CHECK_FALSE(has_link());
        CHECK(run_process({binary(), "gc"}).exit_status == 0); // the pod lives
    }
    CHECK(del(bare) == "");
    (void)add(call);
    {
        const FullState state;
        shell(concat("chgrp 1000 ", kState, " && chmod 770 ", kState)); // not why DEL fails
        CHECK_THAT(del(call),
                   Names("code 108", "still held", "addresses", "disk is full", "no space left") && !Contains("chmod"));
        CHECK_FALSE(has_link());
        FullState::make_room();
        CHECK(del(call) == "");
        CHECK(shell(concat(binary(), " state --json | jq -c .leases")) == "[]\n");
    }
    CHECK(del(call) == "");
    CHECK(stage.node.difference() == "");
}

TEST_CASE("DEL returns a VF to the host although the state directory is read-only", "[sriov][del]") {
    NEEDS_VFS();
    const VfStage stage;
    const PluginCall call = vf_call(stage.vfs, stage.pod, 0, "'rdma':true,'vlan':100");
    (void)add(call);
    {
        const ReadOnlyState state;
        CHECK_THAT(del(call), Names("code 108", "still held", "journal record", "read-only file system"));
        CHECK(succeeds(concat("ip link show ", stage.vfs.netdev(0), " && rdma dev show ", stage.vfs.rdma(0))));
        CHECK_THAT(stage.vfs.settings(0), !Contains("vlan 100"));
    }
    CHECK(del(call) == "");
    CHECK(stage.node.difference() == "");
}

} // namespace rdmanet::test
