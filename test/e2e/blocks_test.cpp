// The store "blocks" end to end: two nodes on one machine, which differ by their state directories and Node objects.
#include "attachment_stage.hpp"
#include "cluster_machine.hpp"
#include "cluster_stage.hpp"
#include "silent_server.hpp"

#include "support/lease_lines.hpp"
#include "support/names.hpp"
#include "support/process.hpp"
#include "support/reporter.hpp"

#include <catch2/catch.hpp>

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <vector>

namespace rdmanet::test {
TEST_CASE("a node takes a block of the cluster, and gives the addresses in it without a request", "[cluster][blocks]") {
    NEEDS(cluster_lacks().empty(), cluster_lacks());
    use_cluster_as("rdmanet");
    const std::string space = own_space();
    const ClusterMachine machine(space + "-a", space);
    const Stage stage;
    const PluginCall call = machine.call(stage.pod);
    CHECK(outcome(call, "STATUS") == "");
    CHECK_THAT(run_process({binary(), "plan", "--name", "net"}, {.input = call.config}).out,
               Names("store \"blocks\"", "range 10.64.0.0/16", "0 leases"));
    const std::string result = add(call);
    const std::string block = blocks_of(space);
    CHECK_THAT(block, Names("/28 " + space + "-a"));
    write_kubeconfig(kNobody); // from here on, any request would fail
    CHECK(check(call, result) == "");
    CHECK(outcome(call, "STATUS") == "");
    PluginCall second = of(call, "c2");
    second.ifname = "net2";
    CHECK(addresses(add(second)) != addresses(result));
    CHECK_THAT(shell(binary() + " state"), Names(addresses(result), space));
    CHECK(del(second) == "");
    CHECK(del(after(call, result)) == "");
    CHECK(del(call) == "");
    CHECK_THAT(shell(binary() + " state"), Names("nothing attached"));
    CHECK(addresses(add(of(call, "c3"))) != ""); // one empty block stays
    CHECK(del(of(call, "c3")) == "");
    CHECK(blocks_of(space) == block);
    CHECK(stage.node.difference() == "");
}

TEST_CASE("a network that names no store uses the one that the cluster has for its range", "[cluster][blocks]") {
    NEEDS(cluster_lacks().empty(), cluster_lacks());
    use_cluster_as("rdmanet");
    const std::string space = own_space();
    const ClusterMachine machine(space + "-a", space);
    const Stage stage;
    int count = 0;
    const auto call = [&](const std::string& keys) {
        PluginCall next = of(machine.call_with(keys, stage.pod), "c" + std::to_string(++count));
        next.ifname = "net" + std::to_string(count);
        return next;
    };
    const auto plan = [&](const PluginCall& of_network) {
        return run_process({binary(), "plan", "--name", "net"}, {.input = of_network.config}).out;
    };
    const std::string small = "'range':'10.64.7.0/24'";
    const std::string large = "'range':'10.72.0.0/16'";
    const PluginCall first_of_small = call(small + ",'store':'blocks'");
    const PluginCall first_of_large = call(large + ",'store':'whereabouts'");
    const PluginCall by_record = call(small);
    const PluginCall large_by_record = call(large);
    CHECK_THAT(plan(first_of_small), Names("store \"blocks\", chosen by \"store\" of the network"));
    CHECK_THAT(plan(by_record), Names("store \"whereabouts\", chosen by size", "10.64.7.0/24"));
    CHECK_THAT(plan(large_by_record), Names("store \"blocks\", chosen by size", "10.72.0.0/16"));
    (void)add(first_of_large);
    CHECK(outcome(by_record, "STATUS") == ""); // from now on the node believes in the size, until the store refuses
    (void)add(first_of_small);
    const std::string recorded_by = " by node " + space + "-a";
    CHECK_THAT(plan(by_record),
               Names("store \"blocks\", recorded in AddressRange " + space + "-10.64.7.0-24" + recorded_by));
    CHECK_THAT(plan(large_by_record),
               Names("store \"whereabouts\", recorded in AddressRange " + space + "-10.72.0.0-16" + recorded_by));
    const std::string result = add(by_record);
    CHECK(blocks_of(space).find(',') == std::string::npos);
    CHECK(check(by_record, result) == "");
    CHECK(outcome(by_record, "STATUS") == "");
    const PluginCall after_others = call(large);
    CHECK(addresses(add(large_by_record)) == "10.72.0.2/16");
    CHECK(addresses(add(after_others)) == "10.72.0.3/16");
    CHECK_THAT(refusal(call(small + ",'ipRanges':[{" + large + "}]")),
               Names("10.64.7.0/24 in store \"blocks\"", "10.72.0.0/16 in store \"whereabouts\""));
    CHECK_THAT(refusal(call(small + ",'store':'whereabouts'")), Names("10.64.7.0/24", "\"store\": \"blocks\""));
    write_kubeconfig(kNobody); // the node knows the store and has a block: a request would fail
    const PluginCall without_server = call(small);
    CHECK(addresses(add(without_server)) != addresses(result));
    CHECK(del(without_server) == "");
    use_cluster_as("rdmanet");
    for (const PluginCall& each : {first_of_small, first_of_large, by_record, large_by_record, after_others})
        CHECK(del(each) == "");
    CHECK_THAT(shell(binary() + " state"), Names("nothing attached"));
    CHECK(stage.node.difference() == "");
}

TEST_CASE("two nodes share a range; a restart, an empty state directory and an unknown node", "[cluster][blocks]") {
    NEEDS(cluster_lacks().empty(), cluster_lacks());
    use_cluster_as("rdmanet");
    const std::string space = own_space();
    const ClusterMachine a(space + "-a", space);
    const ClusterMachine b(space + "-b", space);
    const Stage stage;
    const std::string of_a = addresses(add(a.call(stage.pod)));
    PluginCall on_b = of(b.call(stage.pod), "c2");
    on_b.ifname = "net2";
    on_b.more_environment.push_back("RDMANET_STATE_DIR=/run/rdmanet-b");
    const std::string of_b = addresses(add(on_b));
    CHECK(of_a != of_b);
    const std::string both = blocks_of(space);
    CHECK_THAT(both, Names(space + "-a", space + "-b"));
    CHECK(del(on_b) == "");
    CHECK(del(a.call(stage.pod)) == "");
    // The file of the leases is lost, and the journal shows nothing: the block is left alone.
    shell("rm -r /run/rdmanet-b");
    const std::string again = addresses(add(on_b));
    CHECK(again != of_b);
    CHECK(std::count(both.begin(), both.end(), ',') + 1 == [&] {
        const std::string now = blocks_of(space);
        return std::count(now.begin(), now.end(), ',');
    }());
    CHECK(del(on_b) == "");
    shell("rm -r /run/rdmanet-b");
    PluginCall unknown = of(call_for(stage.pod, "'master':'par0','ipam':{'type':'rdmanet','store':'blocks',"
                                                "'network_name':'" +
                                                    own_space() +
                                                    "','range':'10.64.0.0/16','nodeName':'nobody','kubernetes':"
                                                    "{'kubeconfig':'" +
                                                    kKubeconfig + "'}}"),
                            "c4");
    CHECK_THAT(refusal(unknown), Names("\"nobody\"", "\"nodeName\""));
    CHECK(stage.node.difference() == "");
}

TEST_CASE("gc takes the blocks of a lost lease file when no network namespace has their addresses",
          "[cluster][blocks]") {
    NEEDS(cluster_lacks().empty(), cluster_lacks());
    use_cluster_as("rdmanet");
    const std::string space = own_space();
    const ClusterMachine machine(space + "-a", space);
    const Stage stage;
    const PluginCall call = machine.call(stage.pod);
    const std::string first = addresses(add(call));
    const auto gc = [] { return shell(binary() + " gc 2>&1"); };
    shell("rm -r /run/rdmanet/*");
    PluginCall second = of(call, "c2");
    second.ifname = "net2";
    CHECK(addresses(add(second)) != first);
    CHECK_THAT(gc(), Names(" of this node may have", "run `rdmanet gc` again in two minutes"));
    shell("sed -i '2s/.*/0/' /run/rdmanet/cluster-left-*"); // as if they had passed
    if (is_initial_pid_namespace()) {
        CHECK_THAT(gc(), Names("left alone", "network namespace ", first.substr(0, first.find('/'))));
    } else {
        CHECK_THAT(gc(), Names("left alone", "is not in the node's PID namespace"));
    }
    CHECK(del(call) == ""); // by the MAC of its interface
    if (is_initial_pid_namespace()) {
        CHECK_THAT(gc(), !Catch::Contains("left alone"));
        CHECK(rows_of("/run/rdmanet/blocks", "block").size() == 2);
    }
    CHECK(del(second) == "");
    CHECK(stage.node.difference() == "");
}

TEST_CASE("a requested address is a block of its own until DEL, also when the server is away then",
          "[cluster][blocks]") {
    NEEDS(cluster_lacks().empty(), cluster_lacks());
    use_cluster_as("rdmanet");
    const std::string space = own_space();
    const ClusterMachine machine(space + "-a", space);
    const Stage stage;
    PluginCall call = machine.call(stage.pod, ",'requestable':'10.64.255.0/24'");
    call.args += ";IP=10.64.255.7";
    CHECK(addresses(add(call)) == "10.64.255.7/16");
    CHECK(blocks_of(space) == "10.64.255.7/32 " + space + "-a");
    CHECK(del(call) == "");
    CHECK(blocks_of(space) == "");
    CHECK(addresses(add(call)) == "10.64.255.7/16");
    write_kubeconfig(kNobody);
    CHECK(del(call) == "");
    CHECK(blocks_of(space) == "10.64.255.7/32 " + space + "-a");
    CHECK(run_process({binary(), "gc"}, {}).exit_status == 1);
    use_cluster_as("rdmanet");
    shell(binary() + " gc");
    CHECK(blocks_of(space) == "");
    CHECK(stage.node.difference() == "");
}

TEST_CASE("a server that did not answer one DEL does not keep the next one", "[cluster][blocks]") {
    NEEDS(cluster_lacks().empty(), cluster_lacks());
    const std::string good = read_file(cluster() + "/rdmanet.kubeconfig");
    write_kubeconfig(good);
    const std::string space = own_space();
    const ClusterMachine machine(space + "-a", space);
    const Stage stage;
    std::vector<PluginCall> calls;
    for (const char* number : {"1", "2", "3"}) {
        // A server counts as silent after two seconds.
        calls.push_back(
            of(impatient(machine.call(stage.pod, ",'requestable':'10.64.255.0/24'"), 3000), std::string("c") + number));
        calls.back().ifname = std::string("net") + number;
        calls.back().args += std::string(";IP=10.64.255.") + number;
        (void)add_in_time(calls.back());
    }
    const SilentServer server;
    write_kubeconfig(replaced(kNobody, "http://127.0.0.1:1", server.url()));
    CHECK(del(calls[0]) == "");
    CHECK(server.connections() == 1);
    CHECK(del(calls[1]) == "");
    CHECK(server.connections() == 0); // the block goes back later, as that of the first
    CHECK(run_process({binary(), "gc"}, {}).exit_status == 1);
    CHECK(server.connections() == 1); // a person wants to know
    write_kubeconfig(good);
    shell(binary() + " gc");
    CHECK_THAT(blocks_of(space), Names("10.64.255.3/32") && !Catch::Contains(","));
    CHECK(del(calls[2]) == "");
    shell(binary() + " gc");
    CHECK(blocks_of(space) == "");
    CHECK(stage.node.difference() == "");
}

TEST_CASE("gc finds blocks of an earlier boot, and a range that somebody deletes goes with them", "[cluster][blocks]") {
    NEEDS(cluster_lacks().empty(), cluster_lacks());
    use_cluster_as("rdmanet");
    const std::string space = own_space();
    const ClusterMachine machine(space + "-a", space);
    const Stage stage;
    const PluginCall call = machine.call(stage.pod);
    (void)add(call);
    CHECK(del(call) == "");
    shell(binary() + " gc");
    std::string block = blocks_of(space); // an empty one is kept
    CHECK_THAT(block, Names("/28 "));
    const std::string range = "/apis/rdmanet.cni/v1alpha1/addressranges/" + space + "-10.64.0.0-16";
    const auto has_range = [&] { return shell(cluster() + "/get " + range).find("NotFound") == std::string::npos; };
    // As after a reboot: /run is empty, and the block names another boot.
    block = replaced(block.substr(0, block.find(' ')), "/", "-");
    shell(". " + cluster() +
          R"(/lib && api --fail-with-body -X PATCH -H 'Content-Type: application/merge-patch+json' )" +
          R"(--data '{"spec":{"bootID":"earlier"}}' "$url)" + kBlocks + "/" + space + "-" + block + "\"");
    shell("rm -r /run/rdmanet && mkdir -p /etc/cni/net.d/rdmanet.d");
    shell(cluster() + "/delete " + range);
    CHECK(has_range());
    CHECK_THAT(refusal(call), Names("somebody has deleted AddressRange " + space, "`rdmanet gc` on each node"));
    shell("rm -r /run/rdmanet");
    std::ofstream("/etc/cni/net.d/rdmanet.d/rdmanet.conf")
        << R"({"kubernetes":{"kubeconfig":")" << kKubeconfig << R"("},"nodeName":")" << space << "-a\"}";
    shell(binary() + " gc");
    shell("rm -r /etc/cni/net.d/rdmanet.d");
    CHECK(blocks_of(space) == "");
    CHECK(!has_range());
    CHECK_THAT(addresses(add(call)), Names("/16")); // the range is recorded again
    CHECK(del(call) == "");
    CHECK(stage.node.difference() == "");
}

