// PFs that ignore a VF's settings or are busy.
#include "vf_stage.hpp"

#include "support/concat.hpp"
#include "support/names.hpp"
#include "support/reporter.hpp"

#include <catch2/catch.hpp>

namespace rdmanet::test {

using Catch::Contains;

TEST_CASE("a PF that ignores a VF's settings is refused or warned of, and ADD and DEL wait for one that is busy",
          "[sriov][vf-settings]") {
    NEEDS_VFS();
    const VfStage stage;
    const std::string pf = stage.vfs.pf();
    const std::string faults = concat("cd /sys/kernel/debug/simrnic/", pf, " && ");
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
}

} // namespace rdmanet::test
