// `rdmanet ipam check --repair`: what the stores lack of the addresses of living pods.
#include "attachment_stage.hpp"
#include "cluster_calls.hpp"
#include "cluster_machine.hpp"
#include "cluster_stage.hpp"

#include "support/concat.hpp"
#include "support/lease_lines.hpp"
#include "support/names.hpp"
#include "support/process.hpp"

#include <catch2/catch.hpp>

#include <fstream>

namespace rdmanet::test {
namespace {

ProcessResult repair(const std::string& more = "") {
    return run_process({"sh", "-c", concat("exec ", binary(), " ipam check --repair --pause 0 ", more)});
}

/// Only the ranges of this call's network, and as a user who may look at all of the cluster.
std::string of_network(const PluginCall& call) {
    std::ofstream("/run/repair.json") << call.config;
    return concat("--network /run/repair.json --kubeconfig ", cluster(), "/admin.kubeconfig");
}

void remove(const std::string& object) {
    shell(concat(cluster(), "/delete ", object, " >/dev/null"));
}

} // namespace

TEST_CASE("ipam check --repair: pools, records and reservations of living pods come back", "[cluster]") {
    const ClusterStage stage;
    const PluginCall call = call_in_cluster(stage.pod, "10.75.1.0/24");
    const std::string result = add(call);
    CHECK(addresses(result) == "10.75.1.1/24");
    const std::string before = pool_records("10.75.1.0-24");
    const std::string places = of_network(call);
    // No API server knows this pod, so the check calls its lease stale.
    CHECK_THAT(repair(places).out, Names("1 lease, ", "0 missing", "1 stale") && !Catch::Contains("made again"));

    remove("ippools/10.75.1.0-24");
    remove("overlappingrangeipreservations/10.75.1.1");
    CHECK_THAT(check(call, result), Names("10.75.1.1/24"));
    CHECK_THAT(repair(places).out,
               Names("made again: 10.75.1.1/24 of ", "shop/till", "its record in IPPool 10.75.1.0-24, ",
                     "OverlappingRangeIPReservation 10.75.1.1", "0 missing", "0 different") &&
                   !Catch::Contains("not repaired"));
    CHECK(check(call, result) == "");
    CHECK(pool_records("10.75.1.0-24") == before);
    CHECK(value(repair(places + " --json").out, "repaired") == "[]");

    // Somebody else has the address by now, and keeps it.
    remove("ippools/10.75.1.0-24");
    remove("overlappingrangeipreservations/10.75.1.1");
    shell(concat(cluster(), R"(/apply '{"apiVersion":"whereabouts.cni.cncf.io/v1alpha1","kind":"IPPool",)",
                 R"("metadata":{"name":"10.75.1.0-24"},"spec":{"range":"10.75.1.0/24","allocations":)",
                 R"({"1":{"id":"far","podref":"shop/other","ifname":"net1"}}}}')"));
    const std::string of_other = pool_records("10.75.1.0-24");
    const ProcessResult refused = repair(places);
    CHECK(refused.exit_status == 1);
    CHECK_THAT(refused.out, Names("not repaired: 10.75.1.1/24 of ", "shop/till", "shop/other", "delete the pod"));
    CHECK(pool_records("10.75.1.0-24") == of_other);

    write_kubeconfig(kNobody); // what can't be asked is said, and costs nobody anything
    CHECK_THAT(repair(places).out, Names("not repaired: ", "127.0.0.1:1", "connection refused"));
    use_cluster_as("rdmanet");
    CHECK(del(call) == "");
    CHECK(pool_records("10.75.1.0-24") == of_other);
    CHECK(shell("find /run/rdmanet/attachments -name '*.json'") == "");
    CHECK_THAT(shell(cluster() + "/get overlappingrangeipreservations/10.75.1.1"), Names("NotFound"));
    remove("ippools/10.75.1.0-24");
}

TEST_CASE("ipam check --repair: a block and a lease in it come back", "[cluster][blocks]") {
    use_cluster_as("rdmanet");
    const std::string space = own_space();
    const Declared range(space, "10.75.2.0/24");
    const ClusterMachine machine(space + "-a", space);
    const CheckedStage stage;
    const PluginCall call = machine.call(stage.pod, "10.75.2.0/24");
    const std::string result = add(call);
    const std::string places = of_network(call);
    const std::string path = block_path(space);
    const std::string name = path.substr(path.rfind('/') + 1);
    delete_block(path);
    const ProcessResult made = repair(places);
    CHECK(made.exit_status == 0);
    CHECK_THAT(made.out, Names("made again: ", "AddressBlock " + name, "0 missing"));
    CHECK_THAT(shell(concat(cluster(), "/get ", path)), Names(space, "rdmanet.cni/in-use"));

    forget_leases("/run/rdmanet/blocks");
    CHECK_THAT(check(call, result), Names(addresses(result)));
    CHECK_THAT(repair(places).out, Names("made again: ", "its lease", "0 missing"));
    CHECK(check(call, result) == "");

    merge_patch(path, R"({"spec":{"machineID":"other","node":{"name":"rival","uid":"u"}}})");
    const ProcessResult refused = repair(places);
    CHECK(refused.exit_status == 1);
    CHECK_THAT(refused.out, Names("not repaired: ", "\"rival\"", "delete the pod"));
    CHECK_THAT(blocks_of(space), Names("rival"));
    CHECK(del(call) == "");
}

TEST_CASE("ipam check --repair: a lease in the node's own store comes back", "[ipam]") {
    const std::string kLeases = "/run/rdmanet/leases";
    const CheckedStage stage;
    const PluginCall call = call_for(stage.pod, "'master':'par0'," + ipam("10.75.3.0/24"));
    const std::string result = add(call);
    PluginCall second = of(call, "c2");
    second.ifname = "net2";
    CHECK(addresses(add(second)) == "10.75.3.2/24");
    CHECK(repair().out == "2 leases, 0 blocks: 0 missing, 0 double, 0 stale, 0 unreadable, 0 ignored, 0 too large, 0 "
                          "different\n");
    change_container(kLeases, "c1", "");
    CHECK_THAT(check(call, result), Names("10.75.3.1/24"));
    const ProcessResult made = repair();
    CHECK(made.exit_status == 0);
    CHECK_THAT(made.out, Names("made again: 10.75.3.1/24 of ", "c1", "its lease", "0 different"));
    CHECK(check(call, result) == "");

    // Its address is another pod's by now, which keeps it.
    change_container(kLeases, "c1", "c9");
    const ProcessResult refused = repair();
    CHECK(refused.exit_status == 1);
    CHECK_THAT(refused.out, Names("not repaired: 10.75.3.1/24 of ", "c1", "container \"c9\"", "has it by now"));
    change_container(kLeases, "c9", "c1");
    CHECK(del(call) == "");
    CHECK(del(second) == "");
    CHECK_THAT(repair("--state-dir /run/nothing").out, Names("0 leases"));
    const ProcessResult elsewhere = run_process(
        {"setpriv", "--reuid=65534", "--clear-groups", binary(), "ipam", "check", "--repair", "--kubeconfig", "/k"});
    CHECK(elsewhere.exit_status == 1);
    CHECK_THAT(elsewhere.err, Names("on their node", "as root"));
}

} // namespace rdmanet::test
