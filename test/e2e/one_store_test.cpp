// A range has one store: what an ADD does when another one has given addresses of it, or is about to.
#include "attachment_stage.hpp"
#include "cluster_machine.hpp"
#include "cluster_stage.hpp"

#include "support/concat.hpp"
#include "support/lease_lines.hpp"
#include "support/names.hpp"
#include "support/patience.hpp"
#include "support/process.hpp"
#include "support/reporter.hpp"
#include "support/tcp_proxy.hpp"

#include <catch2/catch.hpp>

#include <chrono>
#include <cstdint>
#include <fstream>
#include <future>
#include <string>
#include <thread>
#include <vector>

namespace rdmanet::test {
namespace {

using namespace std::chrono_literals;

/// Another pod's attachment, with these keys of `ipam` in the node's own store.
PluginCall on_node(const Pod& pod, const std::string& keys) {
    PluginCall call =
        of(call_for(pod, concat("'master':'par0','ipam':{'type':'rdmanet','store':'node',", keys, '}')), "c2");
    call.ifname = "net2";
    return call;
}

/// What ADD and plan say of a network that they must refuse.
std::vector<std::string> refusals(const PluginCall& call) {
    return {refusal(call), run_process({binary(), "plan", "--name", "net"}, {.input = call.config}).err};
}
std::string status(const PluginCall& call) {
    return value(call.with_command("STATUS").run().out, "msg");
}

} // namespace

TEST_CASE("addresses that this node has in the cluster's pool keep their range from the node's own store",
          "[cluster]") {
    NEEDS(cluster_lacks().empty(), cluster_lacks());
    use_cluster_as("rdmanet");
    const std::string space = own_space();
    const ClusterMachine machine(space + "-a", space);
    const Stage stage;
    const PluginCall in_pool =
        machine.call_with("'store':'whereabouts','range':'10.77.1.0/24','cooldown':0", stage.pod);
    const std::string in_space = concat("'network_name':'", space, "','range':");
    add(in_pool);
    for (const char* range : {"'10.77.1.0/24'", "'10.77.0.0/16'", "'10.77.1.0/28'"}) {
        const PluginCall named = on_node(stage.pod, concat(in_space, range, ",'cooldown':0"));
        const auto has_one = Names("has 1 lease of this node in store \"whereabouts\"",
                                   "set \"store\": \"whereabouts\"", "delete the pods of the range on this node");
        for (const std::string& said : refusals(named)) CHECK_THAT(said, has_one);
        CHECK_THAT(status(named), has_one);
    }
    const PluginCall beside = on_node(stage.pod, concat(in_space, "'10.77.2.0/24','cooldown':0"));
    CHECK(addresses(add(beside)) == "10.77.2.1/24");
    CHECK(del(beside) == "");
    CHECK(del(in_pool) == "");
    const PluginCall after = on_node(stage.pod, concat(in_space, "'10.77.1.0/24','cooldown':0"));
    CHECK(addresses(add(after)) == "10.77.1.1/24");
    CHECK(del(after) == "");
    CHECK(stage.node.difference() == "");
}

TEST_CASE("a network that names the node's own store obeys what the cluster has recorded for its range", "[cluster]") {
    NEEDS(cluster_lacks().empty(), cluster_lacks());
    use_cluster_as("rdmanet");
    const std::string space = own_space();
    const ClusterMachine machine(space + "-a", space);
    const Stage stage;
    const PluginCall in_pool =
        machine.call_with("'store':'whereabouts','range':'10.77.3.0/24','cooldown':0", stage.pod);
    PluginCall named = of(in_pool, "c2");
    named.config = replaced(named.config, "whereabouts", "node");
    named.ifname = "net2";
    CHECK(addresses(add(named)) == "10.77.3.1/24"); // nobody has recorded the range
    CHECK(del(named) == "");
    shell("rm -r /run/rdmanet"); // as after a reboot
    add(in_pool);
    CHECK(del(in_pool) == "");
    for (const std::string& said : refusals(named))
        CHECK_THAT(said, Names(concat("AddressRange ", space, "-10.77.3.0-24"), "in store \"whereabouts\"",
                               "the network names \"node\""));
    shell("rm -r /run/rdmanet");
    write_kubeconfig(kNobody);
    CHECK_THAT(refusal(named), Names("code 11", "look whether the cluster has another store for the network's ranges"));
    CHECK(stage.node.difference() == "");
}

TEST_CASE("an address that another store of the cluster gave to a pod of this node is given to nobody else",
          "[cluster]") {
    NEEDS(cluster_lacks().empty(), cluster_lacks());
    use_cluster_as("rdmanet");
    const std::string space = own_space();
    const ClusterMachine machine(space + "-a", space);
    const Stage stage;
    PluginCall in_pool = machine.call_with("'store':'whereabouts','range':'10.77.4.0/24','cooldown':0", stage.pod);
    in_pool.args += ";IP=10.77.4.9";
    CHECK(addresses(add(in_pool)) == "10.77.4.9/24");
    // As if another cluster had the pool: this one has no such range in the space.
    const std::string other = own_space();
    const ClusterMachine there(other + "-a", other);
    PluginCall in_block = of(there.call_with("'store':'blocks','range':'10.77.4.0/24','cooldown':0", stage.pod), "c2");
    in_block.ifname = "net2";
    in_block.args = in_pool.args;
    const auto rename = [](const std::string& from, const std::string& to) {
        shell(concat("sed -i 's/\"", from, "\"/\"", to,
                     "\"/' /run/rdmanet/attachments/*.json /run/rdmanet/shared-ranges"));
    };
    rename(space, other);
    CHECK_THAT(refusal(in_block),
               Names("store \"blocks\" gives 10.77.4.9, which an attachment of this node has from store "
                     "\"whereabouts\"",
                     "range 10.77.4.0/24"));
    CHECK(shell("ls /run/rdmanet/attachments | wc -l") == "1\n");
    rename(other, space);
    CHECK(del(in_pool) == "");
    CHECK(addresses(add(in_block)) == "10.77.4.9/24"); // the other ADD has left nothing there
    CHECK(del(in_block) == "");
    CHECK(stage.node.difference() == "");
}

TEST_CASE("an ADD that cannot note which pools this node uses says so, and claims nothing", "[cluster]") {
    NEEDS(cluster_lacks().empty(), cluster_lacks());
    use_cluster_as("rdmanet");
    const std::string space = own_space();
    const ClusterMachine machine(space + "-a", space);
    const Stage stage;
    const PluginCall call = machine.call_with("'store':'whereabouts','range':'10.77.5.0/24','cooldown':0", stage.pod);
    shell(
        "rm -f /run/rdmanet/shared-ranges && mkdir -p -m 700 /run/rdmanet/shared-ranges"); // as a full disk would, it takes no line
    CHECK_THAT(refusal(call), Names("/run/rdmanet/shared-ranges", "is a directory"));
    CHECK(leases_left("whereabouts", space, "10.77.5.0-24") == "");
    shell("rmdir /run/rdmanet/shared-ranges");
    CHECK(addresses(add(call)) == "10.77.5.1/24");
    CHECK(del(call) == "");
    CHECK(stage.node.difference() == "");
}

TEST_CASE("of two ADDs of one range with different stores, each sees the other", "[cluster]") {
    NEEDS(cluster_lacks().empty(), cluster_lacks());
    const std::string space = own_space();
    const ClusterMachine machine(space + "-a", space);
    const Stage stage;
    const std::string range = "'range':'10.77.6.0/24','cooldown':0";
    const TcpProxy line(static_cast<std::uint16_t>(std::stoul(shell("head -n 1 " + cluster() + "/ports"))));
    write_kubeconfig(kubeconfig(shell(cluster() + "/get --url"), concat("https://127.0.0.1:", line.port())));
    const PluginCall in_pool = machine.call_with(concat("'store':'whereabouts',", range), stage.pod);
    const PluginCall named = on_node(stage.pod, concat("'network_name':'", space, "',", range));

    // The node's own store gives an address after the other ADD has looked there, and before it claims one.
    std::future<ProcessResult> late;
    {
        const StoppedServer silent;
        late = std::async(std::launch::async, [&] { return in_pool.run(); });
        while (line.connections() == 0) std::this_thread::sleep_for(1ms);
        CHECK(addresses(add(named)) == "10.77.6.1/24");
    }
    CHECK_THAT(value(late.get().out, "msg"), Names("range 10.77.6.0/24 has 1 lease in the store of this node"));
    CHECK(leases_left("whereabouts", space, "10.77.6.0-24") == "");
    CHECK(del(named) == "");

    // The record of a claim that is on its way.
    add(in_pool);
    const std::string record = shell("echo -n /run/rdmanet/attachments/*.json");
    shell(concat("jq '.leases = [] | .leaseStore.openClaim = true' ", record, " >/run/changed && mv /run/changed ",
                 record));
    CHECK_THAT(refusal(named),
               Names("code 11", "another ADD takes an address of range 10.77.6.0/24 from store \"whereabouts\""));
    CHECK(rows_of("/run/rdmanet/leases", "lease").empty());
    CHECK(del(in_pool) == "");
    CHECK(addresses(add(named)) == "10.77.6.1/24");
    CHECK(del(named) == "");
    CHECK(leases_left("whereabouts", space, "10.77.6.0-24") == "");
    CHECK(stage.node.difference() == "");
}

TEST_CASE("an attachment whose addresses an earlier version had in etcd ends, and what stays in etcd is said",
          "[ipam]") {
    Stage stage;
    PluginCall call = on_node(stage.pod, "'range':'10.41.13.0/24','cooldown':0");
    CHECK(addresses(add(call)) == "10.41.13.1/24");
    const std::string record = shell("echo -n /run/rdmanet/attachments/*.json");
    const bool is_owed = GENERATE(false, true);
    shell(concat(R"(jq '.leaseStore = {"kind": "etcd", "kubeconfig": "", "pools": [{"space": "", "subnet": )",
                 R"("10.41.13.1/24"}], "etcd": {"endpoints": ["http://127.0.0.1:1"], "prefix": "/rdmanet"}, )",
                 R"("nodeName": "n", "openClaim": true} | .removalUnfinished = )", is_owed ? "true" : "false", "' ",
                 record, " >/run/changed && mv /run/changed ", record, " && rm /run/rdmanet/leases"));
    std::ofstream("/run/rdmanet/shared-ranges") << R"({"store":"etcd","space":"","subnet":"10.41.13.0/24"})" << '\n';
    PluginCall another = of(call, "c3");
    another.ifname = "net3";
    if (!is_owed) CHECK_THAT(refusal(another), Names("has 1 lease of this node in store \"etcd\""));
    call.config =
        replaced(call.config, R"("store":"node")", R"("store":"etcd","etcd":{"endpoints":["http://127.0.0.1:1"]})");
    another.config = call.config;
    CHECK_THAT(refusal(another), Names("code 7", "this version has no store \"etcd\""));
    const auto said = Names("10.41.13.1/24", "no store \"etcd\"");
    SECTION("by DEL") {
        const ProcessResult result = call.with_command("DEL").run();
        CHECK(result.exit_status == 0);
        CHECK_THAT(result.err, said);
        CHECK(call.with_command("DEL").run().err == "");
    }
    SECTION("by GC of the runtime") {
        stage.pod.destroy();
        PluginCall of_network;
        of_network.config = call.config;
        CHECK_THAT(of_network.with_command("GC").run().err, said);
    }
    SECTION("by `rdmanet gc`") {
        stage.pod.destroy();
        CHECK_THAT(run_process({binary(), "gc"}).err, said);
    }
    CHECK(shell("ls /run/rdmanet/attachments") == "");
    shell("rm /run/rdmanet/shared-ranges");
}

} // namespace rdmanet::test