TEST_CASE("an ADD that inherits an address and finds another range full gives the address back", "[cluster][blocks]") {
    NEEDS(cluster_lacks().empty(), cluster_lacks());
    use_cluster_as("rdmanet");
    const std::string space = own_space();
    const ClusterMachine machine(space + "-a", space);
    const Stage stage;
    const std::string both = ",'ipRanges':[{'range':'10.66.0.0/30','range_start':'10.66.0.2','range_end':'10.66.0.2'}]";
    PluginCall other = of(machine.call(stage.pod, both), "other");
    other.ifname = "net9";
    other.args = "IgnoreUnknown=1;K8S_POD_NAMESPACE=shop;K8S_POD_NAME=other;K8S_POD_UID=uid-9";
    CHECK_THAT(addresses(add(other)), Names("10.66.0.2/30"));
    auto old = std::make_unique<Pod>("old");
    add(of(machine.call(*old), "before"));
    old.reset();
    const PluginCall heir = of(machine.call(stage.pod, both), "heir");
    CHECK_THAT(refusal(heir), Names("10.66.0.0/30"));
    CHECK(shell(binary() + " state").find("heir") == std::string::npos);
    CHECK(del(heir) == "");
    CHECK(del(of(heir, "before")) == "");
    CHECK(del(other) == "");
    CHECK(stage.node.difference() == "");
}

