// What docs/multus.md says of callers in containers, like the daemon of a thick Multus: which of the node's namespaces
// and directories they need, and what they are refused without.
#include "containers.hpp"

#include "support/concat.hpp"
#include "support/names.hpp"
#include "support/reporter.hpp"

#include <catch2/catch.hpp>

#include <string>

namespace rdmanet::test {

using Catch::Contains;

namespace {

const std::string kHostRoot = "/tmp/rdmanet-hostroot";

/// Of a daemon that has the node's root directory mounted and makes it its own, /proc and /run with it, as the daemon
/// of Multus' manifest does.
std::string in_host_root(const std::string& unshare) {
    return concat(unshare, " bash -c 'mkdir -p ", kHostRoot, " && mount --rbind / ", kHostRoot, " && exec chroot ",
                  kHostRoot, " \"$0\" \"$@\"'");
}

const std::string kWithoutHostPid = "unshare --pid --fork --kill-child --mount --propagation slave";
const std::string kWithHostPid = "unshare --mount --propagation slave";

PluginCall daemon_call(const std::string& netns, const Wrapper& daemon, const std::string& container = "c1") {
    PluginCall call;
    call.container = container;
    call.netns = netns;
    call.program = daemon.path();
    call.config = json_text(
        concat("{'cniVersion':'1.1.0','name':'net','type':'rdmanet','master':'par0',", ipam("10.74.0.0/24"), '}'));
    return call;
}

/// A file system that is mounted on the node.
struct NodeDirectory {
    NodeDirectory() { shell(concat("mkdir ", path, " && mount -t tmpfs node ", path)); }
    NodeDirectory(const NodeDirectory&) = delete;
    NodeDirectory& operator=(const NodeDirectory&) = delete;
    ~NodeDirectory() { shell(concat("umount ", path, " && rmdir ", path)); }

