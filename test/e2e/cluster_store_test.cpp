// Leases in a Kubernetes API server: those with the tag [cluster] are run by test/cluster/cluster.sh.
#include "attachment_stage.hpp"
#include "cluster_calls.hpp"
#include "cluster_stage.hpp"
#include "configured_node.hpp"
#include "silent_server.hpp"

#include "support/concat.hpp"
#include "support/names.hpp"
#include "support/process.hpp"
#include "support/reporter.hpp"

#include <catch2/catch.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <vector>

namespace rdmanet::test {
namespace {

/// What the server has of an object's `spec`; "absent" if there is none.
std::string spec_of(const std::string& object) {
    return shell(cluster() + "/get /apis/whereabouts.cni.cncf.io/v1alpha1/namespaces/kube-system/" + object +
                 " | jq --compact-output --join-output --sort-keys '.spec // \"absent\"'");
}

/// While this lives, user "nobody" may do all that a node does, but for changing pools.
class RightsWithoutPools {
public:
    RightsWithoutPools() {
        apply("roles",
              R"("kind":"Role","metadata":{"name":"no-pools"},"rules":[{"apiGroups":["whereabouts.cni.cncf.io"],)"
              R"("resources":["ippools"],"verbs":["get"]},{"apiGroups":["whereabouts.cni.cncf.io"],"resources":)"
              R"(["overlappingrangeipreservations"],"verbs":["get","create","patch","delete"]}])");
        apply(
            "rolebindings",
            R"("kind":"RoleBinding","metadata":{"name":"no-pools"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io",)"
            R"("kind":"Role","name":"no-pools"},"subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"User",)"
            R"("name":"nobody"}])");
        apply("clusterrolebindings",
              R"("kind":"ClusterRoleBinding","metadata":{"name":"no-pools"},"roleRef":{"apiGroup":)"
              R"("rbac.authorization.k8s.io","kind":"ClusterRole","name":"rdmanet-ranges"},"subjects":[{"apiGroup":)"
              R"("rbac.authorization.k8s.io","kind":"User","name":"nobody"}])");
    }
    RightsWithoutPools(const RightsWithoutPools&) = delete;
    RightsWithoutPools& operator=(const RightsWithoutPools&) = delete;
    ~RightsWithoutPools() {
        for (const char* kind : {"clusterrolebindings", "rolebindings", "roles"})
            (void)succeeds(cluster() + "/delete " + path_of(kind) + "/no-pools");
    }

private:
    static std::string path_of(const std::string& kind) {
        return std::string("/apis/rbac.authorization.k8s.io/v1/") +
               (kind == "clusterrolebindings" ? "" : "namespaces/kube-system/") + kind;
    }
    static void apply(const std::string& kind, const std::string& object) {
        shell(cluster() + R"(/apply '{"apiVersion":"rbac.authorization.k8s.io/v1",)" + object + "}' " + path_of(kind));
    }
};

std::string state_files() {
    return shell("find /run/rdmanet -name '*.json' -printf '%f\\n' 2>/dev/null || true");
}

} // namespace