TEST_CASE("CHECK and STATUS name the node that has got a block of this node", "[cluster][blocks]") {
    NEEDS(cluster_lacks().empty(), cluster_lacks());
    use_cluster_as("rdmanet");
    const std::string space = own_space();
    const Stage stage;
    auto machine = std::make_unique<ClusterMachine>(space + "-a", space);
    const std::string more = ",'requestable':'10.64.255.0/24'";
    const PluginCall call = machine->call(stage.pod, more);
    const std::string result = add(call);
    const std::string path = std::string(kBlocks) + "/" +
                             shell(cluster() + "/get " + kBlocks +
                                   " | jq --join-output '.items[].metadata.name | select("
                                   "startswith(\"" +
                                   space + "-10\"))'");
    shell(". " + cluster() +
          "/lib; api --fail -X PATCH -H 'Content-Type: application/merge-patch+json' --data-binary '" +
          R"({"spec":{"leaseFile":"other","node":{"name":"rival"}}}' "$url)" + path + '"');
    machine.reset();
    machine = std::make_unique<ClusterMachine>(space + "-a", space); // its UID is another one: it asks about its blocks
    PluginCall second = of(machine->call(stage.pod, more), "c2");
    second.ifname = "net2";
    second.args += ";IP=10.64.255.7";
    const ProcessResult asked = second.run();
    CHECK(asked.exit_status == 0);
    CHECK_THAT(asked.err, Names("error", "\"rival\"", "/28"));
    CHECK_THAT(check(call, result), Names("\"rival\"", addresses(result)));
    PluginCall status = call;
    status.command = "STATUS";
    CHECK_THAT(status.run().err, Names("\"rival\""));
    CHECK(del(second) == "");
    CHECK(del(call) == "");
    CHECK_THAT(shell(cluster() + "/get " + path + " | jq -r .spec.node.name"), Names("rival"));
    CHECK(stage.node.difference() == "");
}

