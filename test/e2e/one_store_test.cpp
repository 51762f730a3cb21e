// A range has one store: what an ADD does when another one has given addresses of it, or is about to.
#include "attachment_stage.hpp"
#include "cluster_machine.hpp"
#include "cluster_stage.hpp"
#include "etcd_stage.hpp"

#include "support/concat.hpp"
#include "support/names.hpp"
#include "support/patience.hpp"
#include "support/process.hpp"
#include "support/reporter.hpp"

#include <catch2/catch.hpp>

#include <chrono>
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
          "[cluster][etcd]") {
    NEEDS(cluster_lacks().empty(), cluster_lacks());
    use_cluster_as("rdmanet");
    const std::string space = own_space();
    const ClusterMachine machine(space + "-a", space);
    const Stage stage;
    PluginCall in_pool = machine.call_with("'store':'whereabouts','range':'10.77.4.0/24','cooldown':0", stage.pod);
    in_pool.args += ";IP=10.77.4.9";
    CHECK(addresses(add(in_pool)) == "10.77.4.9/24");
    // Neither network names the other's server. The API server's own etcd serves here.
    const std::string servers =
        etcd_servers(concat("/rdmanet/", space),
                     concat("http://127.0.0.1:", shell(concat("sed -n 2p ", cluster(), "/ports | tr -d '\\n'"))));
    PluginCall in_etcd =
        of(call_for(stage.pod, concat("'master':'par0','ipam':{'type':'rdmanet','store':'etcd','range':",
                                      "'10.77.4.0/24','network_name':'", space, "',", servers, '}')),
           "c2");
    in_etcd.ifname = "net2";
    in_etcd.args = in_pool.args;
    CHECK_THAT(refusal(in_etcd),
               Names("store \"etcd\" gives 10.77.4.9, which an attachment of this node has from store "
                     "\"whereabouts\"",
                     "range 10.77.4.0/24"));
    CHECK(shell("ls /run/rdmanet/attachments | wc -l") == "1\n");
    CHECK(del(in_pool) == "");
    CHECK(addresses(add(in_etcd)) == "10.77.4.9/24"); // the other ADD has left nothing there
    CHECK(del(in_etcd) == "");
    CHECK(stage.node.difference() == "");
}

TEST_CASE("addresses that this node has in etcd keep their range from the node's own store", "[etcd]") {
    NEEDS(etcd_lacks().empty(), etcd_lacks());
    const std::string prefix = "/rdmanet/e2e-one-store";
    const Stage stage;
    const std::string range = "'range':'10.41.10.0/24','cooldown':0";
    const PluginCall in_etcd = etcd_call(stage.pod, prefix, range);
    const PluginCall named = on_node(stage.pod, range);
    add(in_etcd);
    CHECK_THAT(status(named), Names("range 10.41.10.0/24 has 1 lease"));
    for (const std::string& said : refusals(named))
        CHECK_THAT(said, Names("range 10.41.10.0/24 has 1 lease of this node in store \"etcd\""));
    for (const std::string& said :
         refusals(on_node(stage.pod, concat(range, ',', etcd_servers(prefix, etcd_endpoint())))))
        CHECK_THAT(said, Names("etcd of the cluster has range 10.41.10.0/24 in store \"etcd\""));
    shell("rm /run/rdmanet/shared-ranges"); // the node cannot know it, but etcd does
    for (const std::string& said :
         refusals(on_node(stage.pod, concat(range, ',', etcd_servers(prefix, etcd_endpoint())))))
        CHECK_THAT(said, Names("etcd of the cluster has range 10.41.10.0/24 in store \"etcd\""));
    CHECK(del(in_etcd) == "");
    CHECK(addresses(add(named)) == "10.41.10.1/24");
    CHECK(del(named) == "");
    CHECK(stage.node.difference() == "");
}

TEST_CASE("an ADD that cannot note which pools this node uses says so, and claims nothing", "[etcd]") {
    NEEDS(etcd_lacks().empty(), etcd_lacks());
    const std::string prefix = "/rdmanet/e2e-cannot-note";
    const Stage stage;
    const PluginCall call = etcd_call(stage.pod, prefix, "'range':'10.41.12.0/24'");
    shell("mkdir -p -m 700 /run/rdmanet/shared-ranges"); // as a full disk would, it takes no line
    CHECK_THAT(refusal(call), Names("/run/rdmanet/shared-ranges", "is a directory"));
    CHECK(etcd_keys(prefix) == "");
    shell("rmdir /run/rdmanet/shared-ranges");
    CHECK(addresses(add(call)) != "");
    CHECK(del(call) == "");
    CHECK(stage.node.difference() == "");
}

TEST_CASE("of two ADDs of one range with different stores, each sees the other", "[etcd]") {
    NEEDS(etcd_lacks().empty(), etcd_lacks());
    const std::string prefix = "/rdmanet/e2e-two-stores";
    const Stage stage;
    const std::string range = "'range':'10.41.11.0/24','cooldown':0";
    const EtcdLine line;
    const PluginCall in_etcd = etcd_call(stage.pod, prefix, range, line.url());
    const PluginCall named = on_node(stage.pod, range);

    // The node's own store gives an address after the other ADD has looked there, and before it claims one.
    std::future<ProcessResult> late;
    {
        const StoppedEtcd silent;
        late = std::async(std::launch::async, [&] { return in_etcd.run(); });
        while (line.connections() == 0) std::this_thread::sleep_for(1ms);
        CHECK(addresses(add(named)) == "10.41.11.1/24");
    }
    CHECK_THAT(value(late.get().out, "msg"), Names("range 10.41.11.0/24 has 1 lease in the store of this node"));
    CHECK(etcd_keys(prefix) == "");
    CHECK(del(named) == "");
    CHECK(records_left() == "");

    // The record of a claim that is on its way.
    add(in_etcd);
    const std::string record = shell("echo -n /run/rdmanet/attachments/*.json");
    shell(concat("jq '.leases = [] | .leaseStore.openClaim = true' ", record, " >/run/changed && mv /run/changed ",
                 record));
    CHECK_THAT(refusal(named),
               Names("code 11", "another ADD takes an address of range 10.41.11.0/24 from store \"etcd\""));
    CHECK(shell("sqlite3 /run/rdmanet/leases.sqlite 'SELECT count(*) FROM leases'") == "0\n");
    CHECK(del(in_etcd) == "");
    CHECK(addresses(add(named)) == "10.41.11.1/24");
    CHECK(del(named) == "");
    CHECK(etcd_keys(prefix) == "");
    CHECK(stage.node.difference() == "");
}

} // namespace rdmanet::test