TEST_CASE("an ADD takes its address from the cluster's pool, and DEL gives it back", "[cluster]") {
    NEEDS(cluster_lacks().empty(), cluster_lacks());
    use_cluster_as("rdmanet");
    const Stage stage;
    PluginCall call = call_in_cluster(stage.pod, "10.31.0.0/24");
    call.config = replaced(call.config, R"("cooldown":0)", R"("cooldown":3600)");
    const std::string result = add(call);
    CHECK(addresses(result) == "10.31.0.1/24");
    CHECK(spec_of("ippools/10.31.0.0-24") ==
          R"({"allocations":{"1":{"id":"c1","ifname":"net1","podref":"shop/till"}},"range":"10.31.0.0/24"})");
    CHECK(spec_of("overlappingrangeipreservations/10.31.0.1") == R"({"ifname":"net1","podref":"shop/till"})");
    CHECK(check(call, result) == "");
    CHECK(outcome(call, "STATUS") == "");
    const PluginCall second = with(beside(call), "'logLevel':'debug'");
    const ProcessResult told = second.run();
    CHECK(addresses(told.out) == "10.31.0.2/24");
    CHECK_THAT(told.err, Names("keep leases in whereabouts' pools", "no AddressRange", kKubeconfig));
    CHECK(del(second) == "");
    // As the network may still say it since an earlier version.
    PluginCall named = call;
    named.config = replaced(call.config, R"("cooldown")", R"("store":"whereabouts","cooldown")");
    CHECK(check(named, result) == "");
    CHECK(del(after(named, result)) == "");
    CHECK(spec_of("ippools/10.31.0.0-24") == R"({"allocations":{},"range":"10.31.0.0/24"})");
    CHECK(spec_of("overlappingrangeipreservations/10.31.0.1") == "absent");
    CHECK(del(call) == "");
    PluginCall other = of(call, "c3");
    other.args = replaced(call.args, "till", "desk");
    CHECK(addresses(add(other)) == "10.31.0.3/24"); // what this node gave back rests
    CHECK(del(other) == "");
    CHECK(addresses(add(of(call, "c4"))) == "10.31.0.1/24"); // but for the pod that had it
    CHECK(del(of(call, "c4")) == "");
    CHECK(stage.node.difference() == "");
}

TEST_CASE("an ADD that fails while it inherits an address leaves no reservation that nobody gives back", "[cluster]") {
    NEEDS(cluster_lacks().empty(), cluster_lacks());
    use_cluster_as("rdmanet");
    const RightsWithoutPools limited;
    const Stage stage;
    const std::string reservation = "overlappingrangeipreservations/10.31.40.1";
    const PluginCall heir = of(call_in_cluster(stage.pod, "10.31.40.0/24"), "c2");
    PluginCall dead = heir;
    {
        const Pod gone("gone");
        dead = call_in_cluster(gone, "10.31.40.0/24");
        CHECK(addresses(add(dead)) == "10.31.40.1/24");
    }
    use_cluster_as("nobody");
    CHECK_THAT(refusal(heir), Names("HTTP 403", "cannot patch resource \"ippools\""));
    use_cluster_as("rdmanet");
    CHECK(del(dead) == "");
    CHECK(del(heir) == "");
    CHECK(spec_of("ippools/10.31.40.0-24") == R"({"allocations":{},"range":"10.31.40.0/24"})");
    CHECK(spec_of(reservation) == "absent");
    CHECK(stage.node.difference() == "");
}

TEST_CASE("a static address is given beside the cluster's, and no object has it", "[cluster]") {
    NEEDS(cluster_lacks().empty(), cluster_lacks());
    const std::string range = GENERATE("'range':'10.31.25.0/24','cooldown':0,", "");
    // A network of static addresses alone asks nobody.
    write_kubeconfig(range.empty() ? kNobody : read_file(cluster() + "/rdmanet.kubeconfig"));
    const Stage stage;
    const std::string before = state_files();
    const std::string ipam =
        concat("'ipam':{'type':'rdmanet',", range, "'addresses':[{'address':'10.31.26.9/24'}],", in_cluster(), "}");
    PluginCall call = call_for(stage.pod, "'master':'par0'," + ipam);
    const bool is_ipam_alone = GENERATE(false, true);
    if (is_ipam_alone) call.config = json_text("{'cniVersion':'1.1.0','name':'net','type':'macvlan'," + ipam + "}");
    call.args = "K8S_POD_NAMESPACE=shop;K8S_POD_NAME=till";
    const std::string result = add(call);
    CHECK(addresses(result) == (range.empty() ? "10.31.26.9/24" : "10.31.25.1/24 10.31.26.9/24"));
    CHECK(spec_of("ippools/10.31.26.0-24") == "absent");
    CHECK(spec_of("overlappingrangeipreservations/10.31.26.9") == "absent");
    CHECK(check(call, result) == "");
    CHECK(del(call) == "");
    CHECK(state_files() == before);
    if (!range.empty()) CHECK(spec_of("ippools/10.31.25.0-24") == R"({"allocations":{},"range":"10.31.25.0/24"})");
    CHECK(stage.node.difference() == "");
}

