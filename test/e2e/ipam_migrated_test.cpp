// `rdmanet ipam show` and `check` where ranges have gone from one store to another.
#include "attachment_stage.hpp"
#include "cluster_machine.hpp"
#include "cluster_networks.hpp"
#include "cluster_stage.hpp"

#include "support/concat.hpp"
#include "support/names.hpp"
#include "support/process.hpp"
#include "support/reporter.hpp"

#include <catch2/catch.hpp>

#include <fstream>

namespace rdmanet::test {
namespace {

constexpr const char* kNoFaults = "0 missing, 0 double, 0 stale, 0 unreadable, 0 too large, 0 different\n";

/// `rdmanet ipam`, of the call's network.
ProcessResult ipam_of(const PluginCall& call, const std::string& arguments) {
    std::ofstream("/run/migrated.json") << call.config;
    return run_process({"sh", "-c",
                        concat("exec ", binary(), " ipam ", arguments, " --network /run/migrated.json --kubeconfig ",
                               cluster(), "/admin.kubeconfig")});
}

PluginCall of_pod(PluginCall call, const std::string& pod, const std::string& ifname) {
    call.container = pod;
    call.ifname = ifname;
    call.args = concat("IgnoreUnknown=1;K8S_POD_NAMESPACE=looks;K8S_POD_NAME=", pod);
    return call;
}

std::string address_of(const std::string& result) {
    return addresses(result).substr(0, addresses(result).find('/'));
}

void make_half_moved(const std::string& range) {
    shell(concat(". ", cluster(), "/lib && api --fail-with-body -X PATCH -H 'Content-Type: ",
                 R"(application/merge-patch+json' --data '{"spec":{"confirmed":false}}' "$url)",
                 "/apis/rdmanet.cni/v1alpha1/addressranges/", range, "\""));
}

} // namespace

TEST_CASE("ipam check: pods keep addresses of pools and get some of blocks, and both are no fault",
          "[cluster][moves]") {
    NEEDS(cluster_lacks().empty(), cluster_lacks());
    use_cluster_as("rdmanet");
    const std::string space = own_space();
    const ClusterNetworks networks;
    const ClusterMachine machine(space + "-a", space);
    const Stage stage;
    const PluginCall network = machine.call_with("'range':'10.64.10.0/24'", stage.pod);
    const PluginCall first = of_pod(network, "first", "net1");
    const std::string result = add(first);
    ClusterNetworks::run_pod("first", address_of(result));
    CHECK_THAT(ipam_of(network, "check --pause 0").out, Names(concat("1 lease, 0 blocks: ", kNoFaults)));
    CHECK(ipam_of(network, "migrate --to blocks --pause 0").exit_status == 0);
    const PluginCall second = of_pod(network, "second", "net2");
    const std::string its_result = add(second);
    ClusterNetworks::run_pod("second", address_of(its_result));
    CHECK_THAT(ipam_of(network, "check --pause 0").out, Names(concat("2 leases, 1 block: ", kNoFaults)));

    const std::string range = concat("AddressRange ", space, "-10.64.10.0-24");
    const ProcessResult shown = ipam_of(network, "show");
    CHECK_THAT(shown.out, Names("whereabouts>blocks", "1 block", "1 address ", range) && !Catch::Contains("moving"));
    const std::string json = ipam_of(network, "show --json").out;
    CHECK(value(json, "ranges.1.store") == "blocks");
    CHECK(value(json, "ranges.1.from.0") == "whereabouts");
    CHECK(value(json, "ranges.1.moving") == "false");
    CHECK(value(json, "ranges.1.held.0") == address_of(result));
    make_half_moved(concat(space, "-10.64.10.0-24"));
    const std::string fix = "`rdmanet ipam migrate --to blocks`";
    CHECK_THAT(ipam_of(network, "show").out, Names("moving: " + range, fix, "`--to whereabouts`"));
    CHECK(value(ipam_of(network, "show --json").out, "ranges.1.moving") == "true");
    const ProcessResult checked = ipam_of(network, "check --pause 0");
    CHECK(checked.exit_status == 0);
    CHECK_THAT(checked.out, Names("moving: " + range, fix, concat("2 leases, 1 block: ", kNoFaults)));
    CHECK_THAT(value(ipam_of(network, "check --pause 0 --json").out, "notes.0"), Names(range, fix));
    CHECK(ipam_of(network, "migrate --to blocks --pause 0").exit_status == 0);
    CHECK(ipam_of(network, "check --pause 0").out == concat("2 leases, 1 block: ", kNoFaults));

    CHECK(del(first) == "");
    const ProcessResult reconciled = run_process(
        {"sh", "-c", concat(binary(), " ipam reconcile --dry-run --kubeconfig ", cluster(), "/admin.kubeconfig")});
    CHECK_THAT(reconciled.out, Names(concat("would free ", address_of(result), " (", range, ")"), "old-store",
                                     "store \"whereabouts\" has it no more"));
    CHECK(del(second) == "");
    ClusterNetworks::end_pod("first");
    ClusterNetworks::end_pod("second");
    (void)shell(binary() + " gc");
    CHECK(stage.node.difference() == "");
}

} // namespace rdmanet::test
