// VFs whose record was lost.
#include "vf_stage.hpp"

#include "support/concat.hpp"
#include "support/reporter.hpp"

#include <catch2/catch.hpp>

namespace rdmanet::test {

using Catch::Contains;

TEST_CASE("DEL returns a VF without a record to the host, with its RDMA device", "[sriov][del]") {
    NEEDS_VFS();
    const VfStage stage;
    const PluginCall call = vf_call(stage.vfs, stage.pod, 0, concat("'rdma':true,", ipam("10.94.0.0/24")));
    const PluginCall stranger = of(vf_call(stage.vfs, stage.pod, 1), "c2");
    for (const std::string loss : {"rm", "truncate --size=40"}) {
        (void)add(call);
        shell(concat(loss, " /run/rdmanet/attachments/*"));
        CHECK(outcome(stranger, "DEL") == ""); // its device is not the pod's
        CHECK_THAT(stage.pod.run("ip -d link show net1"), Contains(stage.vfs.vf(0)));
        CHECK(del(call) == "");
        shell(concat("ip link set net1 name ", stage.vfs.netdev(0)));
        CHECK(succeeds(concat("rdma dev show ", stage.vfs.rdma(0))));
        CHECK(del(call) == "");
        CHECK(stage.node.difference() == "");
    }
}

} // namespace rdmanet::test
