// The device-info file tells programs in the pod which VF and RDMA device they have.
#include "vf_stage.hpp"

#include "support/concat.hpp"
#include "support/names.hpp"
#include "support/reporter.hpp"

#include <catch2/catch.hpp>

namespace rdmanet::test {

TEST_CASE("the device-info file gets the VF and its RDMA device beside its earlier contents, and DEL restores it",
          "[sriov]") {
    NEEDS_VFS();
    const VfStage stage;
    const std::string path = "/var/run/k8s.cni.cncf.io/devinfo/cni/ml-vf-c1_net1";
    const PluginCall call =
        vf_call(stage.vfs, stage.pod, 0, concat("'rdma':true,'runtimeConfig':{'CNIDeviceInfoFile':'", path, "'}"));
    const std::string earlier = concat("{'pci':{'pci-address':'", stage.vfs.vf(0), "','vhost-net':'v'}}"); // by Multus
    shell(concat("mkdir -p $(dirname ", path, ") && echo '", json_text(earlier), "' >", path));
    (void)add(call);
    CHECK(shell(concat("cat ", path)) ==
          json_text(concat("{'type':'pci','version':'1.1.0','pci':{'pci-address':'", stage.vfs.vf(0),
                           "','pf-pci-address':'0001:00:00.0','rdma-device':'", stage.vfs.rdma(0),
                           "','vhost-net':'v'}}")));
    CHECK(del(call) == "");
    CHECK_FALSE(succeeds(concat("test -e ", path)));
    CHECK(stage.node.difference() == "");
}

TEST_CASE("the device-info file of another pod is not written", "[sriov]") {
    NEEDS_VFS();
    const VfStage stage;
    const std::string directory = "/run/k8s.cni.cncf.io/devinfo/cni/";
    const auto writing = [&](unsigned vf, const std::string& name) {
        return vf_call(stage.vfs, stage.pod, vf,
                       concat("'runtimeConfig':{'CNIDeviceInfoFile':'", directory, name, "'}"));
    };
    PluginCall first = of(writing(0, "default-net-x-c1_net2"), "x-c1");
    first.ifname = "net2";
    (void)add(first);
    const std::string before = shell(concat("cat ", directory, "default-net-x-c1_net2"));
    PluginCall second = writing(1, "default-net-x-c1_net2"); // this container ID is the end of the other pod's
    second.ifname = "net2";
    CHECK_THAT(refusal(second), Names("code 7", "runtimeConfig.CNIDeviceInfoFile", "net", "x-c1"));
    CHECK_THAT(refusal(writing(1, "default-net-c2_net1")),
               Names("code 7", "runtimeConfig.CNIDeviceInfoFile", "-c1_net1"));
    CHECK(del(second) == "");
    CHECK(shell(concat("cat ", directory, "default-net-x-c1_net2")) == before);
    CHECK(del(first) == "");
    CHECK(stage.node.difference() == "");
}

} // namespace rdmanet::test
