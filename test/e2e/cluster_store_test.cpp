// Leases in a Kubernetes API server: those with the tag [cluster] are run by test/cluster/cluster.sh.
#include "attachment_stage.hpp"
#include "cluster_calls.hpp"
#include "cluster_stage.hpp"
#include "configured_node.hpp"

#include "support/concat.hpp"
#include "support/names.hpp"
#include "support/process.hpp"
#include "support/reporter.hpp"

#include <catch2/catch.hpp>

#include <future>
#include <vector>

namespace rdmanet::test {
namespace {

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

} // namespace

TEST_CASE("an ADD takes its address from the cluster's pool, and DEL gives it back", "[cluster]") {
    const ClusterStage stage;
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
}

TEST_CASE("an ADD that fails while it inherits an address leaves no reservation that nobody gives back", "[cluster]") {
    use_cluster_as("rdmanet");
    const RightsWithoutPools limited;
    const CheckedStage stage;
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
}

TEST_CASE("a static address is given beside the cluster's, and no object has it", "[cluster]") {
    NEEDS(cluster_lacks().empty(), cluster_lacks());
    const std::string range = GENERATE("'range':'10.31.25.0/24','cooldown':0,", "");
    // A network of static addresses alone asks nobody.
    write_kubeconfig(range.empty() ? kNobody : read_file(cluster() + "/rdmanet.kubeconfig"));
    const CheckedStage stage;
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
}

TEST_CASE("a network of whereabouts whose type is changed goes on with whereabouts' pool", "[cluster]") {
    NEEDS(cluster_lacks().empty(), cluster_lacks());
    const NodeOfCluster configured;
    const CheckedStage stage;
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
}

TEST_CASE("the first call of a boot gives back what the pods of this node had before it", "[cluster]") {
    use_cluster_as("rdmanet");
    shell(cluster() + "/apply '" + node_object("booted") + "' /api/v1/nodes");
    const auto set_annotation = [](const std::string& reservation, const std::string& key, const std::string& text) {
        shell("bash -c '. " + cluster() + "/lib; api --fail-with-body -X PATCH -H \"Content-Type: " +
              "application/merge-patch+json\" --data \"{\\\"metadata\\\":{\\\"annotations\\\":{\\\"rdmanet.cni/" + key +
              "\\\":\\\"" + text + "\\\"}}}\" \"$url$(path overlappingrangeipreservations/" + reservation + ")\"'");
    };
    const CheckedStage stage;
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
}

TEST_CASE("ADDs beside the first one of a boot write down their Node, too", "[cluster]") {
    use_cluster_as("rdmanet");
    shell(cluster() + "/apply '" + node_object("crowded") + "' /api/v1/nodes");
    const CheckedStage stage;
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
}

TEST_CASE("an IPAM plugin's ADD that is repeated for another place has its addresses where they were", "[cluster]") {
    const ClusterStage stage;
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
}

} // namespace rdmanet::test
