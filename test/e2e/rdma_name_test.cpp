// A network names its RDMA device in the pod.
#include "vf_stage.hpp"

#include "support/concat.hpp"
#include "support/names.hpp"
#include "support/reporter.hpp"

#include <catch2/catch.hpp>

namespace rdmanet::test {

using Catch::Contains;

namespace {

std::string named(const std::string& more = "") {
    return concat("'rdma':{'name':'rdma0','linkLocalGids':false},", more, ipam("10.116.0.0/24"));
}

} // namespace

TEST_CASE("an RDMA device has the configured name in the pod, and returns with its own once that is free",
          "[sriov][rdma][del][rdma-name]") {
    NEEDS_VFS();
    const VfStage stage;
    const std::string info = "/var/run/k8s.cni.cncf.io/devinfo/cni/named-c1_net1";
    const PluginCall call =
        vf_call(stage.vfs, stage.pod, 0, named(concat("'runtimeConfig':{'CNIDeviceInfoFile':'", info, "'},")));
    const std::string result = add(call);
    CHECK_THAT(stage.pod.run("rdma link"), Contains("link rdma0/1 ") && Contains("netdev net1"));
    CHECK(value(shell(concat("cat ", info)), "pci.rdma-device") == "rdma0");
    CHECK(check(call, result) == "");
    CHECK_THAT(refusal(after(call_for(stage.pod, "'attach':'rdma','rdma':{'name':'rdma1'}"), result)),
               Contains("code 103: rdma.name: \"rdma1\" ") && Contains("RDMA devices of 0001:00:01.0"));
    stage.pod.run("rdma dev set rdma0 name mine");
    CHECK(del(call) == "");
    CHECK(stage.node.difference() == "");

    Pod dead("dead");
    const PluginCall died = vf_call(stage.vfs, dead, 0, named());
    (void)add(died);
    shell(concat("rdma dev set ", stage.vfs.rdma(1), " name ", stage.vfs.rdma(0)));
    dead.destroy();
    const ProcessResult gone = died.with_command("DEL").run();
    CHECK(gone.exit_status == 0);
    CHECK_THAT(gone.err, Names("warning", "RDMA", stage.vfs.vf(0), "rdma0", stage.vfs.rdma(0)));
    const std::string waiting =
        concat("RDMA device \"rdma0\" of ", stage.vfs.vf(0), ": another RDMA device on the host has");
    const std::string look = "stat -c '%i %z' ${RDMANET_STATE_DIR:-/run/rdmanet}/rdma-names.json";
    const std::string written = shell(look);
    CHECK_THAT(shell(concat(binary(), " gc")),
               Contains(waiting)); // the administrator's name for the other device stays
    CHECK(shell(look) == written);
    shell(concat("rdma dev set ", stage.vfs.rdma(0), " name ", stage.vfs.rdma(1)));
    CHECK_THAT(shell(concat(binary(), " gc")), !Contains("RDMA device"));
    CHECK(stage.node.difference() == "");
}

TEST_CASE("RDMA devices whose pods swapped their names get them back, after waiting for a name in use",
          "[sriov][rdma][del][rdma-name]") {
    NEEDS_VFS();
    const VfNode vfs;
    const Pod one("one");
    const Pod other("other");
    const UnchangedNode node;
    const PluginCall first = vf_call(vfs, one, 0);
    const PluginCall second = of(vf_call(vfs, other, 1), "c2");
    const auto attach_and_swap = [&] {
        (void)add(first);
        (void)add(second);
        one.run(concat("rdma dev set ", vfs.rdma(0), " name swap"));
        other.run(concat("rdma dev set ", vfs.rdma(1), " name ", vfs.rdma(0)));
        one.run(concat("rdma dev set swap name ", vfs.rdma(1)));
    };
    attach_and_swap();
    const ProcessResult gone = first.with_command("DEL").run();
    CHECK(gone.exit_status == 0);
    CHECK_THAT(gone.err, Names(vfs.vf(0), concat("stays \"", vfs.rdma(1)), vfs.rdma(0)));
    CHECK_THAT(other.run("rdma dev"), Contains(vfs.rdma(0))); // the pod may choose the name
    CHECK(del(second) == "");
    CHECK(node.difference() == "");
    // A device that waits for its name may go to another pod. The next call of any kind restores the name.
    attach_and_swap();
    CHECK(del(first) == "");
    const PluginCall third = of(vf_call(vfs, one, 0), "c3");
    const std::string result = add(third);
    CHECK_THAT(one.run("rdma dev"), Contains(vfs.rdma(1)));
    CHECK(check(third, result) == "");
    CHECK(del(third) == "");
    other.run(concat("rdma dev set ", vfs.rdma(0), " name mine"));
    CHECK_THAT(refusal(call_for(one, "'deviceID':'0001:00:1f.7'")), Contains("0001:00:1f.7"));
    CHECK(succeeds(concat("rdma dev show ", vfs.rdma(0))));
    CHECK(del(second) == "");
    CHECK(node.difference() == "");
}

} // namespace rdmanet::test
