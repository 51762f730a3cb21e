// RDMA ports that are not active produce a warning, or a refusal before anything changes.
#include "vf_stage.hpp"

#include "support/concat.hpp"
#include "support/names.hpp"
#include "support/patience.hpp"
#include "support/reporter.hpp"

#include <catch2/catch.hpp>

namespace rdmanet::test {

using Catch::Contains;
using Catch::StartsWith;

namespace {

constexpr const char* kRefuse = "'rdma':{'onInactivePort':'refuse','gidTimeoutMs':100},";

/// Takes something from the first card's port, by its name in the software NIC: "cable", or "subnet_manager", as if
/// none had ever run.
class Without {
public:
    explicit Without(const std::string& what) : file_(concat("/sys/kernel/debug/simrnic/rnic0p0/", what)) {
        shell(concat("echo 0 >", file_));
    }
    Without(const Without&) = delete;
    Without& operator=(const Without&) = delete;
    ~Without() { (void)succeeds(concat("echo 1 >", file_)); }

private:
    std::string file_;
};

/// Returns what ADD logs. Then CHECK must succeed, and DEL follows.
std::string log_of(const PluginCall& call) {
    const ProcessResult result = call.run();
    if (result.exit_status != 0) return error_of(result);
    CHECK(check(call, result.out) == "");
    CHECK(del(call) == "");
    return result.err;
}

std::size_t count(const std::string& text, const std::string& part) {
    std::size_t found = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
    return found;
}

std::string status_of(const PluginCall& call) {
    return outcome(call, "STATUS");
}

/// The warning for the node's only attachment.
std::string warning_of_check() {
    return value(run_process({binary(), "check", "--json"}).out, "attachments.0.warning");
}

} // namespace

TEST_CASE("a parent whose RDMA port is not active produces a warning", "[rdma][port]") {
    NEEDS(!rdma_parent().empty(), "an RDMA parent");
    const Pod pod("pod");
    const UnchangedNode node;
    const std::string members = concat("'master':'", rdma_parent(), "',", ipam("10.110.0.0/24"));
    {
        const Without cable("cable");
        const std::string said =
            concat("port 1 of RDMA device \"", rdma_device_of(rdma_parent()),
                   "\" is not active: state down, physical state disabled; check the link of \"", rdma_parent(), '"');
        for (const std::string rdma : {"", "'rdma':true,"}) {
            const PluginCall call = call_for(pod, concat(rdma, members));
            CHECK_THAT(log_of(call), Contains(said));
            CHECK(status_of(call) == "");
        }
        CHECK(log_of(call_for(pod, concat("'rdma':false,", members))) == "");
    }
    CHECK(node.difference() == "");
}

TEST_CASE("a VF's port state comes from the PF's port before ADD, and from its own port in the pod",
          "[rdma][port][sriov]") {
    NEEDS_VFS();
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
        const Without cable("cable");
        CHECK_THAT(check(refusing, result), Contains(concat("code 107: ", of_vf)) && Contains("\"net1\""));
        CHECK_THAT(warning_of_check(), Contains(concat("PF \"", stage.vfs.pf(), "\" has no carrier")));
        CHECK(del(refusing) == "");
        const std::string log = log_of(warned);
        CHECK(count(log, " is not active") == 1);
        CHECK_THAT(log, Contains(of_pf));
        CHECK(log_of(with(warned, "'link_state':'disable'")) == "");
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

TEST_CASE("a whole function's port state is known before ADD if its interface is up, otherwise in the pod",
          "[rdma][port][device]") {
    NEEDS_VFS();
    const VfNode vfs("exclusive", 0);
    const std::string nic = vfs.pf();
    const Pod pod("pod");
    const UnchangedNode node;
    const std::string members = concat("'attach':'host-device','device':'", nic, '\'');
    const PluginCall refusing = call_for(pod, concat(kRefuse, members));
    const PluginCall warned = call_for(pod, members);
    const std::string said = concat("port 1 of RDMA device \"", rdma_device_of(nic), "\" is not active: state down");
    CHECK(log_of(refusing) == "");
    {
        const Without cable("cable");
        CHECK_THAT(log_of(warned), Contains(said));
        shell(concat("ip link set ", nic, " down"));
        CHECK(log_of(warned) == "");
    }
    CHECK(log_of(refusing) == "");
    shell(concat("ip link set ", nic, " up"));
    const std::string result = add(refusing);
    {
        const Without cable("cable");
        CHECK_THAT(warning_of_check(), StartsWith("device ") && Contains(" has no carrier"));
        CHECK(check(refusing, result) == ""); // the move set the link down, and it may not be up again
        shell("sed -i 's/\"createdSinceBoot\": [0-9]*,//' /run/rdmanet/attachments/*");
        CHECK_THAT(check(refusing, result), Contains(concat("code 107: ", said)) && Contains("\"net1\""));
    }
    CHECK(check(refusing, result) == "");
    CHECK(del(refusing) == "");
    CHECK(node.difference() == "");
}

} // namespace rdmanet::test