TEST_CASE("two networks of one range with different stores: the first decides, the other is refused",
          "[cluster][blocks]") {
    NEEDS(cluster_lacks().empty(), cluster_lacks());
    use_cluster_as("rdmanet");
    const std::string space = own_space();
    const ClusterMachine machine(space + "-a", space);
    const Stage stage;
    PluginCall in_pool = of(machine.call(stage.pod), "c2");
    in_pool.config = replaced(in_pool.config, "blocks", "whereabouts");
    in_pool.ifname = "net2";
    CHECK(addresses(add(machine.call(stage.pod))) != "");
    const std::string object = "AddressRange " + space + "-10.64.0.0-16";
    CHECK_THAT(refusal(in_pool), Names("1 lease in blocks of the cluster")); // this node knows without asking
    CHECK(del(machine.call(stage.pod)) == "");
    CHECK_THAT(refusal(in_pool), Names("\"store\" whereabouts", object, "has blocks"));
    const std::string other = own_space();
    const ClusterMachine again(other + "-a", other);
    in_pool.config = replaced(in_pool.config, space, other);
    CHECK(addresses(add(in_pool)) == "10.64.0.1/16");
    CHECK_THAT(refusal(again.call(stage.pod)), Names("\"store\" blocks", "AddressRange " + other, "has whereabouts"));
    CHECK(del(in_pool) == "");
    CHECK_THAT(refusal(again.call(stage.pod)), Names("AddressRange " + other, "has whereabouts"));
    CHECK(blocks_of(other) == "");
    CHECK(stage.node.difference() == "");
}

TEST_CASE("a node with no block and no server says what it tried, and leaves nothing", "[blocks]") {
    NEEDS(kernel_has("macvlan"), "macvlan");
    write_kubeconfig(kNobody);
    const Stage stage;
    const PluginCall call = call_for(stage.pod, std::string("'master':'par0','ipam':{'type':'rdmanet','range':"
                                                            "'10.64.0.0/16','kubernetes':{'kubeconfig':'") +
                                                    kKubeconfig + "'}}");
    CHECK_THAT(refusal(call), Names("code 11", "http://127.0.0.1:1", "connection refused"));
    CHECK(del(call) == "");
    CHECK(stage.node.difference() == "");
}

} // namespace rdmanet::test
