// `rdmanet ipam`: what a person sees of the lease stores, and repairs.
#include "attachment_stage.hpp"
#include "cluster_networks.hpp"
#include "cluster_stage.hpp"

#include "support/names.hpp"
#include "support/process.hpp"
#include "support/reporter.hpp"

#include <catch2/catch.hpp>

#include <fstream>

namespace rdmanet::test {
namespace {

ProcessResult run_ipam(const std::string& arguments) {
    return run_process({"sh", "-c", "exec " + binary() + " ipam " + arguments});
}

std::string with_cluster(const std::string& arguments) {
    return arguments + " --kubeconfig " + cluster() + "/admin.kubeconfig";
}

/// Of the lines of a text, those that have a word.
std::string lines_with(const std::string& text, const std::string& word) {
    std::string found;
    std::size_t from = 0;
    for (std::size_t to = text.find('\n'); to != std::string::npos; from = to + 1, to = text.find('\n', from))
        if (const std::string line = text.substr(from, to - from); line.find(word) != std::string::npos)
            found += line + '\n';
    return found;
}

std::string pool_object(const std::string& name, const std::string& range, const std::string& records) {
    return cluster() +
           R"(/apply '{"apiVersion":"whereabouts.cni.cncf.io/v1alpha1","kind":"IPPool","metadata":{"name":")" + name +
           R"("},"spec":{"range":")" + range + R"(","allocations":{)" + records + "}}}'";
}

std::string reservation_object(const std::string& name, const std::string& pod) {
    return cluster() +
           R"(/apply '{"apiVersion":"whereabouts.cni.cncf.io/v1alpha1","kind":"OverlappingRangeIPReservation",)"
           R"("metadata":{"name":")" +
           name + R"("},"spec":{"podref":")" + pod + R"(","ifname":"net1"}}')";
}

void apply_range(const std::string& name, const std::string& spec) {
    ClusterNetworks::apply(R"({"apiVersion":"rdmanet.cni/v1alpha1","kind":"AddressRange","metadata":{"name":")" + name +
                               R"("},"spec":{)" + spec + "}}",
                           "/apis/rdmanet.cni/v1alpha1/addressranges");
}

std::string records_of(const std::string& pool) {
    return shell(cluster() + "/get ippools/" + pool + " | jq --join-output '.spec.allocations | keys | join(\" \")'");
}

} // namespace

TEST_CASE("ipam show: leases of the node", "[ipam]") {
    const AttachedStage attached("'master':'par0'," + ipam("10.71.0.0/24"));
    const ProcessResult shown = run_ipam("show");
    CHECK(shown.exit_status == 0);
    CHECK_THAT(lines_with(shown.out, "10.71.0.1"), Names("node", "net", "c1", "net1"));
    CHECK(value(run_ipam("show --json").out, "leases.0.address") == "10.71.0.1");
    CHECK(attached.end() == "");
    CHECK(run_ipam("show").out == "no leases\n");
    CHECK(run_ipam("sho").exit_status == 2);
    CHECK_THAT(run_ipam("").err, Names("subcommand", "`rdmanet help ipam`"));
    CHECK_THAT(run_ipam("show --kubeconfig /run/nothing").out, Names("/run/nothing"));
}

