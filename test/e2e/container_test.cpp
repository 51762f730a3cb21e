// Tests what docs/multus.md says of callers in containers, such as the daemon of a thick Multus: which namespaces and
// directories of the node they need, and how a call is refused without them.
#include "containers.hpp"

#include "support/concat.hpp"
#include "support/names.hpp"

#include <catch2/catch.hpp>

#include <string>

namespace rdmanet::test {

using Catch::Contains;

namespace {

const std::string kHostRoot = "/tmp/rdmanet-hostroot";

/// A daemon that mounts the node's root directory and changes its root to it, with /proc and /run, as in Multus'
/// manifest.
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

/// Number of leases in the node's state directory.
std::string lease_count() {
    return shell(concat(binary(), " state --json | jq -j '.leases|length'"));
}

/// Runs ADD, CHECK and DEL. A pod that dies without DEL must be reported as dead.
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
    const VethParent parent("par0");
    for (const std::string& unshare : {kWithHostPid, kWithoutHostPid}) {
        CAPTURE(unshare);
        expect_everything_to_work(Wrapper("daemon", in_host_root(unshare)));
    }
    shell(concat("rmdir ", kHostRoot));
}

TEST_CASE("a daemon with its own root directory needs hostPID and the node's /run", "[container]") {
    const VethParent parent("par0");
    expect_everything_to_work(Wrapper("daemon", kWithHostPid));
}

TEST_CASE("a daemon without hostPID reaches named namespaces, and judges only its own attachments", "[container]") {
    const VethParent parent("par0");
    const Pod pod("pod");
    const CheckedNode node;
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
    // A person who knows that the pod is dead sends its DEL.
    CHECK(del(daemon_call("", daemon, "dead")) == "");
}

TEST_CASE("a daemon with its own /run gets an error for pods that it cannot see", "[container]") {
    const VethParent parent("par0");
    const Pod pod("pod");
    const CheckedNode node;
    const std::string fix = "HostToContainer";
    const Wrapper own_run("daemon", concat(kWithHostPid, " bash -c 'mount -t tmpfs run /run && exec \"$0\" \"$@\"'"));
    CHECK_THAT(refusal(daemon_call(pod.path(), own_run)), Names("code 4", pod.path(), "no such file", "sandbox", fix));
    // Without mount propagation, the daemon sees a later pod's file, but not the mount on it.
    const Wrapper no_propagation("later", concat("unshare --mount --propagation private bash -c 'umount -l ",
                                                 pod.path(), " && exec \"$0\" \"$@\"'"));
    CHECK_THAT(refusal(daemon_call(pod.path(), no_propagation)), Names("code 4", pod.path(), "empty", fix));
}

TEST_CASE("a daemon with its own /run gets a warning that its state ends with it", "[container]") {
    const VethParent parent("par0");
    const CheckedNode node;
    const ProcessPod pod;
    const Wrapper own_run("daemon", concat(kWithHostPid, " bash -c 'mount -t tmpfs run /run && exec \"$0\" \"$@\"'"));
    const PluginCall call = daemon_call(pod.path(), own_run);
    const ProcessResult result = call.run();
    CHECK(result.exit_status == 0);
    CHECK_THAT(result.err, Names("/run/rdmanet", "container's", "/run"));
    CHECK(lease_count() == "0");
    CHECK(succeeds(concat("nsenter --net=", pod.path(), " ip link delete net1"))); // its record ended with the daemon
}

TEST_CASE("a daemon that has the node's state under another path gets no warning", "[container][static]") {
    const VethParent parent("par0");
    const CheckedNode node;
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

    // The node, too, has the root of a container mounted.
    shell(concat("cd ", shared.path, " && mkdir proc sys && cp ", binary(), " rdmanet"));
    const Wrapper own_root("own-root", concat(kWithHostPid, " bash -c 'cd ", shared.path,
                                              " && mount --rbind /proc proc && mount --rbind /sys sys && ",
                                              "RDMANET_STATE_DIR=/own exec chroot . /rdmanet \"$@\"'"));
    call.program = own_root.path();
    const ProcessResult warned = call.run();
    CHECK(warned.exit_status == 0);
    CHECK_THAT(warned.err, Names("/own", "container's"));
    CHECK(del(call) == "");
}

} // namespace rdmanet::test
