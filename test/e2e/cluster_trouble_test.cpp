// An API server that is slow, stopped, or refuses: what ADD and DEL say, and what they leave.
#include "attachment_stage.hpp"
#include "cluster_calls.hpp"
#include "cluster_machine.hpp"
#include "cluster_stage.hpp"
#include "connect_proxy.hpp"
#include "traffic.hpp"

#include "support/concat.hpp"
#include "support/names.hpp"
#include "support/patience.hpp"
#include "support/process.hpp"
#include "support/reporter.hpp"

#include <catch2/catch.hpp>

#include <vector>

namespace rdmanet::test {
namespace {

using Catch::Matches;

/// The API server has one seat for the requests of nodes (priority and fairness), and somebody has it whose request
/// never ends. So it sends each node away with status 429.
class BusyForNodes {
public:
    BusyForNodes() try { begin(); } catch (...) { // other cases use this server, too
        end();
    }
    BusyForNodes(const BusyForNodes&) = delete;
    BusyForNodes& operator=(const BusyForNodes&) = delete;
    ~BusyForNodes() { end(); }
    /// How many requests it has sent away.
    [[nodiscard]] static int refusals() {
        return std::stoi(shell(cluster() + "/get /metrics | awk '/^apiserver_flowcontrol_rejected_requests_total.*"
                                           "one-seat/ { sum += $NF } END { print sum + 0 }'"));
    }

private:
    static void begin() {
        apply(R"("kind":"PriorityLevelConfiguration","metadata":{"name":"one-seat"},"spec":{"type":"Limited",)"
              R"("limited":{"nominalConcurrencyShares":0,"lendablePercent":0,"borrowingLimitPercent":0,)"
              R"("limitResponse":{"type":"Reject"}}})",
              kLevels);
        apply(R"("kind":"FlowSchema","metadata":{"name":"one-seat"},"spec":{"priorityLevelConfiguration":)"
              R"({"name":"one-seat"},"matchingPrecedence":2,"rules":[{"subjects":[{"kind":"User","user":)"
              R"({"name":"system:serviceaccount:kube-system:rdmanet"}}],"resourceRules":[{"verbs":["*"],)"
              R"("apiGroups":["*"],"resources":["*"],"clusterScope":true,"namespaces":["*"]}]}]})",
              kSchemas);
        // Before that, a request would take a seat elsewhere.
        wait_until(concat("test \"$(. ", cluster(), "/lib; ", kAsNode,
                          " -D - \"$url\"/api/v1/nodes/none | tr -d '\\r' | ",
                          "sed -n 's/^x-kubernetes-pf-flowschema-uid: //Ip')\" = \"$(", cluster(), "/get ", kSchemas,
                          "/one-seat | jq --raw-output .metadata.uid)\""));
        // A body that never comes.
        shell(concat("mkfifo ", kBody, "; setsid bash -c '. ", cluster(), "/lib; exec 8<>", kBody, "; while :; do ",
                     kAsNode, " -X POST -T - \"$url$of_whereabouts/ippools?dryRun=All\" <&8; done' >/dev/null 2>&1 & ",
                     "echo $! >", kBody, ".pid"));
        // A question in between would take the seat, and curl would not hear that it was sent away.
        wait_until(concat(cluster(), "/get /metrics | grep -q '^apiserver_flowcontrol_current_executing_requests",
                          "{.*priority_level=\"one-seat\"} 1'"));
        wait_until(concat("test ", kStatus, " = 429"));
    }
    static void end() {
        (void)succeeds(concat("kill -- -$(cat ", kBody, ".pid); rm -f ", kBody, ' ', kBody, ".pid"));
        for (const std::string& objects : {kSchemas, kLevels})
            (void)succeeds(concat(cluster(), "/delete ", objects, "/one-seat"));
        wait_until(concat("test ", kStatus, " != 429"));
    }
    static void apply(const std::string& object, const std::string& objects) {
        shell(concat(cluster(), R"(/apply '{"apiVersion":"flowcontrol.apiserver.k8s.io/v1",)", object, "}' ", objects));
    }

