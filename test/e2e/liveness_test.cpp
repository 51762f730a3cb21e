// Liveness: pods that live, that died or that the caller cannot see. Callers are the node and other PID and mount
// namespaces.
#include "containers.hpp"
#include "vf_stage.hpp"

#include "support/concat.hpp"
#include "support/names.hpp"
#include "support/patience.hpp"
#include "support/reporter.hpp"

#include <catch2/catch.hpp>

#include <string>

namespace rdmanet::test {

using Catch::Contains;

namespace {

PluginCall attached_to(const std::string& netns, const std::string& container) {
    return call_at(netns, container, "10.71.0.0/24");
}

PluginCall gc_call(const std::string& listed) {
    PluginCall call = with(attached_to("", ""), concat("'cni.dev/valid-attachments':[", listed, ']'));
    call.ifname.clear();
    call.command = "GC";
    return call;
}

std::string lease_holders() {
    return shell(concat(binary(), " state --json | jq -j '[.leases[].containerID]|sort|join(\" \")'"));
}

} // namespace

TEST_CASE("the runtime's GC in a container removes nothing of pods that it cannot see", "[liveness][gc]") {
    const VethParent parent("par0");
    const Pod later("later");
    const UnchangedNode node;
    ProcessPod pods[3];
    for (int number = 0; number < 3; ++number) (void)add(attached_to(pods[number].path(), concat('c', number)));
    const Wrapper inside("elsewhere", kContainer);

    PluginCall gc = gc_call("{'containerID':'c0','ifname':'net1'}");
    gc.program = inside.path();
    const ProcessResult result = gc.run();
    CHECK(result.exit_status == 0);
    CHECK(result.out == "");
    for (const char* kept : {"c1", "c2"})
        CHECK_THAT(result.err, Names("GC", "kept", "net", kept, "another PID namespace"));
    CHECK_THAT(result.err, !Contains("container \"c0\"")); // the runtime lists this one
    const std::string by_person = shell(concat(inside.path(), " gc"));
    for (const char* kept : {"c0", "c1", "c2"})
        CHECK_THAT(by_person, Names("kept", "net", kept, "another PID namespace"));
    CHECK(lease_holders() == "c0 c1 c2");
    CHECK(addresses(add(attached_to(later.path(), "later"))) == "10.71.0.4/24");
    CHECK(del(attached_to(later.path(), "later")) == "");

    // The node itself runs GC with the same list. GC removes the dead pod's attachment and keeps the living ones.
    pods[1].end();
    CHECK(outcome(gc_call("{'containerID':'c0','ifname':'net1'}"), "GC") == "");
    CHECK(lease_holders() == "c0 c2");
    for (const int number : {0, 2}) CHECK(del(attached_to(pods[number].path(), concat('c', number))) == "");
    CHECK(node.difference() == "");
}

TEST_CASE("the node reclaims from dead pods, whichever container attached them", "[liveness][gc][sriov]") {
    NEEDS_VFS();
    NEEDS(is_initial_pid_namespace(), "the initial PID namespace");
    const VfNode vfs;
    const VethParent parent("par0");
    const Pod later("later");
    const UnchangedNode node;
    const Wrapper daemon("daemon", kContainer);
    const std::string addresses_of_one = concat("'master':'par0',", ipam("10.72.0.1/32", "'enable_l3':true"));
    for (const std::string name : {"collected", "reclaimed"}) {
        Pod child("child");
        Pod vf("vf");
        PluginCall child_call = of(call_for(child, addresses_of_one), "child");
        PluginCall vf_add = of(vf_call(vfs, vf, 0, "'vlan':100"), "vf");
        child_call.program = vf_add.program = daemon.path();
        (void)add(child_call);
        (void)add(vf_add);
        child.destroy();
        vf.destroy();

        // Another container cannot prove that a pod is dead.
        CHECK_THAT(run_in(daemon, "state"), Names("another PID namespace") && !Contains("pod dead"));
        CHECK_THAT(run_in(daemon, "gc"), !Contains("removed"));
        PluginCall refused = of(vf_call(vfs, later, 0), "later");
        refused.program = daemon.path();
        CHECK_THAT(refusal(refused), Names("dead", "PID"));
        PluginCall exhausted = of(call_for(later, addresses_of_one), "later");
        exhausted.program = daemon.path();
        CHECK_THAT(refusal(exhausted), Names("code 104", "1 lease", "may be alive", "another PID namespace"));

        if (name == "collected") {
            CHECK_THAT(shell(concat(binary(), " gc")), Contains("container \"child\"") && Contains("container \"vf\""));
            CHECK(node.difference() == "");
            continue;
        }
        const PluginCall next_child = of(call_for(later, addresses_of_one), "next");
        CHECK(addresses(add(next_child)) == "10.72.0.1/32");
        PluginCall next_vf = of(vf_call(vfs, later, 0), "next");
        next_vf.ifname = "net2";
        (void)add(next_vf);
        CHECK_THAT(vfs.settings(0), !Contains("vlan"));
        CHECK(del(next_vf) == "");
        CHECK(del(next_child) == "");
    }
    CHECK(node.difference() == "");
}

TEST_CASE("a container whose PID namespace reuses an earlier one's number collects nothing of that container",
          "[liveness][gc]") {
    const VethParent parent("par0");
    const UnchangedNode node;
    Pod pod("pod");
    const std::string process = shell("ip netns exec pod sleep infinity >/dev/null 2>&1 & echo -n $!");
    PluginCall call = of(call_for(pod, concat("'master':'par0',", ipam("10.73.0.0/24"))), "living");
    const Wrapper container("before", kContainer);
    call.program = container.path();
    (void)add(call);
    // From here on only a process keeps the pod, and no container sees this process.
    CHECK(comes_true([&] { return succeeds(concat("[ /run/netns/pod -ef /proc/", process, "/ns/net ]")); }));
    pod.destroy();
    const std::string was = shell("jq -j .pidNamespace /run/rdmanet/attachments/*");
    wait_until(concat("(( $(cut -d ' ' -f 1 /proc/uptime | tr -d .) > (", was, " >> 32) + 1 ))")); // another tick

    // The kernel gives the lowest free number, so a later PID namespace may get a recorded one. The test writes this
    // number into the record: first with the start time of the earlier container, then without one, as earlier
    // versions did.
    for (const char* start : {"was >> 32 << 32", "0"}) {
        const Wrapper namesake("after", concat(kContainer, " bash -c 'was=", was, " now=$((", start,
                                               R"( | $(stat -Lc %i /proc/self/ns/pid)))
            sed -i "s/\(\"pidNamespace\": *\"\)[0-9]*/\1$now/" /run/rdmanet/attachments/*
            exec "$0" "$@"')"));
        CHECK_THAT(run_in(namesake, "gc"), Names("another PID") && !Contains("removed"));
        CHECK(lease_holders() == "living");
    }
    CHECK(shell(concat(binary(), " state --json | jq -j '.attachments[].podState'")) == "alive");
    call.program = binary();
    CHECK(del(call) == "");
    shell("kill " + process);
    CHECK(node.difference() == "");
}

TEST_CASE("a process that root may not examine counts like one in the pod's network namespace", "[liveness][gc]") {
    const VethParent parent("par0");
    const UnchangedNode node;
    // A process without the target's capabilities may not trace it (cap_ptrace_access_check(), security/commoncap.c).
    const Wrapper weak("weak", "setpriv --bounding-set -sys_ptrace --inh-caps -sys_ptrace");
    CHECK_FALSE(succeeds("setpriv --bounding-set -sys_ptrace --inh-caps -sys_ptrace readlink /proc/1/ns/net"));
    const auto leave_dead = [](const std::string& container) {
        const Pod dying("dying");
        (void)add(attached_to(dying.path(), container));
    };
    leave_dead("first");
    CHECK_THAT(run_in(weak, "gc"), Names("removed", "net", "first"));

    // The process has its own namespace. For the weak caller it may be any pod's.
    leave_dead("second");
    ProcessPod stranger;
    const std::string reason = concat(
        "process ", stranger.pid(), " (sleep) may be in its network namespace and cannot be examined (read link /proc/",
        stranger.pid(), "/ns/net: permission denied)");
    CHECK_THAT(run_in(weak, "gc"), !Contains("removed"));
    CHECK_THAT(run_in(weak, "state --json | jq -r .attachments[].podStateReason"), Contains(reason));
    CHECK_THAT(run_in(weak, "state"), Contains(reason));
    stranger.end();
    CHECK_THAT(run_in(weak, "gc"), Names("removed", "net", "second"));
    CHECK(node.difference() == "");
}

TEST_CASE("a caller that does not see every process proves no pod dead", "[liveness][gc]") {
    NEEDS(is_initial_pid_namespace(), "the initial PID namespace");
    const VethParent parent("par0");
    const UnchangedNode node;
    const std::string weak = "setpriv --bounding-set -sys_ptrace --inh-caps -sys_ptrace";
    struct Caller {
        std::string options;
        std::string commands;
        bool sees_all;
    };
    const Caller callers[] = {
        {"hidepid=ptraceable", weak, false},
        {"hidepid=invisible,gid=4711", weak, false},
        {"hidepid=invisible,gid=4711", concat(weak, " --groups 4711"), true},
        {"hidepid=invisible,gid=4711", "", true},
        {"hidepid=ptraceable", "", true},
    };
    {
        const Pod dying("dying");
        (void)add(attached_to(dying.path(), "dead"));
    }
    for (const Caller& caller : callers) {
        CAPTURE(caller.options, caller.commands);
        const Wrapper wrapper("blind", concat("unshare --mount bash -c 'mount -t proc -o ", caller.options,
                                              " proc /proc && exec ", caller.commands, " \"$0\" \"$@\"'"));
        if (caller.sees_all) {
            CHECK_THAT(run_in(wrapper, "state"), Contains("pod dead") && !Contains("hides"));
            continue;
        }
        CHECK_THAT(run_in(wrapper, "gc"), !Contains("removed"));
        CHECK_THAT(run_in(wrapper, "state"), Names("/proc", "CAP_SYS_PTRACE", "`mount -o remount,hidepid=off /proc`"));
    }
    CHECK_THAT(shell(concat(binary(), " gc")), Names("removed", "net", "dead"));
    CHECK(node.difference() == "");
}

} // namespace rdmanet::test
