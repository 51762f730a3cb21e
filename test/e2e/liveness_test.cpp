// Who may take something from whom: pods that live, died, or can't be seen, looked at from the node and from other PID
// and mount namespaces.
#include "attachment_stage.hpp"

#include "support/patience.hpp"
#include "support/reporter.hpp"

#include <catch2/catch.hpp>

#include <csignal>
#include <fstream>
#include <string>

namespace rdmanet::test {

using Catch::Contains;

namespace {

const std::string kOwnNetns = "$(readlink /proc/self/ns/net)";

/// A pod that has no name: a process in a network namespace of its own.
class ProcessPod {
public:
    ProcessPod() : pid_(shell("unshare --net sleep infinity >/dev/null 2>&1 & echo -n $!")) {
        (void)comes_true([&] {
            return succeeds(
                concat("[ $(readlink ", path(), ") != ", kOwnNetns, " ] && [ $(cat /proc/", pid_, "/comm) = sleep ]"));
        });
    }
    ProcessPod(const ProcessPod&) = delete;
    ProcessPod& operator=(const ProcessPod&) = delete;
    ~ProcessPod() { end(); }

    [[nodiscard]] std::string path() const { return concat("/proc/", pid_, "/ns/net"); }

    void end() {
        if (pid_.empty()) return;
        (void)::kill(std::stoi(pid_), SIGKILL);
        (void)comes_true([&] { return !succeeds(concat("test -e ", path())); });
        pid_.clear();
    }

private:
    std::string pid_;
};

/// A program that runs the binary behind other commands.
class Wrapper {
public:
    Wrapper(const std::string& name, const std::string& commands) : path_(concat("/tmp/rdmanet-", name)) {
        std::ofstream(path_) << "#!/bin/bash\nexec " << commands << ' ' << binary() << " \"$@\"\n";
        shell("chmod 755 " + path_);
    }
    Wrapper(const Wrapper&) = delete;
    Wrapper& operator=(const Wrapper&) = delete;
    ~Wrapper() { (void)std::remove(path_.c_str()); }

    [[nodiscard]] const std::string& path() const { return path_; }

private:
    std::string path_;
};

/// Its own PID namespace, a /proc that shows that one, and the node's other mounts, which may go on without it.
const std::string kContainer = "unshare --pid --fork --kill-child --mount --propagation slave --mount-proc";

PluginCall attached_to(const std::string& netns, const std::string& container) {
    PluginCall call;
    call.container = container;
    call.netns = netns;
    call.config = json_text(
        concat("{'cniVersion':'1.1.0','name':'net','type':'rdmanet','master':'par0',", ipam("10.71.0.0/24"), '}'));
    return call;
}

PluginCall gc_call(const std::string& listed) {
    PluginCall call = with(attached_to("", ""), concat("'cni.dev/valid-attachments':[", listed, ']'));
    call.ifname.clear();
    call.command = "GC";
    return call;
}

std::string lease_holders() {
    return shell(concat(binary(), " state --json | jq -j '[.leases[].containerID]|sort|join(\" \")'"));
}

} // namespace

TEST_CASE("the runtime's GC from a container takes nothing from pods that it can't see", "[liveness][gc]") {
    NEEDS(kernel_has("macvlan"), "macvlan");
    const VethParent parent("par0");
    const Pod heir("heir");
    const UnchangedNode node;
    ProcessPod pods[3];
    for (int number = 0; number < 3; ++number) (void)add(attached_to(pods[number].path(), concat('c', number)));
    const Wrapper inside("elsewhere", kContainer);

    PluginCall gc = gc_call("{'containerID':'c0','ifname':'net1'}");
    gc.program = inside.path();
    const ProcessResult result = gc.run();
    CHECK(result.exit_status == 0);
    CHECK(result.out == "");
    for (const char* kept : {"c1", "c2"})
        CHECK_THAT(result.err, Contains(concat("GC kept network \"net\", container \"", kept)) &&
                                   Contains("because it was attached from another PID namespace"));
    CHECK_THAT(result.err, !Contains("container \"c0\"")); // the runtime's list has it
    CHECK(lease_holders() == "c0 c1 c2");
    CHECK(addresses(add(attached_to(heir.path(), "heir"))) == "10.71.0.4/24");
    CHECK(del(attached_to(heir.path(), "heir")) == "");

    // The same list from the node itself: the dead go, the living stay.
    pods[1].end();
    CHECK(outcome(gc_call("{'containerID':'c0','ifname':'net1'}"), "GC") == "");
    CHECK(lease_holders() == "c0 c2");
    for (const int number : {0, 2}) CHECK(del(attached_to(pods[number].path(), concat('c', number))) == "");
    CHECK(node.difference() == "");
}

} // namespace rdmanet::test