TEST_CASE("ipam show, check and release: records that others wrote", "[cluster]") {
    NEEDS(!cluster().empty(), kNeedsCluster);
    const ClusterNetworks networks;
    ClusterNetworks::run_pod("user", "10.71.1.2");
    ClusterNetworks::run_pod("unknown", "10.71.1.200");
    shell(
        pool_object("look-10.71.1.0-24", "10.71.1.0/24",
                    R"("1":{"id":"far","podref":"looks/gone"},"2":{"id":"c2","podref":"looks/user","ifname":"net1"},)"
                    R"("3":{"id":"c3","podref":"looks/user","ifname":"net2"},"x":{"id":"c9","podref":"looks/user"})"));
    shell(pool_object("look-10.71.1.0-25", "10.71.1.0/25",
                      R"("3":{"id":"c4","podref":"looks/unknown","ifname":"net1"})"));
    shell(reservation_object("look-10.71.1.2", "looks/user"));
    shell(reservation_object("look-10.71.1.9", "looks/gone"));
    const std::string network = R"( --network /run/looks.json)";
    shell(R"(echo '{"type":"rdmanet","ipam":{"type":"rdmanet","store":"node","network_name":"look",)"
          R"("range":"10.71.1.0/24"}}' >/run/looks.json)");
    const auto run = [&](const std::string& arguments) { return run_ipam(with_cluster(arguments) + network); };

    const ProcessResult shown = run("show");
    CHECK(shown.err == "");
    CHECK(shown.exit_status == 0);
    CHECK_THAT(lines_with(shown.out, "look-10.71.1.0-24 "), Names("pools", "4 leases", "0%"));
    CHECK_THAT(lines_with(shown.out, "10.71.1.1 "), Names("looks/gone", "far", "stale,foreign"));
    CHECK_THAT(lines_with(shown.out, "10.71.1.2 "), Names("looks/user", "c2", " foreign"));
    CHECK_THAT(lines_with(shown.out, "10.71.1.3 "), Names("c3", "c4", "double"));
    CHECK_THAT(lines_with(shown.out, "key \"x\" "), Names("unreadable"));
    CHECK_THAT(lines_with(shown.out, "10.71.1.9 "), Names("looks/gone", "stale,foreign"));
    CHECK(value(run("show --json").out, "ranges.0.sizePercent") == "0");

    const ProcessResult checked = run("check --pause 0");
    CHECK(checked.exit_status == 1);
    CHECK_THAT(lines_with(checked.out, "missing: "), Names("10.71.1.200", "looks/unknown", "look-10.71.1.0-24"));
    CHECK_THAT(lines_with(checked.out, "double: "), Names("10.71.1.3", "looks/user", "looks/unknown"));
    CHECK_THAT(lines_with(checked.out, "stale: "), Names("10.71.1.1", "looks/gone", "look-10.71.1.9"));
    CHECK_THAT(lines_with(checked.out, "unreadable: "), Names("\"x\""));
    CHECK_THAT(checked.out, Names(" in namespace \"kube-system\"",
                                  "5 leases, 0 blocks: 1 missing, 1 double, 2 stale, 1 unreadable, 0 ignored, "
                                  "0 too large, 0 different"));
    // Who may not look at pods says so, and calls nothing stale.
    const ProcessResult limited =
        run_ipam("check --pause 0 --kubeconfig " + cluster() + "/rdmanet.kubeconfig" + network);
    CHECK(limited.exit_status == 1);
    CHECK_THAT(limited.out, Names("cannot", "is forbidden", "--kubeconfig"));

    const ProcessResult asked = run("release --address 10.71.1.1");
    CHECK(asked.exit_status == 1);
    CHECK_THAT(asked.out, Names("would release", "look-10.71.1.0-24", "looks/gone", "--yes"));
    CHECK(records_of("look-10.71.1.0-24") == "1 2 3 x");
    const ProcessResult kept = run("release --address 10.71.1.2 --yes");
    CHECK(kept.exit_status == 1);
    CHECK_THAT(kept.out, Names("kept", "looks/user", "delete the pod"));
    CHECK(records_of("look-10.71.1.0-24") == "1 2 3 x");
    const ProcessResult released = run("release --pod looks/gone --yes");
    CHECK(released.exit_status == 0);
    CHECK_THAT(released.out, Names("released", "10.71.1.1", "look-10.71.1.9"));
    CHECK(records_of("look-10.71.1.0-24") == "2 3 x");
    CHECK_THAT(run("release --pod looks/gone --yes").out, Names(" in namespace \"kube-system\"", "nothing to release"));
    const std::string elsewhere = " --namespace looks";
    const std::string has_none = "namespace \"looks\" has no IPPools: ";
    CHECK_THAT(run("show" + elsewhere).out, Names(has_none, "--namespace"));
    CHECK_THAT(run("check --pause 0" + elsewhere).out, Names(has_none));
    CHECK_THAT(run("release --pod looks/gone" + elsewhere).out, Names(has_none));
    CHECK(value(run("show --json" + elsewhere).out, "seen.pools") == "0");
    CHECK_THAT(run("show --namespace a/b").err, Names("--namespace", "\"a/b\""));
    CHECK_THAT(run("release --yes").err, Names("--address", "--pod"));

    ClusterNetworks::end_pod("user");
    ClusterNetworks::end_pod("unknown");
    shell(cluster() + "/delete ippools/look-10.71.1.0-24; " + cluster() + "/delete ippools/look-10.71.1.0-25; " +
          cluster() + "/delete overlappingrangeipreservations/look-10.71.1.2");
}

