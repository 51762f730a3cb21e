// PFs that refuse a VF's settings, ignore them, or are busy.
#include "vf_stage.hpp"

#include "support/concat.hpp"
#include "support/names.hpp"
#include "support/reporter.hpp"

#include <catch2/catch.hpp>

namespace rdmanet::test {

using Catch::Contains;

TEST_CASE(
    "an ADD whose settings the PF refuses, ignores or delays leaves the VF as it was or as configured, and DEL too",
    "[sriov][vf-settings]") {
    NEEDS_VFS();
    const VfStage stage;
    const std::string pf = stage.vfs.pf();
    const std::string faults = concat("cd /sys/kernel/debug/simrnic/", pf, " && ");
    const PluginCall three = vf_call(stage.vfs, stage.pod, 0, "'vlan':100,'trust':'on','link_state':'disable'");
    for (const unsigned skipped : {0U, 1U, 2U}) {
        shell(concat(faults, "echo 95 >vf_call_errno && echo ", skipped, " >vf_call_skip && echo 1 >vf_call_fail"));
        CHECK_THAT(refusal(three), Names("VF 0", pf, "not supported"));
        CHECK(stage.node.difference() == "");
    }
    CHECK(del(three) == "");

    // The PF accepts a setting without effect.
    const std::string set = concat("ip link set ", pf, " vf 0 vlan ");
    const PluginCall call = vf_call(stage.vfs, stage.pod, 0, "'vlan':100,'trust':'on'");
    shell(set + "7");
    {
        const UnchangedNode node;
        shell(concat(faults, "echo 1 >vf_call_ignore"));
        CHECK_THAT(refusal(call), Names("code 102", stage.vfs.vf(0), "VF 0", pf, "vlan 7", "expected vlan 100", "PF"));
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

    // The PF is busy for a while, and then stays busy.
    const std::string busy = concat(faults, "echo 16 >vf_call_errno && echo 1 >vf_call_skip && echo ");
    shell(concat(busy, "5 >vf_call_fail && echo 100 >vf_call_delay_ms")); // each call also takes long
    const std::string result = add(call);
    CHECK_THAT(stage.vfs.settings(0), Contains("vlan 100") && Contains("trust on"));
    CHECK(check(call, result) == "");
    shell(concat(busy, "5 >vf_call_fail && echo 0 >vf_call_delay_ms"));
    CHECK(del(call) == "");
    CHECK(stage.node.difference() == "");
    shell(concat(busy, "1000000 >vf_call_fail && echo 0 >vf_call_skip"));
    CHECK_THAT(refusal(call), Names("vlan 100", "VF 0", pf, "busy"));
    CHECK(stage.node.difference() == "");
    shell(concat(faults, "echo 0 >vf_call_fail"));

    // The PF refuses a setting to DEL, which restores the others. The next DEL repeats it.
    (void)add(call);
    shell(concat(faults, "echo 95 >vf_call_errno && echo 1 >vf_call_fail"));
    CHECK_THAT(del(call), Contains("vlan") && Contains("operation not supported"));
    CHECK_THAT(stage.vfs.settings(0), Contains("vlan 100") && Contains("trust off"));
    CHECK(del(call) == "");
    CHECK(stage.node.difference() == "");
}

} // namespace rdmanet::test
