// Liveness: pods that live, that died or that the caller cannot see. Callers are the node and other PID and mount
// namespaces.
#include "attachment_stage.hpp"
#include "containers.hpp"

#include "support/concat.hpp"
#include "support/names.hpp"
#include "support/reporter.hpp"

#include <catch2/catch.hpp>

#include <string>

namespace rdmanet::test {

using Catch::Contains;

namespace {

PluginCall attached_to(const std::string& netns, const std::string& container) {
    return call_at(netns, container, "10.71.0.0/24");
}

} // namespace

TEST_CASE("the node reclaims the address of a dead pod that a container attached, and another container does not",
          "[liveness][gc]") {
    NEEDS(is_initial_pid_namespace(), "the initial PID namespace");
    const VethParent parent("par0");
    const Pod later("later");
    const CheckedNode node;
    const Wrapper daemon("daemon", kContainer);
    const std::string addresses_of_one = concat("'master':'par0',", ipam("10.72.0.1/32", "'enable_l3':true"));
    {
        const Pod child("child");
        PluginCall call = of(call_for(child, addresses_of_one), "child");
        call.program = daemon.path();
        (void)add(call);
    }
    PluginCall exhausted = of(call_for(later, addresses_of_one), "later");
    exhausted.program = daemon.path();
    CHECK_THAT(refusal(exhausted), Names("code 104", "1 lease", "may be alive", "another PID namespace"));
    const PluginCall next = of(call_for(later, addresses_of_one), "next");
    CHECK(addresses(add(next)) == "10.72.0.1/32");
    CHECK(del(next) == "");
}

TEST_CASE("a caller that does not see every process proves no pod dead", "[liveness][gc]") {
    NEEDS(is_initial_pid_namespace(), "the initial PID namespace");
    const VethParent parent("par0");
    const CheckedNode node;
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
}

} // namespace rdmanet::test
