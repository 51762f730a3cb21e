// `rdmanet ipam migrate` end to end: a network that names no store follows its range.
#include "attachment_stage.hpp"
#include "cluster_calls.hpp"
#include "cluster_machine.hpp"
#include "cluster_stage.hpp"

#include "support/names.hpp"
#include "support/process.hpp"
#include "support/reporter.hpp"

#include <catch2/catch.hpp>

#include <fstream>

namespace rdmanet::test {
namespace {

/// What it prints, with its errors.
std::string migrate(const PluginCall& network, const std::string& to, const std::vector<std::string>& more = {}) {
    std::vector<std::string> command{binary(), "ipam", "migrate", "--to", to, "--network", "-"};
    command.insert(command.end(), {"--kubeconfig", cluster() + "/admin.kubeconfig", "--pause", "0"});
    command.insert(command.end(), more.begin(), more.end());
    const auto done = run_process(command, {.input = network.config});
    return done.out + done.err;
}

std::string recorded(const std::string& space) {
    return shell(cluster() +
                 "/get /apis/rdmanet.cni/v1alpha1/addressranges | jq --join-output '[.items[].spec | "
                 "select(.space == \"" +
                 space + "\") | .store] | join(\", \")'");
}

} // namespace

TEST_CASE("a range goes from pools to blocks and back, and living pods keep their addresses", "[cluster][moves]") {
    NEEDS(kernel_has("macvlan"), "macvlan");
    NEEDS(!cluster().empty(), "a Kubernetes API server (test/cluster/cluster.sh run)");
    write_kubeconfig(read_file(cluster() + "/rdmanet.kubeconfig"));
    const std::string space = own_space();
    const ClusterMachine machine(space + "-a", space);
    const Stage stage;
    const PluginCall first = machine.call_with("'range':'10.64.9.0/24'", stage.pod);
    int count = 1;
    const auto next = [&] {
        PluginCall call = of(first, "c" + std::to_string(++count));
        call.ifname = "net" + std::to_string(count);
        return call;
    };
    const std::string result = add(first);
    REQUIRE(addresses(result) == "10.64.9.1/24");
    CHECK_THAT(migrate(first, "blocks", {"--dry-run"}),
               Names("range 10.64.9.0/24: would move from store \"whereabouts\" to store \"blocks\"",
                     "leaves out 1 address,", "IPPool kube-system/" + space + "-10.64.9.0-24: 1 lease"));
    CHECK(recorded(space) == "whereabouts");
    CHECK_THAT(
        migrate(first, "blocks"),
        Names("range 10.64.9.0/24: moved from store \"whereabouts\" to store \"blocks\"", "leaves out 1 address,"));
    CHECK(recorded(space) == "whereabouts>blocks");

    const PluginCall in_block = next();
    const std::string its_result = add(in_block);
    CHECK(addresses(its_result) != addresses(result));
    CHECK_THAT(blocks_of(space), Names("/28 " + space + "-a"));
    CHECK(check(first, result) == "");
    CHECK(check(in_block, its_result) == "");
    CHECK(del(after(first, result)) == "");
    CHECK(migrate(first, "blocks") == "range 10.64.9.0/24: moved from store \"whereabouts\" to store \"blocks\"\n");
    CHECK(migrate(first, "blocks") == "range 10.64.9.0/24: is in store \"blocks\"\n");
    CHECK(recorded(space) == "blocks");

    CHECK_THAT(migrate(first, "whereabouts"),
               Names("moved from store \"blocks\" to store \"whereabouts\"", "leaves out 16 addresses,",
                     "AddressBlock " + space + "-10.64.9.", "of node " + space + "-a"));
    (void)shell(binary() + " gc"); // the node asks the cluster
    const PluginCall in_pool = next();
    const std::string in_pool_result = add(in_pool);
    CHECK_THAT(shell(cluster() + "/get /apis/whereabouts.cni.cncf.io/v1alpha1/namespaces/kube-system/ippools/" + space +
                     "-10.64.9.0-24"),
               Names(in_pool.container));
    CHECK(check(in_block, its_result) == "");
    CHECK(check(in_pool, in_pool_result) == "");
    CHECK(del(after(in_block, its_result)) == "");
    (void)shell(binary() + " gc");
    CHECK(blocks_of(space) == "");
    CHECK(migrate(first, "whereabouts") ==
          "range 10.64.9.0/24: moved from store \"blocks\" to store \"whereabouts\"\n");
    CHECK(recorded(space) == "whereabouts");
    CHECK(del(after(in_pool, in_pool_result)) == "");
    CHECK(stage.node.difference() == "");
}

/// Its new file has the leases from the journal, which names no range.
TEST_CASE("a node that has lost its file of blocks goes on with pools if the range has moved there",
          "[cluster][moves]") {
    NEEDS(cluster_lacks().empty(), cluster_lacks());
    use_cluster_as("rdmanet");
    const std::string space = own_space();
    const ClusterMachine machine(space + "-a", space);
    const Stage stage;
    const auto call_in = [&](const std::string& store, const std::string& range, const std::string& container) {
        PluginCall call =
            of(machine.call_with("'range':'" + range + "','store':'" + store + "'", stage.pod), container);
        call.ifname = "net" + container.substr(1);
        return call;
    };
    const PluginCall in_block = call_in("blocks", "10.64.11.0/24", "c1");
    const std::string result = add(in_block);
    CHECK_THAT(migrate(in_block, "whereabouts"), Names("moved from store \"blocks\" to store \"whereabouts\""));
    shell("rm /run/rdmanet/blocks.sqlite");
    const PluginCall other = call_in("blocks", "10.64.12.0/24", "c2");
    (void)add(other); // makes the new file
    CHECK(shell("sqlite3 /run/rdmanet/blocks.sqlite 'SELECT count(*) FROM leases'") == "2\n");
    const PluginCall in_pool = call_in("whereabouts", "10.64.11.0/24", "c3");
    const std::string its_result = add(in_pool);
    CHECK(addresses(its_result) != addresses(result));
    CHECK(check(in_block, result) == "");
    CHECK(check(in_pool, its_result) == "");
    for (const PluginCall& call : {after(in_block, result), other, after(in_pool, its_result)}) CHECK(del(call) == "");
    CHECK(stage.node.difference() == "");
}

/// Its ADDs do not ask pools any more.
TEST_CASE("after a reboot, gc gives back in pools what pods had before their range moved to blocks",
          "[cluster][moves]") {
    NEEDS(cluster_lacks().empty(), cluster_lacks());
    use_cluster_as("rdmanet");
    const std::string space = own_space();
    const ClusterMachine machine(space + "-a", space);
    const Stage stage;
    const PluginCall call = machine.call_with("'range':'10.64.13.0/24'", stage.pod);
    CHECK(addresses(add(call)) == "10.64.13.1/24");
    CHECK_THAT(migrate(call, "blocks"), Names("leaves out 1 address,"));
    // As after a reboot: /run is empty, the pod has no interface, and the reservation names another boot.
    shell("rm -r /run/rdmanet && ip -n pod link del net1");
    shell(". " + cluster() + R"(/lib && api --fail-with-body -X PATCH -H 'Content-Type: )" +
          R"(application/merge-patch+json' --data '{"metadata":{"annotations":{"rdmanet.cni/boot-id":"earlier"}}}' )" +
          R"("$url/apis/whereabouts.cni.cncf.io/v1alpha1/namespaces/kube-system/overlappingrangeipreservations/)" +
          space + "-10.64.13.1\"");
    shell("mkdir -p /etc/cni/net.d/rdmanet.d");
    std::ofstream("/etc/cni/net.d/rdmanet.d/rdmanet.conf")
        << R"({"kubernetes":{"kubeconfig":")" << kKubeconfig << R"("},"nodeName":")" << space << "-a\"}";
    shell(binary() + " gc");
    shell("rm -r /etc/cni/net.d/rdmanet.d");
    CHECK(pool_records(space + "-10.64.13.0-24") == kHasNoRecord);
    CHECK_THAT(shell(cluster() + "/get overlappingrangeipreservations/" + space + "-10.64.13.1"), Names("NotFound"));
    CHECK_THAT(migrate(call, "blocks"), !Catch::Contains("leaves out"));
    CHECK(stage.node.difference() == "");
}

} // namespace rdmanet::test
