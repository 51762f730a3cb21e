// Ranges that an AddressRange covers, end to end: two nodes on one machine differ by their state directories and Node
// objects.
#include "attachment_stage.hpp"
#include "cluster_machine.hpp"
#include "cluster_stage.hpp"
#include "silent_server.hpp"

#include "support/concat.hpp"
#include "support/lease_lines.hpp"
#include "support/names.hpp"
#include "support/patience.hpp"
#include "support/process.hpp"
#include "support/reporter.hpp"

#include <catch2/catch.hpp>

#include <fstream>
#include <vector>

namespace rdmanet::test {
namespace {

std::string run_gc() {
    return shell(binary() + " gc 2>&1 || true");
}

/// As if the node had asked the cluster in the first second of the boot which ranges are declared.
void let_two_minutes_pass_for_pools() {
    shell("sed -i '2s/.*/1/' /run/rdmanet/declared-*");
}

/// The call of a pod that requests an address.
PluginCall requesting(PluginCall call, const std::string& address) {
    call.args += ";IP=" + address;
    return call;
}

} // namespace

TEST_CASE("a node takes a block of the AddressRange, and gives the addresses in it without a request",
          "[cluster][blocks]") {
    use_cluster_as("rdmanet");
    const std::string space = own_space();
    const Declared range(space);
    const ClusterMachine machine(space + "-a", space);
    const CheckedStage stage;
    const PluginCall call = machine.call(stage.pod, "10.64.0.0/16");
    CHECK(outcome(call, "STATUS") == "");
    CHECK_THAT(planned(call), Names("keep leases in blocks", "range 10.64.0.0/16", "0 leases"));
    const std::string result = add(call);
    const std::string block = blocks_of(space);
    CHECK_THAT(block, Names("/28 " + machine.name()));
    write_kubeconfig(kNobody); // from here on, any request would fail
    CHECK(check(call, result) == "");
    CHECK(outcome(call, "STATUS") == "");
    std::filesystem::remove(kKubeconfig);
    const PluginCall second = beside(call);
    CHECK(addresses(add(second)) != addresses(result));
    CHECK_THAT(shell(binary() + " state"), Names(addresses(result), space));
    CHECK(del(second) == "");
    CHECK(del(after(call, result)) == "");
    CHECK(del(call) == "");
    CHECK_THAT(shell(binary() + " state"), Names("nothing attached"));
    CHECK(addresses(add(of(call, "c3"))) != ""); // one empty block stays
    CHECK(del(of(call, "c3")) == "");
    CHECK(blocks_of(space) == block);
}

TEST_CASE("two nodes share a range; an empty state directory, an unknown Node, and that of another machine",
          "[cluster][blocks]") {
    use_cluster_as("rdmanet");
    const std::string space = own_space();
    const Declared range(space);
    const ClusterMachine a(space + "-a", space);
    const ClusterMachine b(space + "-b", space);
    const CheckedStage stage;
    const std::string of_a = addresses(add(a.call(stage.pod)));
    PluginCall on_b = beside(b.call(stage.pod));
    on_b.more_environment.push_back("RDMANET_STATE_DIR=/run/rdmanet-b");
    const std::string of_b = addresses(add(on_b));
    CHECK(of_a != of_b);
    CHECK_THAT(blocks_of(space), Names(a.name(), b.name()));
    // The file of the leases is lost, and the journal shows nothing: the pod's address is not given again.
    shell("rm -r /run/rdmanet-b");
    const PluginCall again = beside(on_b, "c3", "net3");
    CHECK_THAT(addresses(add(again)), Names("/16") && !Catch::Contains(of_b));
    CHECK(del(again) == "");
    CHECK(del(on_b) == "");
    CHECK(del(a.call(stage.pod)) == "");
    shell("rm -r /run/rdmanet-b");

    const std::string other = own_space();
    PluginCall unknown = on_b;
    unknown.config = replaced(on_b.config, b.name(), other);
    CHECK_THAT(refusal(unknown), Names(concat("no Node \"", other, '"'), "\"nodeName\""));
    shell(concat(cluster(), "/apply '", node_object(other, "0123456789abcdef0123456789abcdef"), "' /api/v1/nodes"));
    CHECK_THAT(refusal(unknown), Names("0123456789abcdef0123456789abcdef", "/etc/machine-id", "\"nodeName\""));
    shell(concat(cluster(), "/delete /api/v1/nodes/", other, "; rm -r /run/rdmanet-b"));
}

TEST_CASE("a node keeps its blocks when its Node, or a block's object, is deleted and made again",
          "[cluster][blocks]") {
    use_cluster_as("rdmanet");
    const std::string space = own_space();
    const Declared range(space);
    const ClusterMachine machine(space + "-a", space);
    const CheckedStage stage;
    const PluginCall call = machine.call(stage.pod);
    const std::string result = add(call);
    const std::string uid = ".spec.node.uid";
    const std::string before = blocks_as(space, uid);
    const std::string node = concat(cluster(), "/get /api/v1/nodes/", machine.name(), " | jq -j .metadata.uid");
    CHECK(before == shell(node));
    shell(concat(cluster(), "/delete /api/v1/nodes/", machine.name()));
    CHECK_THAT(run_gc(), Names("still held: unconfirmed", concat("no Node \"", machine.name(), '"')));
    CHECK(blocks_as(space, uid) == before);
    shell(concat(cluster(), "/apply '", node_object(machine.name()), "' /api/v1/nodes"));
    CHECK_THAT(run_gc(), Names("nothing to remove"));
    CHECK(blocks_as(space, uid) == shell(node));
    CHECK(check(call, result) == "");
    // An ADD asks, too, when the last confirmation is older than two minutes.
    delete_block(block_path(space));
    for (int minute = 0; minute < 3; ++minute) (void)let_a_minute_pass_for_blocks("/run/rdmanet/blocks");
    CHECK(comes_true([&] { // if the server answers within a second
        const ProcessResult asked = beside(call).run();
        CHECK_THAT(addresses(asked.out), Names("/16"));
        CHECK(del(beside(call)) == "");
        return asked.err.find("is created again") != std::string::npos;
    }));
    CHECK_THAT(blocks_of(space), Names("/28 " + machine.name()));
    CHECK(del(call) == "");
}

TEST_CASE("gc takes the blocks of a lost lease file when no network namespace has their addresses",
          "[cluster][blocks]") {
    use_cluster_as("rdmanet");
    const std::string space = own_space();
    const Declared range(space);
    const ClusterMachine machine(space + "-a", space);
    const CheckedStage stage;
    const PluginCall call = machine.call(stage.pod);
    const std::string first = addresses(add(call));
    shell("rm -r /run/rdmanet/*");
    const PluginCall second = beside(call);
    CHECK(addresses(add(second)) != first);
    if (is_initial_pid_namespace()) {
        CHECK_THAT(run_gc(), Names("left alone", "network namespace ", first.substr(0, first.find('/'))));
    } else {
        CHECK_THAT(run_gc(), Names("left alone", "is not in the node's PID namespace"));
    }
    CHECK(del(call) == ""); // by the MAC of its interface
    if (is_initial_pid_namespace()) {
        CHECK_THAT(run_gc(), !Catch::Contains("left alone"));
        CHECK_THAT(blocks_of(space), Names("/28 ") && !Catch::Contains(","));
    }
    CHECK(del(second) == "");
}

TEST_CASE("a server that did not answer one DEL does not keep the next one", "[cluster][blocks]") {
    NEEDS(cluster_lacks().empty(), cluster_lacks());
    const std::string good = read_file(cluster() + "/rdmanet.kubeconfig");
    write_kubeconfig(good);
    const std::string space = own_space();
    const Declared range(space, "10.64.0.0/16", "'requestable':'10.64.255.0/24'");
    const ClusterMachine machine(space + "-a", space);
    const CheckedStage stage;
    std::vector<PluginCall> calls;
    for (const char* number : {"1", "2", "3"}) {
        // A server counts as silent after two seconds.
        const PluginCall call = requesting(impatient(machine.call(stage.pod), 3000), concat("10.64.255.", number));
        calls.push_back(beside(call, concat("c", number), concat("net", number)));
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
}

TEST_CASE(
    "an AddressRange that is applied while pods run moves new pods to blocks, and deleted again, back to the pool",
    "[cluster][blocks]") {
    use_cluster_as("rdmanet");
    const std::string space = own_space();
    const ClusterMachine machine(space + "-a", space);
    const CheckedStage stage;
    const std::string pool = space + "-10.64.8.0-28";
    const auto mark = [&] {
        return shell(concat(cluster(), "/get ippools/", pool,
                            R"( | jq -j '.metadata.annotations["rdmanet.cni/address-range"] // ""')"));
    };
    const PluginCall in_pool = machine.call(stage.pod, "10.64.8.0/28");
    CHECK_THAT(planned(in_pool), Names("keep leases in whereabouts' pools", "10.64.8.0/28"));
    const std::string of_pool = add(in_pool);
    CHECK(addresses(of_pool) == "10.64.8.1/28");

    const Declared range(space, "10.64.8.0/28", "'blockSize':4");
    const auto uid = [&] {
        return shell(concat(cluster(), "/get ", kRanges, "/", range.name(), " | jq -j .metadata.uid"));
    };
    let_two_minutes_pass_for_pools();
    const PluginCall in_block = beside(in_pool);
    const std::string of_block = add(in_block);
    CHECK_THAT(addresses(of_block), Names("/28") && !Catch::Contains("10.64.8.1/"));
    CHECK_THAT(blocks_of(space), Names("/30 " + machine.name()));
    CHECK(mark() == uid());
    CHECK(check(in_pool, of_pool) == "");
    CHECK(check(in_block, of_block) == "");
    CHECK(del(in_pool) == "");
    CHECK(pool_records(pool) == kHasNoRecord);

    range.remove();
    CHECK_THAT(run_gc(), Names("nothing to remove"));
    const PluginCall next = beside(in_pool, "c3", "net3");
    for (const std::string& said : {refusal(next), planned(next)})
        CHECK_THAT(said, Names("range 10.64.8.0/28", "1 block", machine.name(), "apply that range again"));
    range.apply();
    let_two_minutes_pass_for_pools();
    const std::string of_next = addresses(add(next));
    CHECK_THAT(of_next, Names("/28"));
    CHECK(of_next != addresses(of_block));
    CHECK(blocks_as(space, ".spec.rangeUID") == uid()); // the same block
    CHECK(del(next) == "");

    range.remove();
    CHECK_THAT(run_gc(), Names("nothing to remove"));
    CHECK(check(in_block, of_block) == "");
    CHECK(del(in_block) == "");
    CHECK(blocks_of(space) == "");
    CHECK(addresses(add(in_pool)) == "10.64.8.1/28");
    CHECK(mark() == "");
    CHECK(del(in_pool) == "");
}

TEST_CASE("a block of an earlier boot goes back with the first gc", "[cluster][blocks]") {
    use_cluster_as("rdmanet");
    const std::string space = own_space();
    const Declared range(space);
    const ClusterMachine machine(space + "-a", space);
    const CheckedStage stage;
    const PluginCall call = machine.call(stage.pod);
    (void)add(call);
    CHECK(del(call) == "");
    merge_patch(block_path(space), R"({"spec":{"bootID":"earlier"}})");
    shell("rm -r /run/rdmanet && mkdir -p /etc/cni/net.d/rdmanet.d");
    std::ofstream("/etc/cni/net.d/rdmanet.d/rdmanet.conf")
        << R"({"kubernetes":{"kubeconfig":")" << kKubeconfig << R"("},"nodeName":")" << machine.name() << "\"}";
    shell(binary() + " gc");
    shell("rm -r /etc/cni/net.d/rdmanet.d");
    if (is_initial_pid_namespace()) CHECK(blocks_of(space) == ""); // else nobody sees whether a pod has its addresses
    CHECK_THAT(addresses(add(call)), Names("/16"));
    CHECK(del(call) == "");
}

TEST_CASE("the log, CHECK, STATUS and check name the pods of a block that another node has got", "[cluster][blocks]") {
    use_cluster_as("rdmanet");
    const std::string space = own_space();
    const Declared range(space);
    const ClusterMachine machine(space + "-a", space);
    const CheckedStage stage;
    const PluginCall call = machine.call(stage.pod);
    const std::string result = add(call);
    const std::string path = block_path(space);
    merge_patch(path, R"({"spec":{"machineID":"other","node":{"name":"rival","uid":"u"}}})");
    CHECK_THAT(run_gc(), Names("error", "\"rival\"", "/28"));
    CHECK_THAT(check(call, result), Names("\"rival\"", addresses(result)));
    CHECK_THAT(shell(binary() + " check 2>&1 || true"), Names("shop/till", "\"rival\"", addresses(result)));
    CHECK_THAT(call.with_command("STATUS").run().err, Names("\"rival\"", "/28"));
    CHECK(del(call) == "");
    CHECK_THAT(shell(concat(cluster(), "/get ", path, " | jq -r .spec.node.name")), Names("rival"));
}

} // namespace rdmanet::test
