// GC and devices in namespaces that no path reaches.
#include "golden.hpp"
#include "vf_stage.hpp"

#include "support/concat.hpp"
#include "support/names.hpp"
#include "support/patience.hpp"

#include <catch2/catch.hpp>

namespace rdmanet::test {

using Catch::Contains;

namespace {

std::string gc(const std::string& options = "") {
    return shell(concat(binary(), " gc ", options));
}

} // namespace

TEST_CASE("GC names devices without a pod that somebody else uses, and leaves them alone", "[gc][sriov][golden]") {
    const VfStage stage;
    const PluginCall call = vf_call(stage.vfs, stage.pod, 1, "'rdma':true");
    (void)add(call);
    shell(concat("ip netns add stranger && ip link set ", stage.vfs.netdev(0), " netns stranger && rdma dev set ",
                 stage.vfs.rdma(0), " netns stranger"));
    CHECK_THAT(gc(), Contains("nothing to remove") && !Contains("left alone")); // pods of another plugin look the same
    const std::string pid = shell("(exec 9</run/netns/stranger; exec sleep 300) >/dev/null 2>&1 & echo -n $!");
    shell(concat("while ! [ /proc/", pid,
                 "/fd/9 -ef /run/netns/stranger ]; do sleep 0.02; done; "
                 "until grep -q sleep /proc/",
                 pid, "/comm; do sleep 0.02; done; ip netns delete stranger"));
    const auto names_holder = Names(stage.vfs.vf(0), "net device and RDMA device", concat("process ", pid, " (sleep)"),
                                    concat("/proc/", pid, "/fd/9"));
    const std::string text = gc();
    CHECK_THAT(text, Contains("left alone: device ") && names_holder && !Contains(stage.vfs.vf(1)));
    CHECK_THAT(gc("--dry-run --json"), Contains("\"noticed\"") && names_holder);
    Golden golden("a device that gc leaves alone");
    golden.add_lines(replaced(text, pid, "NUMBER"));
    CHECK(golden.difference() == "");
    shell(concat("kill ", pid));
    wait_until(concat("rdma dev show ", stage.vfs.rdma(0)));
    CHECK_THAT(gc(), !Contains("left alone"));
    CHECK(del(call) == "");
    CHECK(stage.node.difference() == "");
}

} // namespace rdmanet::test