TEST_CASE("a network of whereabouts whose type is changed goes on with whereabouts' pool", "[cluster]") {
    NEEDS(cluster_lacks().empty(), cluster_lacks());
    const NodeOfCluster configured;
    const Stage stage;
    // A pod of another node that whereabouts has attached.
    shell(cluster() + R"(/apply '{"apiVersion":"whereabouts.cni.cncf.io/v1alpha1","kind":"IPPool","metadata":)"
                      R"({"name":"10.31.6.0-24"},"spec":{"range":"10.31.6.0/24","allocations":{"1":{"id":"far",)"
                      R"("podref":"shop/other","ifname":"net1"}}}}')");
    PluginCall call = call_for(stage.pod, "'master':'par0','ipam':{'type':'rdmanet','datastore':'kubernetes',"
                                          "'log_file':'/tmp/whereabouts.log','range':'10.31.6.0/24'}");
    call.args = "IgnoreUnknown=1;K8S_POD_NAMESPACE=shop;K8S_POD_NAME=till";
    CHECK(addresses(add(call)) == "10.31.6.2/24");
    CHECK(del(call) == "");
    CHECK(spec_of("ippools/10.31.6.0-24") ==
          R"({"allocations":{"1":{"id":"far","ifname":"net1","podref":"shop/other"}},"range":"10.31.6.0/24"})");
    CHECK(stage.node.difference() == "");
}

TEST_CASE("a server that is away owes nobody an interface: DEL succeeds, and gc gives the address back later",
          "[cluster]") {
    NEEDS(cluster_lacks().empty(), cluster_lacks());
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
    NEEDS(cluster_lacks().empty(), cluster_lacks());
    use_cluster_as("rdmanet");
    const Stage stage;
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
    CHECK(stage.node.difference() == "");
}

TEST_CASE("a debt that is paid after the address was given to another pod leaves it to that pod", "[cluster]") {
    NEEDS(cluster_lacks().empty(), cluster_lacks());
    use_cluster_as("rdmanet");
    const Stage stage;
    const PluginCall call = call_in_cluster(stage.pod, "10.31.47.0/24");
    PluginCall other = of(call, "c2");
    other.ifname = "net2";
    other.args = "IgnoreUnknown=1;K8S_POD_NAMESPACE=shop;K8S_POD_NAME=desk;K8S_POD_UID=uid-2";
    CHECK(addresses(add(call)) == "10.31.47.1/24");
    write_kubeconfig(kNobody);
    CHECK(del(call) == "");
    CHECK(state_files() != "");
    for (const char* object : {"overlappingrangeipreservations/10.31.47.1", "ippools/10.31.47.0-24"})
        shell(concat(cluster(), "/delete ", object, " >/dev/null"));
    use_cluster_as("rdmanet");
    SECTION("by the ADD of that pod itself") {
        CHECK(addresses(add(other)) == "10.31.47.1/24");
    }
    SECTION("by gc") {
        shell("cp -r /run/rdmanet /run/owed");
        CHECK(addresses(add(other)) == "10.31.47.1/24");
        // As if that ADD had been on another node, whose call does not pay for this one.
        shell("rm -f /run/rdmanet/records.index && cp /run/owed/attachments/*.json /run/rdmanet/attachments && rm -r "
              "/run/owed");
        shell(binary() + " gc");
    }
    CHECK(spec_of("ippools/10.31.47.0-24") ==
          R"({"allocations":{"1":{"id":"c2","ifname":"net2","podref":"shop/desk"}},"range":"10.31.47.0/24"})");
    CHECK(spec_of("overlappingrangeipreservations/10.31.47.1") == R"({"ifname":"net2","podref":"shop/desk"})");
    CHECK(shell("ls /run/rdmanet/attachments/*.json | wc -l") == "1\n"); // nothing is owed any more
    CHECK(del(other) == "");
    CHECK(state_files() == "");
    CHECK(stage.node.difference() == "");
}

TEST_CASE("a DEL looks in the pools of its record, and in those that the network names by now", "[cluster]") {
    NEEDS(cluster_lacks().empty(), cluster_lacks());
    use_cluster_as("rdmanet");
    const Stage stage;
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
    CHECK(stage.node.difference() == "");
}