TEST_CASE("ipam check: with a network, what others have in the same range is no fault of it", "[cluster]") {
    NEEDS(!cluster().empty(), kNeedsCluster);
    const ClusterNetworks networks;
    ClusterNetworks::run_pod("near", "10.71.7.1");
    ClusterNetworks::run_pod("far", "10.71.7.2");
    shell(pool_object("near-10.71.7.0-24", "10.71.7.0/24", ""));
    // A slice of whereabouts says its node between the network and the range.
    shell(pool_object("near-n1-10.71.7.0-28", "10.71.7.0/28", R"("1":{"id":"c1","podref":"looks/near"})"));
    shell(reservation_object("near-10.71.7.1", "looks/near"));
    shell(pool_object("far-10.71.7.0-24", "10.71.7.0/24", R"("2":{"id":"c2","podref":"looks/far"})"));
    shell(R"(echo '{"type":"rdmanet","ipam":{"type":"rdmanet","store":"node","network_name":"near",)"
          R"("range":"10.71.7.0/24"}}' >/run/looks.json)");
    const ProcessResult checked = run_ipam(with_cluster("check --pause 0 --network /run/looks.json"));
    CHECK(lines_with(checked.out, "missing") ==
          "0 leases, 0 blocks: 0 missing, 0 double, 0 stale, 0 unreadable, 0 ignored, 0 too large, 0 different\n");
    for (const char* pool : {"near-10.71.7.0-24", "near-n1-10.71.7.0-28", "far-10.71.7.0-24"})
        shell(cluster() + "/delete ippools/" + pool);
    shell(cluster() + "/delete overlappingrangeipreservations/near-10.71.7.1");
    ClusterNetworks::end_pod("near");
    ClusterNetworks::end_pod("far");
}

TEST_CASE("ipam check and release: what this node uses or gives back by itself is no fault", "[cluster]") {
    use_cluster_as("rdmanet");
    const ClusterNetworks networks;
    ClusterNetworks::run_pod("till", "10.71.2.1");
    const CheckedStage stage;
    PluginCall call = call_for(stage.pod, std::string("'master':'par0','ipam':{'type':'rdmanet',"
                                                      "'range':'10.71.2.0/24','kubernetes':{'kubeconfig':'") +
                                              kKubeconfig + "'," + kLongLimits + "}}");
    call.args = "IgnoreUnknown=1;K8S_POD_NAMESPACE=looks;K8S_POD_NAME=till;K8S_POD_UID=uid-1";
    std::ofstream("/run/looks.json") << call.config;
    const auto run = [&](const std::string& arguments) {
        return run_ipam(with_cluster(arguments) + " --network /run/looks.json");
    };
    apply_range("look-old", R"("range":"10.71.4.0/24","store":"blocks")");
    CHECK_THAT(run_process({binary(), "plan"}, {.input = call.config}).err,
               Names("warning: AddressRange look-old is ignored", "delete it"));
    shell(cluster() + "/delete /apis/rdmanet.cni/v1alpha1/addressranges/look-old");
    CHECK(addresses(add(call)) == "10.71.2.1/24");
    const ProcessResult whole = run("check --pause 0");
    CHECK(lines_with(whole.out, "missing") ==
          "1 lease, 0 blocks: 0 missing, 0 double, 0 stale, 0 unreadable, 0 ignored, 0 too large, 0 different\n");
    CHECK(whole.exit_status == 0);
    CHECK_THAT(run("release --address 10.71.2.1 --yes").out, Names("kept", "alive on this node"));
    CHECK(records_of("10.71.2.0-24") == "1");
    // Somebody takes the record away.
    shell(cluster() + "/delete ippools/10.71.2.0-24");
    shell(pool_object("10.71.2.0-24", "10.71.2.0/24", ""));
    const ProcessResult lost = run("check --pause 0");
    CHECK(lost.exit_status == 1);
    CHECK_THAT(lines_with(lost.out, "missing: "), Names("10.71.2.1", "looks/till"));
    CHECK_THAT(lines_with(lost.out, "differs: "), Names("c1", "10.71.2.1"));
    shell(cluster() + "/delete ippools/10.71.2.0-24");
    shell(pool_object("10.71.2.0-24", "10.71.2.0/24", R"("1":{"id":"c1","podref":"looks/till","ifname":"net1"})"));
    CHECK(run("check --pause 0").exit_status == 0);
    // A reservation that whereabouts made names no container: what its record says is true of it, too.
    ClusterNetworks::end_pod("till");
    shell(cluster() + "/delete overlappingrangeipreservations/10.71.2.1");
    shell(reservation_object("10.71.2.1", "looks/till"));
    CHECK_THAT(run("release --pod looks/till --yes").out,
               Names("kept", "alive on this node") && !Catch::Contains("released"));
    // The pod is gone, and this node could not give its address back.
    write_kubeconfig(kNobody);
    CHECK(del(call) == "");
    const ProcessResult owed = run("check --pause 0");
    CHECK(owed.exit_status == 0);
    CHECK_THAT(owed.out, Names("not yet given back", "0 stale"));
    CHECK_THAT(run("release --pod looks/till --yes").out, Names("kept", "`rdmanet gc`"));
    use_cluster_as("rdmanet");
    shell(binary() + " gc");
    CHECK(records_of("10.71.2.0-24") == "");
}

