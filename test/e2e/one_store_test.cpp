// The addresses of a network are kept in one place, and none is given twice: what an ADD does when another place has
// given addresses of its range, or would give them as well.
#include "attachment_stage.hpp"
#include "cluster_machine.hpp"
#include "cluster_stage.hpp"

#include "support/concat.hpp"
#include "support/lease_lines.hpp"
#include "support/loopback.hpp"
#include "support/names.hpp"
#include "support/process.hpp"

#include <catch2/catch.hpp>

#include <fstream>
#include <string>
#include <thread>
#include <vector>

namespace rdmanet::test {
namespace {

/// What ADD and plan say of a network that they must refuse.
std::vector<std::string> refusals(const PluginCall& call) {
    return {refusal(call), planned(call)};
}

PluginCall on_node(const PluginCall& call) {
    PluginCall other = call;
    other.config = replaced(call.config, json_text("'cooldown':0"), json_text("'cooldown':0,'store':'node'"));
    return other;
}

/// The API server of another cluster, which has nothing but its namespace kube-system.
class OtherCluster {
public:
    OtherCluster() : thread_([this] { run(); }) {}
    OtherCluster(const OtherCluster&) = delete;
    OtherCluster& operator=(const OtherCluster&) = delete;
    ~OtherCluster() {
        listener_.end();
        thread_.join();
    }
    [[nodiscard]] std::string url() const { return concat("http://127.0.0.1:", listener_.port()); }

private:
    void run() {
        const std::string body = R"({"metadata":{"uid":"of-another-cluster"}})";
        for (;;) {
            const base::UniqueFd client = listener_.accept();
            if (!client) return;
            for (std::string head; head.find("\r\n\r\n") == std::string::npos;) {
                char byte = 0;
                if (::recv(client.get(), &byte, 1, 0) != 1) break;
                head += byte;
            }
            send_all(client.get(), concat("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n",
                                          "Content-Length: ", body.size(), "\r\n\r\n", body));
        }
    }

