// GC by the runtime, and `rdmanet gc` by a person.
#include "attachment_stage.hpp"

#include "support/concat.hpp"
#include "support/names.hpp"
#include "support/patience.hpp"

#include <catch2/catch.hpp>

#include <optional>

namespace rdmanet::test {

using Catch::Contains;

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

TEST_CASE("the runtime's GC removes an unreadable record of a dead pod", "[gc]") {
    const VethParent parent("par0");
    const UnchangedNode node;
    const std::string record = "/run/rdmanet/attachments/dead:net1:net.json";
    const std::string noting = "/tmp/rdmanet-gc-plugin";
    shell(
        concat("mkdir -p ", noting, "; cat >", noting, "/noting <<'END'\n#!/bin/sh\n",
               "[ $CNI_COMMAND = ADD ] && echo '{\"cniVersion\":\"1.1.0\",\"ips\":[{\"address\":\"10.38.0.5/24\"}]}'\n",
               "[ $CNI_COMMAND = DEL ] && echo $CNI_CONTAINERID $CNI_IFNAME >>", noting, "/calls\nexit 0\nEND\n",
               "chmod 755 ", noting, "/noting"));
    PluginCall call;
    {
        const Pod dying("dying");
        call = of(call_for(dying, "'master':'par0','ipam':{'type':'noting'}"), "dead");
        call.path = noting;
        add(call);
    }
    shell(concat("truncate -s 100 ", record));

    // `rdmanet gc` has no configuration. It says so, and what to do.
    const ProcessResult gc = run_process({binary(), "gc"});
    CHECK(gc.exit_status == 1);
    CHECK_THAT(gc.out, Names("cannot be read", "DEL", "net", concat("`rdmanet gc --forget ", record, "`")) &&
                           Contains(record) && !Contains("nothing to remove"));
    CHECK(run_process({binary(), "gc", "--dry-run"}).out == gc.out);

    // GC of another network, GC that lists the attachment and GC without a list all keep the attachment.
    const auto collect_with = [&](const std::string& members) { return outcome(with(call, members), "GC"); };
    CHECK(collect_with("'cni.dev/valid-attachments':[{'containerID':'dead','ifname':'net1'}]") == "");
    CHECK(collect_with("'mtu':0") == "");
    CHECK(succeeds("test -e " + record));
    CHECK(collect_with("'cni.dev/valid-attachments':[]") == "");
    CHECK(shell(concat("cat ", noting, "/calls")) == "dead net1\n");
    CHECK(node.difference() == "");
    CHECK_THAT(shell(binary() + " gc"), Contains("nothing to remove"));
    shell("rm -r " + noting);
}

TEST_CASE("a lease names the owner of an unreadable record", "[gc]") {
    Attachments some;
    shell("truncate -s 100 /run/rdmanet/attachments/*");
    CHECK(collect("'cni.dev/valid-attachments':[],") == "");
    CHECK(holders() == "; alive foreign");
    const ProcessResult gc = run_process({binary(), "gc"});
    CHECK_THAT(gc.out,
               Names("removed", "other", "foreign", "still held", "/run/rdmanet/attachments/alive:net1:net.json"));
    CHECK(gc.exit_status == 1);
    CHECK(del(of(call_for(*some.living, kCollected), "alive")) == "");
    CHECK(some.finish() == "");
}

TEST_CASE("a dry run leaves a damaged lease store as it is, and reads the journal", "[gc]") {
    Attachments some;
    shell(
        "cd ${RDMANET_STATE_DIR:-/run/rdmanet} && cp leases.sqlite /tmp/rdmanet-leases && echo rubbish >leases.sqlite");
    const std::string look = "cd ${RDMANET_STATE_DIR:-/run/rdmanet} && find . -type f -exec stat -c '%n %i' {} + -exec "
                             "sha256sum {} + | sort";
    const std::string before = shell(look);
    const std::string said = shell(concat(binary(), " gc --dry-run 2>&1"));
    CHECK_THAT(said, Contains("dead") && Contains("foreign") && !Contains("alive"));
    CHECK_THAT(said, Names("leases.sqlite", "dry run"));
    CHECK(shell(look) == before);
    shell("cd ${RDMANET_STATE_DIR:-/run/rdmanet} && mv /tmp/rdmanet-leases leases.sqlite");
    CHECK(some.finish() == "");
}

} // namespace rdmanet::test