TEST_CASE("ipam release: what a pod has stays, also before Multus has noted it, and if nobody may say so",
          "[cluster]") {
    NEEDS(!cluster().empty(), kNeedsCluster);
    const ClusterNetworks networks;
    ClusterNetworks::apply(R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"starting"},)"
                           R"("spec":{"containers":[{"name":"c","image":"i"}]}})",
                           "/api/v1/namespaces/looks/pods");
    shell(pool_object("10.71.6.0-24", "10.71.6.0/24",
                      R"("1":{"id":"c1","podref":"looks/starting","ifname":"net1"},)"
                      R"("2":{"id":"c2","podref":"looks/ended","ifname":"net1"})"));
    shell(reservation_object("10.71.6.1", "looks/starting"));
    const auto release = [](const std::string& address, const std::string& user) {
        return run_ipam("release --yes --address " + address + " --kubeconfig " + cluster() + user);
    };
    const ProcessResult kept = release("10.71.6.1", "/admin.kubeconfig");
    CHECK(kept.exit_status == 1);
    CHECK_THAT(lines_with(kept.out, "IPPool"), Names("kept", "looks/starting", "delete the pod"));
    CHECK_THAT(lines_with(kept.out, "OverlappingRangeIPReservation"), Names("kept", "delete the pod"));
    const ProcessResult unknown = release("10.71.6.2", "/rdmanet.kubeconfig"); // who may not look at pods
    CHECK(unknown.exit_status == 1);
    CHECK_THAT(unknown.out, Names("kept", "is forbidden"));
    CHECK(records_of("10.71.6.0-24") == "1 2");
    ClusterNetworks::end_pod("starting");
    CHECK(release("10.71.6.1", "/admin.kubeconfig").exit_status == 0);
    CHECK(release("10.71.6.2", "/admin.kubeconfig").exit_status == 0);
    CHECK(records_of("10.71.6.0-24") == "");
    CHECK_THAT(shell(cluster() + "/get overlappingrangeipreservations/10.71.6.1"), Names("NotFound"));
    shell(cluster() + "/delete ippools/10.71.6.0-24");
}

TEST_CASE("ipam show: ranges with their blocks, those of a node that is gone, and a range that is ignored",
          "[cluster][blocks]") {
    NEEDS(!cluster().empty(), kNeedsCluster);
    apply_range("look", R"("networkName":"look","range":"10.71.3.0/24","blockSize":16)");
    apply_range("look-old", R"("range":"10.71.4.0/24","store":"blocks")");
    const std::string uid =
        value(shell(cluster() + "/get /apis/rdmanet.cni/v1alpha1/addressranges/look"), "metadata.uid");
    shell(cluster() +
          R"(/apply '{"apiVersion":"rdmanet.cni/v1alpha1","kind":"AddressBlock","metadata":{"name":)"
          R"("look-10.71.3.0-28","finalizers":["rdmanet.cni/in-use"]},"spec":{"networkName":"look","range":)"
          R"("10.71.3.0/24","rangeUID":")" +
          uid +
          R"(","block":"10.71.3.0/28","size":16,"node":{"name":"look-n1","uid":"old"},"machineID":"m",)"
          R"("bootID":"gone","goneAfter":"3600s","inUse":3,"inUseAt":"2026-01-01T00:00:00Z"}}' )"
          R"(/apis/rdmanet.cni/v1alpha1/addressblocks)");
    const ProcessResult shown = run_ipam(with_cluster("show --node look-n1"));
    CHECK_THAT(lines_with(shown.out, "AddressRange look "), Names("blocks", "10.71.3.0/24", "1 block, 0 empty"));
    CHECK_THAT(lines_with(shown.out, "10.71.3.0/28"),
               Names("look", "10.71.3.0/24", "look-n1", "3", "2026-01-01T00:00:00Z", "stale"));
    CHECK_THAT(lines_with(shown.out, "ignored: "), Names("AddressRange look-old", "delete it"));
    CHECK_THAT(lines_with(shown.out, "stale: "), Names("look-10.71.3.0-28", "`rdmanet ipam reconcile`"));
    shell(". " + cluster() +
          R"(/lib && api --fail-with-body -X PATCH -H 'Content-Type: application/merge-patch+json' )"
          R"(--data '{"metadata":{"finalizers":null}}' "$url)"
          R"(/apis/rdmanet.cni/v1alpha1/addressblocks/look-10.71.3.0-28")");
    for (const char* object : {"addressblocks/look-10.71.3.0-28", "addressranges/look", "addressranges/look-old"})
        shell(cluster() + "/delete /apis/rdmanet.cni/v1alpha1/" + object);
}

} // namespace rdmanet::test