    inline static const std::string kSchemas = "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas";
    inline static const std::string kLevels = "/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations";
    inline static const std::string kBody = "/run/body-of-nobody";
    inline static const std::string kAsNode = concat("curl --silent -o /dev/null --cacert ", cluster(),
                                                     "/pki/ca.crt -H \"Authorization: Bearer rdmanet-token\"");
    inline static const std::string kStatus =
        concat("\"$(. ", cluster(), "/lib; ", kAsNode, " -w '%{http_code}' \"$url\"/api/v1/nodes/none)\"");
};

/// Until it has carried out what nobody waits for any more.
void wait_until_idle() {
    wait_until(concat("test \"$(", cluster(), "/get /readyz)\" = ok"));
    wait_until(concat(cluster(), "/get /metrics | grep -q 'current_inflight_requests{request_kind=\"mutating\"} 0'"));
}

/// Pods that ask for an address of their own: in blocks, each is a block, which its DEL gives back.
PluginCall impatient_call(const ClusterMachine& machine, const Pod& pod, const std::string& range, int number) {
    PluginCall call = impatient(machine.call(pod, range), 3000);
    call.args += concat(";IP=", replaced(range, ".0/25", "."), 65 + number);
    return call;
}
constexpr const char* kOfPools = "10.31.21.0/25";
constexpr const char* kOfBlocks = "10.31.31.0/25";

/// Pods of a range that is in a pool, and of one that is in blocks.
class TrafficInCluster {
public:
    TrafficInCluster(const ClusterMachine& machine, const Pod& pod)
        : in_pools_([&](int thread) { return impatient_call(machine, pod, kOfPools, thread); }),
          in_blocks_([&](int thread) { return impatient_call(machine, pod, kOfBlocks, thread); }, Traffic::kThreads) {}