TEST_CASE("a DEL without a record succeeds while the server is away, and leaves none", "[cluster]") {
    NEEDS(cluster_lacks().empty(), cluster_lacks());
    use_cluster_as("rdmanet");
    const Stage stage;
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
    CHECK(stage.node.difference() == "");
}

TEST_CASE("what is owed is paid by another kubeconfig of the same cluster if the record's own is gone", "[cluster]") {
    NEEDS(cluster_lacks().empty(), cluster_lacks());
    const std::string good = read_file(cluster() + "/rdmanet.kubeconfig");
    write_kubeconfig(good);
    const NodeOfCluster configured;
    const Stage stage;
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
    CHECK(stage.node.difference() == "");
}

TEST_CASE("the first call of a boot gives back what the pods of this node had before it", "[cluster]") {
    NEEDS(cluster_lacks().empty(), cluster_lacks());
    use_cluster_as("rdmanet");
    shell(cluster() + "/apply '" + node_object("booted") + "' /api/v1/nodes");
    const auto set_annotation = [](const std::string& reservation, const std::string& key, const std::string& text) {
        shell("bash -c '. " + cluster() + "/lib; api --fail-with-body -X PATCH -H \"Content-Type: " +
              "application/merge-patch+json\" --data \"{\\\"metadata\\\":{\\\"annotations\\\":{\\\"rdmanet.cni/" + key +
              "\\\":\\\"" + text + "\\\"}}}\" \"$url$(path overlappingrangeipreservations/" + reservation + ")\"'");
    };
    const Stage stage;
    std::vector<PluginCall> calls;
    for (const char* number : {"1", "2", "3", "4"}) {
        PluginCall call = of(call_in_cluster(stage.pod, "10.31.16.0/24"), std::string("c") + number);
        call.config = replaced(call.config, R"("cooldown")", R"("nodeName":"booted","cooldown")");
        call.args = std::string("IgnoreUnknown=1;K8S_POD_NAMESPACE=shop;K8S_POD_NAME=till") + number;
        call.ifname = std::string("net") + number;
        calls.push_back(call);
    }
    for (const PluginCall& call : {calls[0], calls[1], calls[2]}) (void)add(call);
    // As if 1 and 2 had been given in an earlier boot, and 2 by another machine with this Node. The state directory is new.
    set_annotation("10.31.16.1", "boot-id", "earlier");
    set_annotation("10.31.16.2", "boot-id", "earlier");
    set_annotation("10.31.16.2", "machine-id", "another");
    shell("mkdir /run/before-the-boot && mv /run/rdmanet/attachments/c[23]* /run/before-the-boot/ && rm -r "
          "/run/rdmanet/* && "
          "mkdir /run/rdmanet/attachments");
    const std::string first_call = GENERATE("ADD", "DEL", "GC");
    CAPTURE(first_call);
    if (first_call == "DEL") CHECK(del(of(calls[3], "of-before")) == "");
    if (first_call == "GC") CHECK(outcome(calls[3], "GC") == "");
    if (first_call != "ADD") CHECK_THAT(spec_of("ippools/10.31.16.0-24"), !Catch::Contains("\"c1\""));
    CHECK(addresses(add(calls[3])) == "10.31.16.1/24");
    CHECK(spec_of("overlappingrangeipreservations/10.31.16.1") == R"({"ifname":"net4","podref":"shop/till4"})");
    CHECK_THAT(spec_of("ippools/10.31.16.0-24"), Names("\"c2\"", "\"c3\"", "\"c4\"") && !Catch::Contains("\"c1\""));
    // Once is enough.
    set_annotation("10.31.16.1", "boot-id", "earlier");
    shell("mv /run/before-the-boot/* /run/rdmanet/attachments/ && rmdir /run/before-the-boot");
    CHECK(del(calls[2]) == "");
    CHECK(addresses(add(calls[2])) == "10.31.16.3/24");
    for (const PluginCall& call : {calls[1], calls[2], calls[3]}) CHECK(del(call) == "");
    shell(cluster() + "/delete /api/v1/nodes/booted");
    CHECK(spec_of("ippools/10.31.16.0-24") == R"({"allocations":{},"range":"10.31.16.0/24"})");
    CHECK(spec_of("overlappingrangeipreservations/10.31.16.2") == "absent");
    CHECK(shell("ip -o link show type macvlan") == "");
    CHECK(del(calls[0]) == "");
    CHECK(stage.node.difference() == "");
}

