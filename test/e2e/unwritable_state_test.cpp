// State directories that take no writes by the time that DEL comes.
#include "vf_stage.hpp"

#include "support/reporter.hpp"

#include <catch2/catch.hpp>

namespace rdmanet::test {

using Catch::Contains;

namespace {

const std::string kState = "/run/rdmanet";

/// The directory is read-only, until the end of the scope.
class ReadOnlyState {
public:
    ReadOnlyState() { shell(concat("mount --bind ", kState, ' ', kState, " && mount -o remount,bind,ro ", kState)); }
    ReadOnlyState(const ReadOnlyState&) = delete;
    ReadOnlyState& operator=(const ReadOnlyState&) = delete;
    ~ReadOnlyState() { (void)succeeds(concat("umount ", kState)); }
};

/// A small file system with what is in the state directory, and no room for more, until the end of the scope.
class FullState {
public:
    FullState() {
        shell(concat("cp -a ", kState, " /tmp/saved && mount -t tmpfs -o size=256k full ", kState,
                     " && cp -a /tmp/saved/. ", kState, " && rm -r /tmp/saved"));
        shell(concat("cd ", kState, " && ! dd if=/dev/zero of=ballast bs=4k 2>/dev/null && ! echo >more && rm more"));
    }
    FullState(const FullState&) = delete;
    FullState& operator=(const FullState&) = delete;
    ~FullState() { (void)succeeds(concat("umount ", kState)); }

    static void make_room() { shell(concat("rm ", kState, "/ballast")); }
};

} // namespace

TEST_CASE("DEL takes away what it can where the state directory is read-only or full, and says what it could not write",
          "[del]") {
    NEEDS(kernel_has("macvlan"), "macvlan");
    const Stage stage;
    const PluginCall call = call_for(stage.pod, concat("'master':'par0',", ipam("10.140.0.0/24")));
    const PluginCall bare = of(call_for(stage.pod, "'master':'par0'"), "c2");
    const auto has_link = [&] { return stage.pod.succeeds("ip link show net1"); };
    (void)add(call);
    {
        const ReadOnlyState state;
        CHECK_THAT(del(call), Contains("code 108: still held: addresses: ") && Contains("readonly database"));
        CHECK_FALSE(has_link());
    }
    CHECK(del(call) == "");
    (void)add(bare);
    {
        const ReadOnlyState state;
        CHECK_THAT(del(bare), Contains("code 108: still held: journal record: ") && Contains("read-only file system"));
        CHECK_FALSE(has_link());
        CHECK(run_process({binary(), "gc"}).exit_status == 0); // the pod lives
    }
    CHECK(del(bare) == "");
    (void)add(call);
    {
        const FullState state;
        CHECK_THAT(del(call), Contains("code 108: still held: addresses: ") && Contains("disk is full"));
        CHECK_FALSE(has_link());
        FullState::make_room();
        CHECK(del(call) == "");
        CHECK(shell(concat(binary(), " state --json | jq -c .leases")) == "[]\n");
    }
    CHECK(del(call) == "");
    CHECK(stage.node.difference() == "");
}

TEST_CASE("DEL takes a VF home where the state directory is read-only", "[sriov][del]") {
    NEEDS_VFS();
    const VfStage stage;
    const PluginCall call = vf_call(stage.vfs, stage.pod, 0, "'rdma':true,'vlan':100");
    (void)add(call);
    {
        const ReadOnlyState state;
        CHECK_THAT(del(call), Contains("code 108: still held: journal record: ") && Contains("read-only file system"));
        CHECK(succeeds(concat("ip link show ", stage.vfs.netdev(0), " && rdma dev show ", stage.vfs.rdma(0))));
        CHECK_THAT(stage.vfs.settings(0), !Contains("vlan 100"));
    }
    CHECK(del(call) == "");
    CHECK(stage.node.difference() == "");
}

} // namespace rdmanet::test