    const std::string path = "/tmp/rdmanet-node";
};

/// On the node.
std::string lease_count() {
    return shell(concat(binary(), " state --json | jq -j '.leases|length'"));
}

/// ADD, CHECK, DEL; a pod that dies without a DEL is known to be dead.
void expect_everything_to_work(const Wrapper& daemon) {
    const UnchangedNode node;
    {
        const ProcessPod process;
        const Pod named("named");
        for (const std::string& path : {process.path(), named.path()}) {
            const PluginCall call = daemon_call(path, daemon);
            const ProcessResult result = call.run();
            CHECK_THAT(result.err, !Contains("state directory"));
            CHECK(check(call, result.out) == "");
            CHECK(shell(concat(binary(), " state --json | jq -j '.attachments[].podState'")) == "alive");
            CHECK(del(call) == "");
        }
        (void)add(daemon_call(named.path(), daemon, "dead"));
    }
    CHECK_THAT(run_in(daemon, "gc"), Names("removed", "net", "dead"));
    CHECK(node.difference() == "");
}

} // namespace

TEST_CASE("a daemon that changes its root to the node's needs nothing else", "[container]") {
    NEEDS(kernel_has("macvlan"), "macvlan");
    const VethParent parent("par0");
    for (const std::string& unshare : {kWithHostPid, kWithoutHostPid}) {
        CAPTURE(unshare);
        expect_everything_to_work(Wrapper("daemon", in_host_root(unshare)));
    }
    shell(concat("rmdir ", kHostRoot));
}

TEST_CASE("a daemon with hostPID and the node's /run, in a root directory of its own", "[container]") {
    NEEDS(kernel_has("macvlan"), "macvlan");
    const VethParent parent("par0");
    expect_everything_to_work(Wrapper("daemon", kWithHostPid));
}

TEST_CASE("a daemon without hostPID reaches named namespaces, and judges its own attachments alone", "[container]") {
    NEEDS(kernel_has("macvlan"), "macvlan");
    const VethParent parent("par0");
    const Pod pod("pod");
    const UnchangedNode node;
    const Wrapper daemon("daemon", kContainer);
    const PluginCall call = daemon_call(pod.path(), daemon);
    CHECK(check(call, add(call)) == "");
    CHECK(del(call) == "");
    {
        const ProcessPod process;
        CHECK_THAT(refusal(daemon_call(process.path(), daemon)), Contains("hostPID"));
        const Pod dying("dying");
        (void)add(daemon_call(dying.path(), daemon, "dead"));
    }
    CHECK_THAT(run_in(daemon, "state"), Names("another PID namespace", "`rdmanet gc`"));
    CHECK_THAT(run_in(daemon, "gc"), !Contains("removed"));
    // A person who knows better sends its DEL.
    CHECK(del(daemon_call("", daemon, "dead")) == "");
    CHECK(node.difference() == "");
}

TEST_CASE("a daemon with a /run of its own is refused the pods that it can't see", "[container]") {
    NEEDS(kernel_has("macvlan"), "macvlan");
    const VethParent parent("par0");
    const Pod pod("pod");
    const UnchangedNode node;
    const std::string cure =
        "a container that calls rdmanet needs the node's /run/netns, with mountPropagation HostToContainer";
    const Wrapper own_run("daemon", concat(kWithHostPid, " bash -c 'mount -t tmpfs run /run && exec \"$0\" \"$@\"'"));
    CHECK_THAT(refusal(daemon_call(pod.path(), own_run)), Names("code 4", pod.path(), "no such file", cure));
    // Without propagation the file of a later pod is there, its mount is not.
    const Wrapper no_propagation("later", concat("unshare --mount --propagation private bash -c 'umount -l ",
                                                 pod.path(), " && exec \"$0\" \"$@\"'"));
    CHECK_THAT(refusal(daemon_call(pod.path(), no_propagation)), Names("code 4", pod.path(), "empty", cure));
    CHECK(node.difference() == "");
}

TEST_CASE("a daemon with a /run of its own is warned that its state ends with it", "[container]") {
    NEEDS(kernel_has("macvlan"), "macvlan");
    const VethParent parent("par0");
    const UnchangedNode node;
    const ProcessPod pod;
    const Wrapper own_run("daemon", concat(kWithHostPid, " bash -c 'mount -t tmpfs run /run && exec \"$0\" \"$@\"'"));
    const PluginCall call = daemon_call(pod.path(), own_run);
    const ProcessResult result = call.run();
    CHECK(result.exit_status == 0);
    CHECK_THAT(result.err, Names("/run/rdmanet", "container's", "/run"));
    CHECK(lease_count() == "0");
    CHECK(succeeds(concat("nsenter --net=", pod.path(), " ip link delete net1"))); // nobody knows of it any more
    CHECK(node.difference() == "");
}

TEST_CASE("a daemon that has the node's state under another path is not warned of it", "[container][static]") {
    NEEDS(kernel_has("macvlan"), "macvlan");
    const VethParent parent("par0");
    const UnchangedNode node;
    const NodeDirectory shared;
    const ProcessPod pod;
    const Wrapper elsewhere("daemon", concat(kWithHostPid, " bash -c 'mount -t tmpfs mnt /mnt && mkdir /mnt/host && ",
                                             "mount --bind ", shared.path,
                                             " /mnt/host && RDMANET_STATE_DIR=/mnt/host/state exec \"$0\" \"$@\"'"));
    PluginCall call = daemon_call(pod.path(), elsewhere);
    const ProcessResult result = call.run();
    CHECK(result.exit_status == 0);
    CHECK_THAT(result.err, !Contains("state directory"));
    CHECK(del(call) == "");

    // The node has the root of a container mounted, too.
    shell(concat("cd ", shared.path, " && mkdir proc sys && cp ", binary(), " rdmanet"));
    const Wrapper own_root("own-root", concat(kWithHostPid, " bash -c 'cd ", shared.path,
                                              " && mount --rbind /proc proc && mount --rbind /sys sys && ",
                                              "RDMANET_STATE_DIR=/own exec chroot . /rdmanet \"$@\"'"));
    call.program = own_root.path();
    const ProcessResult warned = call.run();
    CHECK(warned.exit_status == 0);
    CHECK_THAT(warned.err, Names("/own", "container's"));
    CHECK(del(call) == "");
    CHECK(node.difference() == "");
}

} // namespace rdmanet::test