TEST_CASE("ADDs beside the first one of a boot write down their Node, too", "[cluster]") {
    NEEDS(cluster_lacks().empty(), cluster_lacks());
    use_cluster_as("rdmanet");
    shell(cluster() + "/apply '" + node_object("crowded") + "' /api/v1/nodes");
    const Stage stage;
    std::vector<PluginCall> calls;
    std::vector<std::future<ProcessResult>> running;
    for (const char* number : {"1", "2", "3", "4"}) {
        PluginCall call = of(call_in_cluster(stage.pod, "10.31.30.0/24"), concat("c", number));
        call.config = replaced(call.config, R"("cooldown")", R"("nodeName":"crowded","cooldown")");
        call.ifname = concat("net", number);
        calls.push_back(call);
    }
    for (const PluginCall& call : calls)
        running.push_back(std::async(std::launch::async, [&call] { return call.run(); }));
    for (std::future<ProcessResult>& result : running) CHECK(result.get().exit_status == 0);
    CHECK(shell(concat(cluster(), "/get overlappingrangeipreservations | jq '[.items[] | select(.metadata.name | ",
                       "startswith(\"10.31.30.\")) | .metadata.annotations[\"rdmanet.cni/node-uid\"] // empty] | ",
                       "length'")) == "4\n");
    for (const PluginCall& call : calls) CHECK(del(call) == "");
    shell(cluster() + "/delete /api/v1/nodes/crowded");
    CHECK(stage.node.difference() == "");
}

TEST_CASE("a server that does not answer is waited for once, however much is owed to it", "[cluster]") {
    NEEDS(cluster_lacks().empty(), cluster_lacks());
    use_cluster_as("rdmanet");
    const Stage stage;
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
    CHECK(stage.node.difference() == "");
}

TEST_CASE("what an ADD asked for before it was killed is looked for again when a minute has passed", "[cluster]") {
    NEEDS(cluster_lacks().empty(), cluster_lacks());
    use_cluster_as("rdmanet");
    const Stage stage;
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
    CHECK(stage.node.difference() == "");
}

TEST_CASE("the runtime's GC gives back the cluster's addresses of a record that cannot be read", "[cluster]") {
    NEEDS(cluster_lacks().empty(), cluster_lacks());
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

TEST_CASE("an IPAM plugin's ADD that is repeated for another place has its addresses where they were", "[cluster]") {
    NEEDS(!cluster().empty(), kNeedsCluster);
    use_cluster_as("rdmanet");
    const Stage stage;
    PluginCall shared = call_in_cluster(stage.pod, "10.31.11.0/24");
    shared.config = replaced(shared.config, R"("type":"rdmanet","master":"par0")", R"("type":"macvlan")");
    PluginCall on_node = shared;
    on_node.config = replaced(shared.config, R"("cooldown")", R"("store":"node","cooldown")");
    CHECK(addresses(add(shared)) == "10.31.11.1/24");
    CHECK_THAT(refusal(on_node), Names("\"whereabouts\"", "delete the pod"));
    CHECK(addresses(add(shared)) == "10.31.11.1/24");
    CHECK(del(on_node) == "");
    CHECK(spec_of("ippools/10.31.11.0-24") == R"({"allocations":{},"range":"10.31.11.0/24"})");
    CHECK(spec_of("overlappingrangeipreservations/10.31.11.1") == "absent");
    CHECK_THAT(shell(binary() + " state --json"), !Catch::Contains("10.31."));
    CHECK(stage.node.difference() == "");
}

TEST_CASE("gc --forget names the addresses that it gives back to the cluster, and those that it can't", "[cluster]") {
    NEEDS(cluster_lacks().empty(), cluster_lacks());
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
