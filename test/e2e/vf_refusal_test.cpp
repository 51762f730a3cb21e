// PFs that refuse a VF's settings, ignore them, or are busy.
#include "vf_stage.hpp"

#include "support/concat.hpp"
#include "support/names.hpp"
#include "support/reporter.hpp"

#include <catch2/catch.hpp>

namespace rdmanet::test {

using Catch::Contains;

TEST_CASE("an ADD whose second VF setting the PF refuses leaves the VF as it was", "[sriov]") {
    NEEDS_VFS();
    const VfStage stage;
    const std::string faults = concat("/sys/kernel/debug/simrnic/", stage.vfs.pf());
    const PluginCall call = vf_call(stage.vfs, stage.pod, 0, "'vlan':100,'trust':'on','link_state':'disable'");
    for (const unsigned skipped : {0U, 1U, 2U}) {
        shell(concat("cd ", faults, " && echo 95 >vf_call_errno && echo ", skipped,
                     " >vf_call_skip && echo 1 >vf_call_fail"));
        CHECK_THAT(refusal(call), Names("VF 0", stage.vfs.pf(), "not supported"));
        CHECK(stage.node.difference() == "");
    }
    CHECK(del(call) == "");
}

TEST_CASE("an ADD fails if the PF accepts a setting without effect, and the VF is as it was", "[sriov]") {
    NEEDS_VFS();
    const VfStage stage;
    const std::string faults = concat("cd /sys/kernel/debug/simrnic/", stage.vfs.pf(), " && ");
    const std::string set = concat("ip link set ", stage.vfs.pf(), " vf 0 vlan ");
    const PluginCall call = vf_call(stage.vfs, stage.pod, 0, "'vlan':100,'trust':'on'");
    shell(set + "7");
    {
        const UnchangedNode node;
        shell(concat(faults, "echo 1 >vf_call_ignore"));
        CHECK_THAT(refusal(call),
                   Names("code 102", stage.vfs.vf(0), "VF 0", stage.vfs.pf(), "vlan 7", "expected vlan 100", "PF"));
        CHECK(node.difference() == "");
        shell(concat(faults, "echo 1 >vf_call_skip && echo 1 >vf_call_ignore"));
        CHECK_THAT(refusal(call), Names("trust off", "expected trust on"));
        CHECK(node.difference() == "");
    }
    shell(set + "0");
    // A driver without VLANs would report the same value, so ADD only warns.
    shell(concat(faults, "echo 1 >vf_call_ignore"));
    const ProcessResult added = call.run();
    CHECK_THAT(added.err, Names("vlan 0", "expected vlan 100", "PF"));
    CHECK(check(call, added.out) == "");
    CHECK(del(call) == "");
    CHECK(stage.node.difference() == "");
}

TEST_CASE("ADD repeats a request to a busy PF, and refuses the VF if the PF stays busy", "[sriov]") {
    NEEDS_VFS();
    const VfStage stage;
    const std::string faults = concat("cd /sys/kernel/debug/simrnic/", stage.vfs.pf(), " && ");
    const std::string busy = concat(faults, "echo 16 >vf_call_errno && echo 1 >vf_call_skip && echo ");
    const PluginCall call = vf_call(stage.vfs, stage.pod, 0, "'vlan':100,'trust':'on'");
    shell(concat(busy, "5 >vf_call_fail && echo 100 >vf_call_delay_ms")); // each call also takes long
    const std::string result = add(call);
    CHECK_THAT(stage.vfs.settings(0), Contains("vlan 100") && Contains("trust on"));
    CHECK(check(call, result) == "");
    shell(concat(busy, "5 >vf_call_fail && echo 0 >vf_call_delay_ms"));
    CHECK(del(call) == "");
    CHECK(stage.node.difference() == "");
    shell(concat(busy, "1000000 >vf_call_fail && echo 0 >vf_call_skip"));
    CHECK_THAT(refusal(call), Names("vlan 100", "VF 0", stage.vfs.pf(), "busy"));
    CHECK(stage.node.difference() == "");
    shell(concat(faults, "echo 0 >vf_call_fail"));
}

TEST_CASE("DEL names a setting that the PF refuses, restores the others, and the next DEL repeats it", "[sriov]") {
    NEEDS_VFS();
    const VfStage stage;
    const PluginCall call = vf_call(stage.vfs, stage.pod, 0, "'vlan':100,'trust':'on'");
    (void)add(call);
    shell(
        concat("cd /sys/kernel/debug/simrnic/", stage.vfs.pf(), " && echo 95 >vf_call_errno && echo 1 >vf_call_fail"));
    CHECK_THAT(del(call), Contains("vlan") && Contains("operation not supported"));
    CHECK_THAT(stage.vfs.settings(0), Contains("vlan 100") && Contains("trust off"));
    CHECK(del(call) == "");
    CHECK(stage.node.difference() == "");
}

} // namespace rdmanet::test