    /// Until each of both has given some addresses more, or refused some.
    void wait_for(std::atomic<int> Traffic::*counter) {
        for (Traffic* one : {&in_pools_, &in_blocks_}) one->wait_for(one->*counter, 2);
    }
    /// What must never happen; empty if it did not.
    [[nodiscard]] std::string end() {
        for (Traffic* one : {&in_pools_, &in_blocks_}) one->end();
        return in_pools_.complaint() + in_blocks_.complaint();
    }

private:
    Traffic in_pools_;
    Traffic in_blocks_;
};

/// How often the server has been asked for a pool.
int pool_reads() {
    return std::stoi(shell(concat(cluster(), "/get /metrics | awk '/^apiserver_request_total.*resource=\"ippools\".*"
                                             "verb=\"GET\"/ { sum += $NF } END { print sum + 0 }'")));
}

} // namespace

TEST_CASE("an ADD that fails says at which server and in which step, the server's words, and for how long it tried",
          "[cluster]") {
    NEEDS(cluster_lacks().empty(), cluster_lacks());
    const CheckedStage stage;
    const PluginCall call = call_in_cluster(stage.pod, "10.31.20.0/24");
    const std::string url = shell(cluster() + "/get --url");
    const auto why = [&](const std::string& content, const PluginCall& add) {
        write_kubeconfig(content);
        return refusal(add);
    };
    const auto patient = [&](const std::string& times) { return call_in_cluster(stage.pod, "10.31.20.0/24", times); };
    const std::string duration = ", after ([0-9]+ ms|[0-9]+\\.[0-9] s)";
    const std::string short_duration = ", after ([0-9]{3} ms|[0-9]\\.[0-9] s)"; // kLongLimits is longer

    const std::string other_ca =
        shell("openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout /dev/null "
              "-subj /CN=other -days 2 2>/dev/null | base64 -w0");
    const std::string ca = shell(concat("base64 -w0 ", cluster(), "/pki/ca.crt"));
    CHECK_THAT(why(kubeconfig(ca, other_ca), call),
               Names("code 11", url + ": TLS: the server's certificate is refused: ") && Matches(".*" + duration));
    CHECK_THAT(why(kubeconfig("server:", "tls-server-name: api.example, server:"), call),
               Names("code 11", url + ": TLS: the server's certificate is refused: hostname mismatch"));
    CHECK_THAT(why(kubeconfig("rdmanet-token", "n0t-a-token"), call),
               Names("code 109", url, "HTTP 401: Unauthorized", "renew the token") && !Catch::Contains("n0t-a-token"));
    CHECK_THAT(why(kubeconfig("", "", "nobody"), call), Names("code 109", url, "HTTP 403: addressranges.rdmanet.cni",
                                                              "User \"nobody\" cannot list", "grant that right"));
    CHECK_THAT(why(kubeconfig(url, "http://127.0.0.1:1"), call),
               Names("code 11", "http://127.0.0.1:1: TCP: connecting: connection refused") && Matches(".*" + duration));
    {
        const StoppedServer stopped("etcd"); // without which the API server has no answer
        CHECK_THAT(why(kubeconfig(), patient(",'requestTimeoutMs':300")),
                   Names("code 11", url + ": HTTP: no answer") && Matches(".*" + duration));
    }
    {
        const StoppedServer stopped; // the kernel still accepts connections
        CHECK_THAT(why(kubeconfig(), patient(",'connectTimeoutMs':300")),
                   Names("code 11", url + ": TLS: no answer") && Matches(".*" + short_duration));
        CHECK_THAT(why(kubeconfig(), patient(",'connectTimeoutMs':30000,'addTimeoutMs':1000")),
                   Names("code 11", url + ": TLS: no answer") && Matches(".*" + short_duration));
    }
    CHECK(addresses(add(call)) == "10.31.20.1/24");
    CHECK(del(call) == "");
    CHECK(pool_records("10.31.20.0-24") == kHasNoRecord);
}

TEST_CASE("a server that sends an ADD away has its attention for one deadline, whatever it is asked", "[cluster]") {
    const ClusterStage stage;
    const PluginCall call = call_in_cluster(stage.pod, "10.31.29.0/24", ",'addTimeoutMs':2500");
    {
        const BusyForNodes busy;
        const int before = BusyForNodes::refusals();
        CHECK_THAT(refusal(call),
                   Names("code 11", shell(cluster() + "/get --url"), "HTTP 429", "Too many requests", ", after "));
        // The ranges three times, at 0, 1 and 2 seconds. What comes then has no second left.
        CHECK(BusyForNodes::refusals() - before <= 5);
    }
    CHECK(addresses(add(call)) == "10.31.29.1/24");
    CHECK(del(call) == "");
    CHECK(pool_records("10.31.29.0-24") == kHasNoRecord);
}

TEST_CASE("an API server, or its etcd, that is killed, started, and stopped for long costs no address",
          "[cluster][blocks]") {
    use_cluster_as("rdmanet");
    const std::string server = GENERATE("apiserver", "etcd");
    CAPTURE(server);
    const std::string space = own_space();
    const Declared range(space, kOfBlocks, "'requestable':'10.31.31.64/26'");
    const ClusterMachine machine(space + "-a", space);
    const CheckedStage stage;
    std::vector<PluginCall> pods;
    for (const char* one : {kOfPools, kOfBlocks}) {
        pods.push_back(impatient_call(machine, stage.pod, one, 2 * Traffic::kThreads));
        pods.back().ifname = one == kOfPools ? "pool" : "block";
    }
    {
        TrafficInCluster traffic(machine, stage.pod);
        traffic.wait_for(&Traffic::added);
        shell("kill -KILL " + pid_of(server));
        traffic.wait_for(&Traffic::refused);
        shell(cluster() + "/start");
        traffic.wait_for(&Traffic::added);
        for (const PluginCall& pod : pods) (void)add_in_time(pod);
        const StoppedServer stopped(server);
        traffic.wait_for(&Traffic::refused);
        CHECK(traffic.end() == "");
        for (const PluginCall& pod : pods) CHECK(del(pod) == "");
    }
    CHECK(shell("find /run/rdmanet/attachments -name '*.json'") != ""); // what the DELs owe
    wait_until_idle();
    pay_debts();
    CHECK(leases_left(space, "10.31.21.0-25") == "");
    CHECK(shell("find /run/rdmanet/attachments -name '*.json'") == "");
}

TEST_CASE("what a person deletes in the cluster between ADD and DEL is not missed by DEL", "[cluster]") {
    const ClusterStage stage;
    const PluginCall call = call_in_cluster(stage.pod, "10.31.22.0/24");
    const auto remove = [](const std::string& object) { shell(concat(cluster(), "/delete ", object, " >/dev/null")); };
    for (const std::string object : {"overlappingrangeipreservations/10.31.22.1", "ippools/10.31.22.0-24"}) {
        INFO(object);
        CHECK(addresses(add(call)) == "10.31.22.1/24");
        remove(object);
        CHECK(del(call) == "");
        CHECK(pool_records("10.31.22.0-24") == kHasNoRecord);
    }
    CHECK(shell("find /run/rdmanet/attachments -name '*.json'") == "");
    // Its pool was deleted, and the reservation is its own: a new ADD has the address again.
    CHECK(addresses(add(call)) == "10.31.22.1/24");
    CHECK(del(call) == "");
}

TEST_CASE("a proxy that the kubeconfig names passes everything on, and its password stays a secret", "[cluster]") {
    NEEDS(cluster_lacks().empty(), cluster_lacks());
    const CheckedStage stage;
    PluginCall call = call_in_cluster(stage.pod, "10.31.23.0/24");
    call.more_environment = {"HTTPS_PROXY=http://127.0.0.1:1", "https_proxy=http://127.0.0.1:1"};
    ConnectProxy proxy("Basic dTpoMWRkZW4="); // u:h1dden
    const auto by_proxy = [&](const std::string& user, const std::string& port) {
        write_kubeconfig(
            kubeconfig("server:", concat("proxy-url: \"http://", user, "@127.0.0.1:", port, "\", server:")));
    };
    const std::string port = std::to_string(proxy.port());
    by_proxy("u:h1dden", port);
    CHECK(addresses(add(call)) == "10.31.23.1/24");
    CHECK(del(call) == "");
    const auto requests = proxy.requests();
    REQUIRE(requests.size() == 2);
    CHECK(requests[0] == "CONNECT " + shell(cluster() + "/get --url").substr(8) + " HTTP/1.1");

    const std::string named = "proxy http://127.0.0.1:" + port + ": ";
    by_proxy("u:wr0ng", port);
    CHECK_THAT(refusal(call), Names("code 11", "HTTP: " + named + "it refuses to connect: \"HTTP/1.1 407") &&
                                  !Catch::Contains("wr0ng") && !Catch::Contains("dTp"));
    by_proxy("u:h1dden", "1");
    CHECK_THAT(refusal(call), Names("code 11", "TCP: proxy http://127.0.0.1:1: connecting: connection refused") &&
                                  !Catch::Contains("h1dden"));
    CHECK(pool_records("10.31.23.0-24") == kHasNoRecord);
}

TEST_CASE("STATUS asks an API server once in half a minute, and does not blame the node for a silent one",
          "[cluster][status]") {
    const ClusterStage stage;
    const auto status = [](const PluginCall& call) { return outcome(call, "STATUS"); };
    const auto after_half_a_minute = [] { shell("rm /run/rdmanet/range-verdict-*"); };
    const PluginCall call = call_in_cluster(stage.pod, "10.31.24.0/24");
    shell("rm -rf /run/rdmanet"); // as before the first ADD of a boot
    int reads = pool_reads();
    for (int time = 0; time < 4; ++time) CHECK(status(call) == "");
    CHECK(pool_reads() - reads == 1);

    // A full range, whose pods are all on other nodes: more of them than the allocator looks at in one go.
    shell(concat("records=$(jq -nc '[range(1; 1023) | {(tostring): {id: \"far\", podref: \"shop/far\", ifname: "
                 "\"net1\"}}] | add') && ",
                 cluster(),
                 R"(/apply '{"apiVersion":"whereabouts.cni.cncf.io/v1alpha1","kind":"IPPool","metadata":)"
                 R"({"name":"10.31.28.0-22"},"spec":{"range":"10.31.28.0/22","allocations":'"$records"'}}')"));
    const PluginCall full = call_in_cluster(stage.pod, "10.31.28.0/22");
    reads = pool_reads();
    for (int time = 0; time < 4; ++time) CHECK_THAT(status(full), Names("code 50", "10.31.28.0/22", "leases: 1022"));
    CHECK(pool_reads() - reads == 1);
    CHECK_THAT(refusal(full), Names("10.31.28.0/22", "1022 leases"));
    CHECK(pool_reads() - reads <= 3);

    write_kubeconfig(kubeconfig("", "", "nobody")); // another file is asked with at once
    for (int time = 0; time < 2; ++time) CHECK_THAT(status(call), Names("code 109", "HTTP 403", "grant that right"));
    write_kubeconfig(kubeconfig());
    CHECK(status(call) == "");
    {
        const std::string url = shell(cluster() + "/get --url");
        const StoppedServer stopped;
        CHECK(status(call) == "");
        after_half_a_minute();
        const ProcessResult asked = impatient(call).with_command("STATUS").run();
        CHECK(asked.exit_status == 0);
        CHECK_THAT(asked.err, Names("not known whether", url));
        CHECK(impatient(call).with_command("STATUS").run().err == ""); // and nobody is asked
    }
    after_half_a_minute();
    CHECK(status(call) == "");
    shell(concat(cluster(), "/delete ippools/10.31.28.0-22 >/dev/null"));
}

} // namespace rdmanet::test
