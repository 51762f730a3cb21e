// GC by the runtime, and `rdmanet gc` by a person.
#include "attachment_stage.hpp"

#include "support/concat.hpp"
#include "support/names.hpp"
#include "support/patience.hpp"

#include <catch2/catch.hpp>

#include <optional>

namespace rdmanet::test {

namespace {

const std::string kCollected = concat("'master':'par0',", ipam("10.36.0.0/24"));

/// Runs GC of network "net". `list` is a member of the configuration, or empty.
std::string collect(const std::string& list) {
    PluginCall call;
    call.config = json_text(concat("{'cniVersion':'1.1.0','name':'net','type':'rdmanet',", list, kCollected, '}'));
    return outcome(call, "GC");
}

/// Container IDs that have a record, then container IDs that have a lease.
std::string holders() {
    return shell(concat(binary(), " state --json | jq -j '[.attachments,.leases|map(.containerID)|sort|join(\" \")]|"
                                  "join(\"; \")'"));
}

/// Containers "alive" and "dead" of network "net", and a dead container of another network.
struct Attachments {
    VethParent parent{"par0"};
    UnchangedNode node;
    std::optional<Pod> living{"living"};

    Attachments() {
        Pod dying("dying");
        add(of(call_for(*living, kCollected), "alive"));
        add(of(call_for(dying, kCollected), "dead"));
        PluginCall foreign = of(call_for(dying, kCollected, "1.1.0", "other"), "foreign");
        foreign.ifname = "net2";
        add(foreign);
        dying.destroy();
    }

    /// Removes everything.
    std::string finish() {
        living.reset();
        const ProcessResult result = run_process({binary(), "gc"});
        return concat(result.exit_status == 0 ? "" : result.err, node.difference());
    }
};

} // namespace

TEST_CASE("gc, state and check name the mount that keeps a namespace without a name", "[gc][state][check]") {
    const VethParent parent("par0");
    const UnchangedNode node;
    Pod leaving("leaving");
    (void)add(call_for(leaving, kCollected));
    const std::string pid = shell("ip netns exec leaving sleep 300 >/dev/null 2>&1 & echo -n $!");
    shell(concat("while ! [ /run/netns/leaving -ef /proc/", pid, "/ns/net ]; do :; done"));
    leaving.destroy();
    // A mount in another mount namespace only, as a runtime in a container makes it.
    const std::string at = "/tmp/rdmanet-kept";
    const std::string other = shell(concat("touch ", at, "; unshare --mount sh -c 'mount --bind /proc/", pid,
                                           "/ns/net ", at, " && exec sleep 300' >/dev/null 2>&1 & echo -n $!"));
    wait_until(concat("[ $(cat /proc/", other, "/comm) = sleep ]"));
    shell(concat("kill ", pid, "; while [ -e /proc/", pid, " ]; do sleep 0.02; done"));
    for (const std::string command : {"gc --dry-run", "gc", "gc --forget c1 net1", "state", "check"}) {
        INFO(command);
        CHECK_THAT(shell(concat(binary(), ' ', command, " 2>&1; true")),
                   Names("held", concat("mount at ", at), concat("process ", other, " (sleep)"), "unmount it",
                         "`rdmanet gc`"));
    }
    shell(concat("nsenter --mount=/proc/", other, "/ns/mnt umount ", at));
    CHECK(collect("") == "");
    shell(concat("kill ", other, "; rm ", at));
    CHECK(node.difference() == "");
}

TEST_CASE("rdmanet gc lists what it removed from all networks as JSON", "[gc]") {
    Attachments some;
    CHECK(shell(concat(binary(), " gc --json | jq -c '[.removed,.failed|length]'")) == "[2,0]\n");
    CHECK(holders() == "alive; alive");
    CHECK(some.finish() == "");
}

} // namespace rdmanet::test
