// A PF that is busy.
#include "vf_stage.hpp"

#include "support/concat.hpp"
#include "support/names.hpp"

#include <catch2/catch.hpp>

namespace rdmanet::test {

using Catch::Contains;

TEST_CASE("ADD and DEL wait for a PF that is busy for a while, and ADD is refused if it stays busy",
          "[sriov][vf-settings]") {
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

} // namespace rdmanet::test
