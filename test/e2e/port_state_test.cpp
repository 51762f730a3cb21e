// What the kernel shows of RDMA ports that are not active.
#include "vf_stage.hpp"

#include "support/concat.hpp"
#include "support/names.hpp"
#include "support/patience.hpp"

#include <catch2/catch.hpp>

namespace rdmanet::test {

using Catch::Contains;

namespace {

constexpr const char* kRefuse = "'rdma':{'onInactivePort':'refuse','gidTimeoutMs':100},";

/// Until the end of the scope, the first card's port has no cable.
class Unplugged {
public:
    Unplugged() { shell("echo 0 >/sys/kernel/debug/simrnic/rnic0p0/cable"); }
    Unplugged(const Unplugged&) = delete;
    Unplugged& operator=(const Unplugged&) = delete;
    ~Unplugged() { (void)succeeds("echo 1 >/sys/kernel/debug/simrnic/rnic0p0/cable"); }
};

/// Returns what ADD logs. Then CHECK must succeed, and DEL follows.
std::string log_of(const PluginCall& call) {
    const ProcessResult result = call.run();
    if (result.exit_status != 0) return error_of(result);
    CHECK(check(call, result.out) == "");
    CHECK(del(call) == "");
    return result.err;
}

/// The warning for the node's only attachment.
std::string warning_of_check() {
    return value(run_process({binary(), "check", "--json"}).out, "attachments.0.warning");
}

} // namespace

TEST_CASE("a VF's port state comes from the PF's port before ADD, and from its own port in the pod",
          "[rdma][port][sriov]") {
    const VfStage stage;
    const PluginCall refusing = vf_call(stage.vfs, stage.pod, 0, concat(kRefuse, ipam("10.111.0.0/24")));
    const PluginCall warned = vf_call(stage.vfs, stage.pod, 0, "'rdma':{'gidTimeoutMs':100}");
    const std::string of_pf = concat("port 1 of RDMA device \"", rdma_device_of(stage.vfs.pf()),
                                     "\" is not active: state down, physical state disabled");
    const std::string of_vf = concat("port 1 of RDMA device \"", stage.vfs.rdma(0), "\" is not active");
    const std::string result = add(refusing); // the VF's own port is still down on the host
    CHECK(check(refusing, result) == "");
    CHECK(comes_true([] { return warning_of_check().empty(); })); // the VF's carrier comes a moment after ADD
    {
        const Unplugged port;
        CHECK_THAT(check(refusing, result), Contains(concat("code 107: ", of_vf)) && Contains("\"net1\""));
        CHECK_THAT(warning_of_check(), Contains(concat("PF \"", stage.vfs.pf(), "\" has no carrier")));
        CHECK(del(refusing) == "");
        CHECK_THAT(log_of(warned), Contains(of_pf));
    }
    const std::string set = concat("ip link set ", stage.vfs.pf(), ' ');
    shell(concat(set, "down"));
    const UnchangedNode with_pf_down;
    CHECK_THAT(log_of(warned), Names("net1") && Contains(of_vf));
    (void)add(warned);
    CHECK_THAT(warning_of_check(), Contains(concat("PF \"", stage.vfs.pf(), "\" is down")));
    CHECK(del(warned) == "");
    CHECK(with_pf_down.difference() == "");
    shell(concat(set, "up"));
    CHECK(stage.node.difference() == "");
}

} // namespace rdmanet::test
