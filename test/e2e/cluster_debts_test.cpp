// What a node has not given back to the API server yet. test/cluster/cluster.sh runs the cases with the tag [cluster].
#include "cluster_calls.hpp"
#include "configured_node.hpp"
#include "silent_server.hpp"

#include "support/names.hpp"
#include "support/reporter.hpp"

#include <catch2/catch.hpp>

#include <filesystem>
#include <vector>

namespace rdmanet::test {

TEST_CASE("a server that is away owes nobody an interface: DEL succeeds, and gc gives the address back later",
          "[cluster]") {
    use_cluster_as("rdmanet");
    Stage stage;
    const PluginCall call = call_in_cluster(stage.pod, "10.31.1.0/24");
    const std::string result = add(call);
    write_kubeconfig(kNobody);
    CHECK_THAT(check(call, result), Names("code 11", "http://127.0.0.1:1"));
    CHECK(del(call) == "");
    CHECK_FALSE(stage.pod.succeeds("ip link show net1"));
    CHECK(state_files() != "");
    CHECK(spec_of("ippools/10.31.1.0-24") != R"({"allocations":{},"range":"10.31.1.0/24"})");
    CHECK_THAT(refusal(call), Names("code 11"));
    use_cluster_as("rdmanet");
    stage.pod.destroy();
    shell(binary() + " gc");
    CHECK(spec_of("ippools/10.31.1.0-24") == R"({"allocations":{},"range":"10.31.1.0/24"})");
    CHECK(spec_of("overlappingrangeipreservations/10.31.1.1") == "absent");
    CHECK(state_files() == "");
}

TEST_CASE("what a DEL owes is paid by the next call that reaches the server, of whatever pod", "[cluster]") {
    const ClusterStage stage;
    const PluginCall call = call_in_cluster(stage.pod, "10.31.7.0/24");
    const PluginCall second = of(call, "c2");
    const std::string empty = R"({"allocations":{},"range":"10.31.7.0/24"})";
    (void)add(call);
    SECTION("an ADD") {
        write_kubeconfig(kNobody);
        CHECK(del(call) == "");
        use_cluster_as("rdmanet");
        CHECK(addresses(add(second)) == "10.31.7.2/24");
        CHECK_THAT(spec_of("ippools/10.31.7.0-24"), Names("\"2\"", "c2") && !Catch::Contains("c1"));
        CHECK(del(second) == "");
    }
    SECTION("a DEL") {
        const PluginCall other = beside(call);
        (void)add(other);
        write_kubeconfig(kNobody);
        CHECK(del(call) == "");
        use_cluster_as("rdmanet");
        CHECK(del(other) == "");
    }
    CHECK(spec_of("ippools/10.31.7.0-24") == empty);
    CHECK(spec_of("overlappingrangeipreservations/10.31.7.1") == "absent");
    CHECK(state_files() == "");
}

TEST_CASE("a DEL looks in the pools of its record, and in those that the network names by now", "[cluster]") {
    const ClusterStage stage;
    const PluginCall call = call_in_cluster(stage.pod, "10.31.45.0/24");
    (void)add(call);
    shell(cluster() + R"(/apply '{"apiVersion":"whereabouts.cni.cncf.io/v1alpha1","kind":"IPPool","metadata":{"name":)"
                      R"("10.31.46.0-24"},"spec":{"range":"10.31.46.0/24","allocations":{"7":{"id":"c1","ifname":)"
                      R"("net1","podref":"shop/till"}}}}' )"
                      "/apis/whereabouts.cni.cncf.io/v1alpha1/namespaces/kube-system/ippools");
    CHECK(del(call_in_cluster(stage.pod, "10.31.46.0/24")) == "");
    for (const std::string range : {"10.31.45.0", "10.31.46.0"})
        CHECK(spec_of("ippools/" + range + "-24") == R"({"allocations":{},"range":")" + range + R"(/24"})");
    CHECK(state_files() == "");
}

TEST_CASE("a DEL without a record succeeds while the server is away, and leaves none", "[cluster]") {
    const ClusterStage stage;
    // The MAC proves nothing.
    const PluginCall call = with(call_in_cluster(stage.pod, "10.31.9.0/24"), "'mac':'02:00:00:00:09:01'");
    const std::string result = add(call);
    shell("rm /run/rdmanet/attachments/*");
    write_kubeconfig(kNobody);
    CHECK(del(call) == "");
    CHECK(stage.pod.succeeds("ip link show net1")); // nothing proves that it is this attachment's
    CHECK(del(after(call, result)) == "");
    CHECK_FALSE(stage.pod.succeeds("ip link show net1"));
    CHECK(state_files() == "");
    use_cluster_as("rdmanet");
    CHECK(del(call) == ""); // finds the addresses in the pools of its network
    CHECK(spec_of("ippools/10.31.9.0-24") == R"({"allocations":{},"range":"10.31.9.0/24"})");
    CHECK(spec_of("overlappingrangeipreservations/10.31.9.1") == "absent");
}

TEST_CASE("what is owed is paid by another kubeconfig of the same cluster if the record's own is gone", "[cluster]") {
    NEEDS(cluster_lacks().empty(), cluster_lacks());
    const std::string good = read_file(cluster() + "/rdmanet.kubeconfig");
    write_kubeconfig(good);
    const NodeOfCluster configured;
    const CheckedStage stage;
    const PluginCall call = call_in_cluster(stage.pod, "10.31.15.0/24");
    PluginCall edited = call;
    edited.config = replaced(call.config, kKubeconfig, "/etc/cni/net.d/rdmanet.d/rdmanet.kubeconfig");
    const std::string empty = R"({"allocations":{},"range":"10.31.15.0/24"})";
    (void)add(call);
    SECTION("DEL uses that of the network as it is now") {
        std::filesystem::remove(kKubeconfig);
        CHECK(del(edited) == "");
    }
    SECTION("gc uses that of the node's file, and check says so") {
        std::filesystem::remove(kKubeconfig);
        CHECK(del(call) == "");
        CHECK(state_files() != "");
        CHECK_THAT(shell(binary() + " check 2>&1 || true"), Names("c1", kKubeconfig, "rdmanet.d/rdmanet.conf"));
        shell(binary() + " gc");
    }
    SECTION("a token that is refused is the same") {
        write_kubeconfig(replaced(good, "rdmanet-token", "ended-token"));
        CHECK(del(edited) == "");
    }
    SECTION("another namespace in it changes nothing") {
        write_kubeconfig(replaced(good, "namespace: kube-system", "namespace: default"));
        CHECK(del(call) == "");
    }
    SECTION("another cluster has pools of the same names, and is left alone") {
        const std::string record = "/run/rdmanet/attachments/c1:net1:net.json";
        const std::string uid = value(read_file(record), "leaseStore.pools.0.uid");
        const auto set_uid = [&](const std::string& text) {
            shell("jq '.leaseStore.pools[0].uid = \"" + text + "\"' " + record + " >/run/changed && mv /run/changed " +
                  record);
        };
        set_uid("another");
        std::filesystem::remove(kKubeconfig);
        CHECK(del(edited) == "");
        CHECK(spec_of("ippools/10.31.15.0-24") != empty);
        CHECK_THAT(shell(binary() + " gc 2>&1 || true"), Names("c1", kKubeconfig, "rdmanet.d/rdmanet.conf"));
        set_uid(uid);
        shell(binary() + " gc");
    }
    CHECK(spec_of("ippools/10.31.15.0-24") == empty);
    CHECK(spec_of("overlappingrangeipreservations/10.31.15.1") == "absent");
    CHECK(state_files() == "");
}

TEST_CASE("a server that does not answer is waited for once, however much is owed to it", "[cluster]") {
    const ClusterStage stage;
    std::vector<PluginCall> calls;
    for (const char* number : {"1", "2", "3"}) {
        PluginCall call = of(impatient(call_in_cluster(stage.pod, "10.31.14.0/24")), std::string("c") + number);
        call.ifname = std::string("net") + number;
        (void)add_in_time(call);
        calls.push_back(call);
    }
    write_kubeconfig(kNobody);
    for (const PluginCall& call : calls) CHECK(del(call) == "");
    const SilentServer silent;
    write_kubeconfig(replaced(kNobody, "http://127.0.0.1:1", silent.url()));
    CHECK_THAT(shell(binary() + " gc 2>&1 || true"), Names("c1", "2 attachments more", kKubeconfig, silent.url()));
    CHECK(silent.connections() == 1);
    use_cluster_as("rdmanet");
    shell(binary() + " gc");
    CHECK(spec_of("ippools/10.31.14.0-24") == R"({"allocations":{},"range":"10.31.14.0/24"})");
}

TEST_CASE("what an ADD asked for before it was killed is looked for again when a minute has passed", "[cluster]") {
    const ClusterStage stage;
    const PluginCall call = call_in_cluster(stage.pod, "10.31.8.0/24");
    const std::string record = "/run/rdmanet/attachments/c1:net1:net.json";
    const auto change_record = [&](const std::string& how) {
        shell("jq '" + how + "' " + record + " >/run/changed && mv /run/changed " + record);
    };
    const std::string empty = R"({"allocations":{},"range":"10.31.8.0/24"})";
    (void)add(call);
    // As it was written down before the first claim was sent.
    change_record(".phase = \"prepared\" | .leases = [] | .leaseStore.unsettledUntil = 99999999999");
    SECTION("by a DEL and what comes after it") {
        CHECK(del(call) == "");
        CHECK(spec_of("ippools/10.31.8.0-24") == empty);
        // The server does now what nobody waits for any more.
        shell(cluster() + R"(/apply '{"apiVersion":"whereabouts.cni.cncf.io/v1alpha1","kind":)"
                          R"("OverlappingRangeIPReservation","metadata":{"name":"10.31.8.1","annotations":)"
                          R"({"rdmanet.cni/container-id":"c1"}},"spec":{"podref":"shop/till","ifname":"net1"}}')");
        shell(binary() + " gc");
        CHECK(state_files() != ""); // too early to be sure
        change_record(".leaseStore.unsettledUntil = 1");
        shell(binary() + " gc");
    }
    SECTION("at once after a reboot, whose clock is another one") {
        change_record(".bootID = \"00000000-0000-0000-0000-000000000000\"");
        CHECK(del(call) == "");
        stage.pod.run("ip link del net1"); // which a reboot would have done
    }
    SECTION("by another ADD of the attachment, which goes on") {
        CHECK(addresses(add(call)) == "10.31.8.1/24");
        CHECK(value(read_file(record), "leaseStore.unsettledUntil") == "99999999999");
        change_record(".leaseStore.unsettledUntil = 1");
        CHECK(del(call) == "");
    }
    CHECK(spec_of("ippools/10.31.8.0-24") == empty);
    CHECK(spec_of("overlappingrangeipreservations/10.31.8.1") == "absent");
    CHECK(state_files() == "");
}

TEST_CASE("the runtime's GC gives back the cluster's addresses of a record that cannot be read", "[cluster]") {
    use_cluster_as("rdmanet");
    Stage stage;
    PluginCall call = call_in_cluster(stage.pod, "10.31.10.0/24");
    (void)add(call);
    stage.pod.destroy();
    shell("truncate -s 100 /run/rdmanet/attachments/*.json");
    call.container.clear();
    call.ifname.clear();
    CHECK(outcome(with(call, "'cni.dev/valid-attachments':[]"), "GC") == "");
    CHECK(spec_of("ippools/10.31.10.0-24") == R"({"allocations":{},"range":"10.31.10.0/24"})");
    CHECK(spec_of("overlappingrangeipreservations/10.31.10.1") == "absent");
    CHECK(state_files() == "");
}

TEST_CASE("gc --forget names the addresses that it gives back to the cluster, and those that it can't", "[cluster]") {
    use_cluster_as("rdmanet");
    Stage stage;
    (void)add(call_in_cluster(stage.pod, "10.31.13.0/24"));
    stage.pod.destroy();
    const std::string forget = binary() + " gc --forget c1 net1 2>/dev/null";
    CHECK_THAT(shell(forget + " --dry-run"), Names("released: 10.31.13.1/24"));
    SECTION("with the server") {
        CHECK_THAT(shell(forget), Names("released: 10.31.13.1/24") && !Catch::Contains("not undone"));
        CHECK(spec_of("ippools/10.31.13.0-24") == R"({"allocations":{},"range":"10.31.13.0/24"})");
    }
    SECTION("without it") {
        write_kubeconfig(kNobody);
        CHECK_THAT(shell(forget), Names("not undone: 10.31.13.1/24", "c1", "http://127.0.0.1:1"));
        CHECK(spec_of("ippools/10.31.13.0-24") != R"({"allocations":{},"range":"10.31.13.0/24"})");
    }
    CHECK(state_files() == "");
}

} // namespace rdmanet::test
