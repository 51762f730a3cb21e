// A node in RDMA mode exclusive: each RDMA device belongs to one network namespace. The kernel changes the mode only
// while no other network namespace exists (rdma_compatdev_set(), drivers/infiniband/core/device.c).
#include "attachment_stage.hpp"

#include "support/concat.hpp"
#include "support/names.hpp"
#include "support/reporter.hpp"
#include "support/vf_node.hpp"

#include <catch2/catch.hpp>

namespace rdmanet::test {

using Catch::Contains;

namespace {

struct ExclusiveMode {
    ~ExclusiveMode() { (void)set_rdma_mode("shared"); }
};

} // namespace

TEST_CASE("in RDMA mode exclusive a shared network is refused with the fix if it requires RDMA, otherwise it has none",
          "[rdma]") {
    NEEDS(kernel_has("macvlan") && !rdma_parent().empty(), "macvlan and an RDMA parent");
    NEEDS(set_rdma_mode("exclusive"), "a node without network namespaces");
    const ExclusiveMode mode;
    const Pod pod("pod");
    const UnchangedNode node;
    const std::string members = concat("'master':'", rdma_parent(), "',", ipam("10.42.0.0/24"));
    const PluginCall demanding = call_for(pod, concat("'rdma':true,", members));
    CHECK_THAT(refusal(demanding), Names("code 103", "exclusive", "net", "shared", "`rdma system set netns shared`"));
    CHECK(del(demanding) == "");
    CHECK_THAT(outcome(demanding, "STATUS"), Contains("code 50") && Contains("rdma system set netns shared"));
    const auto status_of_vfs = [&](const std::string& wanted) {
        return outcome(call_for(pod, concat("'attach':'sriov','rdma':{'mode':'", wanted, "'}")), "STATUS");
    };
    CHECK_THAT(status_of_vfs("shared"), Names("code 50", "exclusive", "net", "shared"));
    CHECK(status_of_vfs("exclusive") == "");
    const PluginCall modest = call_for(pod, members);
    const std::string result = add(modest);
    CHECK(addresses(result) == "10.42.0.1/24");
    CHECK(check(modest, result) == "");
    CHECK(del(modest) == "");
    CHECK(node.difference() == "");
}

} // namespace rdmanet::test