    Listener listener_;
    std::thread thread_;
};

} // namespace

TEST_CASE("a network that an AddressRange has in part, or that would be in two places, is refused, and both are named",
          "[cluster][blocks]") {
    use_cluster_as("rdmanet");
    const std::string space = own_space();
    const Declared range(space, "10.77.1.0/24");
    const ClusterMachine machine(space + "-a", space);
    const CheckedStage stage;
    const PluginCall wider = machine.call(stage.pod, "10.77.0.0/16");
    for (const std::string& said : refusals(wider))
        CHECK_THAT(said, Names(concat("AddressRange ", range.name()), "10.77.1.0/24", "range 10.77.0.0/16"));
    CHECK_THAT(outcome(wider, "STATUS"), Names(range.name(), "10.77.0.0/16"));
    for (const std::string& said :
         refusals(machine.call(stage.pod, "10.77.1.0/25", "'ipRanges':[{'range':'10.77.2.0/24'}]")))
        CHECK_THAT(said, Names(concat("AddressRange ", range.name()), "none has range 10.77.2.0/24"));
    const PluginCall call = machine.call(stage.pod, "10.77.1.128/25");
    for (const std::string& said : refusals(on_node(call)))
        CHECK_THAT(said, Names(concat("AddressRange ", range.name()), "10.77.1.128/25", "\"store\": \"node\""));
    {
        const Declared other(space, "10.77.0.0/16", "", "-other");
        for (const std::string& said : refusals(call))
            CHECK_THAT(said, Names(range.name(), other.name(), "overlap", "delete one of them"));
    }
    CHECK_THAT(addresses(add(call)), Names("/25"));
    CHECK(del(call) == "");
}

TEST_CASE("living pods keep a range on the node from the cluster, and are named", "[ipam]") {
    write_kubeconfig(kNobody);
    const CheckedStage stage;
    const PluginCall shared = beside(call_in_cluster(stage.pod, "10.31.3.0/24"));
    PluginCall alone = call_for(stage.pod, concat("'master':'par0',", ipam("10.31.3.128/25")));
    alone.args = shared.args;
    CHECK(addresses(add(alone)) == "10.31.3.129/25");
    for (const std::string& said : refusals(shared))
        CHECK_THAT(said, Names("range 10.31.3.0/24", "10.31.3.129 of", "shop/till", "delete these pods"));
    CHECK_THAT(outcome(shared, "STATUS"), Names("10.31.3.129 of", "shop/till"));
    CHECK(del(alone) == "");
    CHECK_THAT(refusal(shared), Names("code 11", "http://127.0.0.1:1"));
}

TEST_CASE("a network that names another store gets no pod, and CHECK and DEL go on", "[ipam]") {
    const CheckedStage stage;
    const PluginCall call = call_for(stage.pod, concat("'master':'par0',", ipam("10.77.9.0/24")));
    const std::string result = add(call);
    PluginCall named = call;
    named.config = replaced(call.config, json_text("'cooldown':0"), json_text("'cooldown':0,'store':'whereabouts'"));
    for (const std::string& said : refusals(beside(named)))
        CHECK_THAT(said, Names("ipam.store", "\"whereabouts\"", "remove it"));
    CHECK_THAT(refusal(beside(named)), Names("code 7"));
    CHECK(check(named, result) == "");
    CHECK(del(named) == "");
    CHECK(rows_of("/run/rdmanet/leases", "lease").empty());
}

TEST_CASE("a network whose kubeconfig leads to another cluster than the node's is refused", "[cluster]") {
    use_cluster_as("rdmanet");
    const std::string space = own_space();
    const ClusterMachine machine(space + "-a", space);
    const CheckedStage stage;
    const OtherCluster other;
    const std::string kubeconfig_of_other = "/etc/cni/net.d/other-cluster.kubeconfig";
    std::ofstream(kubeconfig_of_other) << replaced(kNobody, "http://127.0.0.1:1", other.url());
    const PluginCall call = machine.call(stage.pod, "10.77.3.0/24");
    PluginCall of_other = beside(call);
    of_other.config = replaced(call.config, kKubeconfig, kubeconfig_of_other);
    CHECK(addresses(add(call)) == "10.77.3.1/24");
    for (const std::string& said : refusals(of_other))
        CHECK_THAT(said, Names(kubeconfig_of_other, kKubeconfig, "another cluster"));
    CHECK(del(call) == "");
    CHECK_THAT(refusal(of_other), !Catch::Contains("another cluster")); // no pod has an address of the first one
    shell("rm " + kubeconfig_of_other);
}

TEST_CASE("an address that a living attachment has is given to nobody else, whatever the store has lost",
          "[cluster][blocks]") {
    use_cluster_as("rdmanet");
    const std::string place = GENERATE("node", "pools", "blocks");
    CAPTURE(place);
    const std::string space = own_space();
    const Declared range(space, "10.77.4.0/25", "'requestable':'10.77.4.64/26'");
    const ClusterMachine machine(space + "-a", space);
    const CheckedStage stage;
    PluginCall call = machine.call(stage.pod, place == "blocks" ? "10.77.4.0/25" : "10.77.4.128/25");
    if (place == "node") call = on_node(call);
    const std::string file = place == "node" ? "/run/rdmanet/leases" : "/run/rdmanet/blocks";
    const PluginCall early = of(call, "c0");
    (void)add(early); // so that the file, or the pool, is there
    CHECK(del(early) == "");
    if (place != "pools") shell(concat("cp ", file, " /run/earlier"));
    const std::string given = addresses(add(call));
    const PluginCall other = beside(call);
    if (place == "pools") {
        shell(concat("cd ", cluster(), "; for object in ippools/", space, "-10.77.4.128-25 ",
                     "overlappingrangeipreservations/", space, "-10.77.4.129; do ./delete $object >/dev/null; done"));
    } else {
        shell(concat("cp /run/earlier /run/earlier.new && mv /run/earlier.new ", file, "; rm /run/earlier"));
    }
    const ProcessResult added = other.run();
    CHECK(added.exit_status == 0);
    CHECK_THAT(added.err, Names("shop/till", given.substr(0, given.find('/')), "rdmanet ipam check --repair"));
    CHECK(addresses(added.out) != given);
    CHECK_THAT(addresses(added.out), Names("/25"));
    PluginCall wanted = beside(call, "c3", "net3");
    wanted.args += ";IP=" + given.substr(0, given.find('/'));
    CHECK_THAT(refusal(wanted), Names(given.substr(0, given.find('/'))));
    CHECK(del(other) == "");
    CHECK(del(call) == "");
}

TEST_CASE("a network whose kubeconfig is missing leaves nothing that a call would have to ask for", "[ipam]") {
    const CheckedStage stage;
    const PluginCall call = call_in_cluster(stage.pod, "10.77.5.0/24");
    shell(concat("rm -f ", kKubeconfig));
    PluginCall wrong = call;
    wrong.config = replaced(call.config, kKubeconfig, "/etc/cni/net.d/no.kubeconfig");
    CHECK_THAT(refusal(wrong), Names("code 109", "/etc/cni/net.d/no.kubeconfig", "missing"));
    CHECK(del(wrong) == "");
    CHECK_THAT(refusal(call), Names("code 109", kKubeconfig, "missing"));
    for (int time = 0; time < 2; ++time) CHECK(del(call) == ""); // kubelet's
    CHECK_THAT(shell(binary() + " state"), Names("nothing attached"));
    write_kubeconfig(kNobody);
    CHECK_THAT(refusal(call),
               Names("code 11", "http://127.0.0.1:1", "TCP", "connection refused") && !Catch::Contains("s3cret"));
    CHECK(del(call) == "");
    CHECK_THAT(shell(binary() + " state"), Names("nothing attached"));
}

} // namespace rdmanet::test
