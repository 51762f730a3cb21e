// What pods and nodes that are gone have left, in a namespace of its own, on the real API server.
#include "blocks_fixture.hpp"
#include "relay.hpp"

#include "blocks/objects.hpp"

#include <rdmanet/cluster/etcd_store.hpp>
#include <rdmanet/cluster/reconcile.hpp>
#include <rdmanet/etcd/client.hpp>

#include <catch2/catch.hpp>

#include <algorithm>
#include <fstream>
#include <thread>

using namespace rdmanet;
using namespace rdmanet::cluster;
using namespace rdmanet::cluster::test;
using Catch::Matchers::Contains;

namespace {

using Answer = rdmanet::cluster::test::Fate; // one of etcd's cases is called the same
using Hook = std::function<Answer(const std::string&)>;
using UnknownNode = ReconcileOptions::UnknownNode;

constexpr const char* kClock = "GET /api/v1/pods?limit=1";

class Leftovers : public BlocksFixture {
public:
    Leftovers() {
        if (!is_there()) return;
        for_each(kNodesPath,
                 [&](const json::Reader& node) { nodes_.push_back(node.at("metadata").at("name").string()); });
        for (const std::string& node : nodes_) delete_node(node); // another case's
        create("/api/v1/namespaces", R"({"metadata":{"name":")" + space + "\"}}");
    }

    void create(const std::string& path, const std::string& object) {
        expect_done(admin->create(path, object, soon()));
    }
    [[nodiscard]] std::string objects(const std::string& plural) const {
        return "/apis/whereabouts.cni.cncf.io/v1alpha1/namespaces/" + space + "/" + plural;
    }
    /// 10.0.0.0/24 with these allocations.
    void make_pool(const std::string& allocations) {
        create(objects("ippools"),
               R"({"apiVersion":"whereabouts.cni.cncf.io/v1alpha1","kind":"IPPool","metadata":{"name":)"
               R"("10.0.0.0-24"},"spec":{"range":"10.0.0.0/24","allocations":)" +
                   allocations + "}}");
    }
    static std::string record(const std::string& container, const std::string& podref) {
        return R"({"id":")" + container + R"(","podref":")" + podref + R"(","ifname":"net1"})";
    }
    void make_reservation(const std::string& address, const std::string& podref,
                          const std::string& annotations = "{}") {
        create(
            objects("overlappingrangeipreservations"),
            R"({"apiVersion":"whereabouts.cni.cncf.io/v1alpha1","kind":"OverlappingRangeIPReservation","metadata":{"name":")" +
                address + R"(","annotations":)" + annotations + R"(},"spec":{"podref":")" + podref +
                R"(","ifname":"net1"}})");
    }
    /// As rdmanet writes them.
    static std::string says(const std::string& container, const std::string& pod_uid, const std::string& boot = "",
                            const std::string& node_uid = "") {
        return R"({"rdmanet.cni/container-id":")" + container + R"(","rdmanet.cni/pod-uid":")" + pod_uid +
               R"(","rdmanet.cni/boot-id":")" + boot + R"(","rdmanet.cni/node-uid":")" + node_uid + "\"}";
    }
    /// Returns its UID.
    std::string make_pod(const std::string& name, const std::string& node = "some",
                         const std::string& annotations = "{}") {
        const std::string pods = "/api/v1/namespaces/" + space + "/pods";
        create(pods, R"({"metadata":{"name":")" + name + R"(","annotations":)" + annotations +
                         R"(},"spec":{"nodeName":")" + node + R"(","containers":[{"name":"c","image":"i"}]}})");
        const auto made = admin->get(pods + "/" + name, soon());
        return std::get<kube::Object>(made).content.root().at("metadata").at("uid").string();
    }
    void delete_pod(const std::string& name, const std::string& uid) {
        // Grace of 0: kubelet, which would confirm, is not there.
        expect_done(admin->remove("/api/v1/namespaces/" + space + "/pods/" + name + "?gracePeriodSeconds=0",
                                  {.uid = uid}, soon()));
    }
    void end_pod(const std::string& name, const std::string& network) {
        patch(
            "/api/v1/namespaces/" + space + "/pods/" + name + "/status",
            R"([{"op":"replace","path":"/status/phase","value":"Succeeded"},{"op":"add","path":"/status/conditions","value":[)"
            R"({"type":"PodReadyToStartContainers","status":")" +
                network + R"("}]}])");
    }
    std::string make_ready_node(const std::string& suffix, const std::string& ready = "True") {
        const std::string name = make_node(suffix, space + "-boot-" + suffix);
        set_ready(name, ready);
        return name;
    }
    void set_ready(const std::string& node, const std::string& ready) {
        patch(std::string(kNodesPath) + "/" + node + "/status",
              R"([{"op":"add","path":"/status/conditions","value":[{"type":"Ready","status":")" + ready + "\"}]}]");
    }

    /// Runs with the clock on once the first look is over. `hook` sees each request.
    Reconciled run(ReconcileOptions options = {}, const Hook& hook = nullptr) {
        Relay relay("admin", space);
        relay.has_small_pages = true;
        relay.decide([&, asked = 0](const std::string& request) mutable {
            if (request == kClock && ++asked == 2) relay.clock_ahead = kBlocksApart.count();
            return hook ? hook(request) : Answer::passes;
        });
        const auto api = relay.connect();
        const Reconciled result = reconcile(*api, etcd ? std::optional(etcd()) : std::nullopt, options, soon());
        requests = relay.take_requests();
        return result;
    }
    /// Of this case, and not blocks of others.
    [[nodiscard]] std::string freed(const Reconciled& result) const {
        return text_of(result.freed, [](const Left& left) { return left.rule; });
    }
    [[nodiscard]] std::string kept(const Reconciled& result) const {
        return text_of(result.kept, [](const Left& left) { return left.why; });
    }
    template <class Say>
    [[nodiscard]] std::string text_of(const std::vector<Left>& all, Say say) const {
        std::string text;
        for (const Left& left : all)
            if (left.kind != "AddressBlock" || left.object.starts_with(space))
                text += (text.empty() ? "" : ", ") + left.address + " " + say(left);
        return text;
    }
    [[nodiscard]] std::string allocations() {
        const auto outcome = admin->get(objects("ippools/10.0.0.0-24"), soon());
        std::string keys;
        for (const auto& [key, record] :
             std::get<kube::Object>(outcome).content.root().at("spec").at("allocations").members())
            keys += (keys.empty() ? "" : " ") + key;
        return keys;
    }
    [[nodiscard]] std::string reservations() {
        std::string names;
        for_each(objects("overlappingrangeipreservations"), [&](const json::Reader& object) {
            names += (names.empty() ? "" : " ") + object.at("metadata").at("name").string();
        });
        return names;
    }
    [[nodiscard]] bool has_asked(const std::string& what) const {
        return std::any_of(requests.begin(), requests.end(),
                           [&](const std::string& request) { return request.starts_with(what); });
    }
    [[nodiscard]] std::string ref(const std::string& pod) const { return space + "/" + pod; }

    std::vector<std::string> requests;
    std::function<EtcdToReconcile()> etcd; // if there are leases, too

private:
    std::vector<std::string> nodes_;
};

} // namespace

TEST_CASE_METHOD(Leftovers, "records and reservations of pods that are gone are freed, by UID where it is known") {
    if (!is_there()) return;
    const std::string alive = make_pod("alive");
    make_pod("mirror", "some", R"({"kubernetes.io/config.hash":"static-uid"})");
    make_pod("successor");
    make_pool("{\"1\":" + record("a", ref("alive")) + ",\"2\":" + record("b", ref("gone")) +
              ",\"3\":" + record("c", ref("mirror")) + ",\"4\":" + record("d", ref("successor")) +
              ",\"5\":" + record("heir", ref("successor")) + ",\"6\":" + record("f", "") +
              ",\"7\":" + record("g", "../../x/y") + ",\"x\":" + record("h", ref("gone")) + "}");
    make_reservation("10.0.0.1", ref("alive"), says("a", alive));
    make_reservation("10.0.0.2", ref("gone"));
    make_reservation("10.0.0.3", ref("mirror"), says("c", "static-uid"));
    make_reservation("10.0.0.4", ref("successor"), says("d", "uid-of-before"));
    // whereabouts has given the record to the successor, and leaves the reservation as it is.
    make_reservation("10.0.0.5", ref("successor"), says("e", "uid-of-before"));
    make_reservation("10.0.0.8", ref("gone"));
    make_reservation("10.0.0.9", ref("alive"));

    const Reconciled result = run();
    CHECK(result.failure.empty());
    CHECK(freed(result) == "10.0.0.2 pod-name, 10.0.0.4 pod-uid, 10.0.0.8 pod-name");
    CHECK(kept(result).empty());
    CHECK(allocations() == "1 3 5 6 7 x");
    CHECK(reservations() == "10.0.0.1 10.0.0.3 10.0.0.5 10.0.0.9");
    CHECK(result.needed >= 4);
    CHECK(result.foreign == 2);
    CHECK(result.unreadable == 1);
    CHECK(freed(run()).empty());
    CHECK_FALSE(has_asked(kClock)); // nothing to wait for
}

TEST_CASE_METHOD(Leftovers, "a process that only looks names the rule of each record, and changes nothing") {
    if (!is_there()) return;
    make_pool("{\"2\":" + record("b", ref("gone")) + "}");
    make_reservation("10.0.0.2", ref("gone"), says("b", "uid-1"));
    make_reservation("10.0.0.3", ref("lost"));
    const Reconciled result = run({.act = ReconcileOptions::Act::only_looks});
    REQUIRE(result.freed.size() >= 2);
    CHECK(freed(result) == "10.0.0.2 pod-uid, 10.0.0.3 pod-name");
    CHECK(result.freed[0].why == "no pod has UID uid-1");
    CHECK(result.freed[1].why == "there is no pod " + ref("lost"));
    CHECK(std::all_of(requests.begin(), requests.end(), [](const auto& one) { return one.starts_with("GET "); }));
    CHECK_FALSE(has_asked("GET /api/v1/namespaces/")); // lists of pods in pages, and none for each record
    CHECK(allocations() == "2");
}

TEST_CASE_METHOD(Leftovers, "what a node has that is not ready is kept until the node is ready or gone") {
    if (!is_there()) return;
    const std::string node = make_ready_node("a", "Unknown");
    const std::string uid = uid_of_node(node);
    make_pool("{\"1\":" + record("a", ref("p1")) + ",\"2\":" + record("b", ref("p2")) +
              ",\"3\":" + record("c", ref("p3")) + "}");
    make_reservation("10.0.0.1", ref("p1"), says("a", "u1", space + "-boot-a", uid));
    make_reservation("10.0.0.2", ref("p2"), says("b", "u2", space + "-boot-a")); // of an earlier version
    const std::string unready = " its node " + node + " is not ready";
    const std::string unknown = "10.0.0.3 it does not say its node, and node " + node + " is not ready";

    const Reconciled held = run();
    CHECK(freed(held).empty());
    CHECK(kept(held) == "10.0.0.1" + unready + ", 10.0.0.2" + unready + ", " + unknown);
    CHECK(freed(run({.unknown_node = UnknownNode::is_ready})) == "10.0.0.3 pod-name");
    SECTION("ready") {
        set_ready(node, "True");
        CHECK(freed(run()) == "10.0.0.1 pod-uid, 10.0.0.2 pod-uid");
    }
    SECTION("registered anew: it reports the boot") {
        delete_node(node);
        make_ready_node("a", "False");
        CHECK(kept(run()) == "10.0.0.1" + unready + ", 10.0.0.2" + unready);
    }
    SECTION("gone") {
        delete_node(node);
        make_ready_node("b", "False"); // another one
        CHECK(freed(run()) == "10.0.0.1 pod-uid, 10.0.0.2 pod-uid");
    }
    SECTION("not ready between the looks") {
        set_ready(node, "True");
        const Reconciled result = run({}, [&](const std::string& request) {
            if (request == kClock) set_ready(node, "False");
            return Answer::passes;
        });
        CHECK(freed(result).empty());
        CHECK(kept(result) == "10.0.0.1" + unready + ", 10.0.0.2" + unready);
    }
}

TEST_CASE_METHOD(Leftovers, "a pod that has ended keeps its address until its node has taken its network down") {
    if (!is_there()) return;
    const std::string node = make_ready_node("a");
    make_pod("job", node);
    make_pool("{\"1\":" + record("a", ref("job")) + "}");
    CHECK(run().needed >= 1);
    end_pod("job", "True");
    CHECK(kept(run()) == "10.0.0.1 the pod has ended, and its node does not say that its network is down");
    SECTION("it has") {
        end_pod("job", "False");
        const Reconciled result = run();
        CHECK(freed(result) == "10.0.0.1 pod-ended");
    }
    SECTION("it has, and is not ready") {
        end_pod("job", "False");
        set_ready(node, "Unknown");
        CHECK(kept(run()) == "10.0.0.1 its node " + node + " is not ready");
    }
    SECTION("the node is gone") {
        delete_node(node);
        CHECK(freed(run()) == "10.0.0.1 pod-ended");
    }
}

TEST_CASE_METHOD(Leftovers, "the two looks are two minutes apart by the server's clock, and both must find the same") {
    if (!is_there()) return;
    make_pool("{\"1\":" + record("a", ref("p1")) + ",\"2\":" + record("b", ref("p2")) + "}");
    make_reservation("10.0.0.1", ref("p1"));
    make_reservation("10.0.0.2", ref("p2"));
    Relay relay("admin", space);
    const auto api = relay.connect();
    int asked = 0;
    SECTION("not earlier") {
        bool is_early = false; // a second look, or a change
        relay.decide([&](const std::string& request) {
            if (request == kClock) relay.clock_ahead = ++asked == 1 ? 0 : asked == 2 ? 119 : 300;
            is_early = is_early || (asked == 2 && request != kClock);
            return Answer::passes;
        });
        CHECK(freed(reconcile(*api, std::nullopt, {}, soon())) == "10.0.0.1 pod-name, 10.0.0.2 pod-name");
        CHECK_FALSE(is_early);
    }
    SECTION("a record that was written in between is looked at for the first time") {
        relay.decide([&](const std::string& request) {
            if (request == kClock && ++asked == 2) {
                relay.clock_ahead = 300;
                patch(objects("ippools/10.0.0.0-24"),
                      R"([{"op":"replace","path":"/spec/allocations/1/id","value":"other"}])");
            }
            return Answer::passes;
        });
        const Reconciled result = reconcile(*api, std::nullopt, {}, soon());
        CHECK(freed(result) == "10.0.0.2 pod-name");
        CHECK(kept(result) == "10.0.0.1 it was not so at the first look");
    }
    SECTION("a pod that comes right before keeps its record") {
        relay.decide([&](const std::string& request) {
            if (request == kClock && ++asked == 2) relay.clock_ahead = 300;
            if (request == "GET /api/v1/namespaces/" + space + "/pods/p1") make_pod("p1");
            return Answer::passes;
        });
        const Reconciled result = reconcile(*api, std::nullopt, {}, soon());
        CHECK(freed(result) == "10.0.0.2 pod-name");
        CHECK(kept(result) == "10.0.0.1 its pod is there again");
        CHECK(allocations() == "1");
        CHECK(reservations() == "10.0.0.1");
    }
    SECTION("time that does not pass ends the wait") {
        const Reconciled result = reconcile(*api, std::nullopt, {}, base::Deadline::in(60s));
        CHECK_THAT(result.failure, Contains("waited for the API server's clock"));
        CHECK(result.freed.empty());
    }
}

TEST_CASE_METHOD(Leftovers, "a record that somebody takes over while it is freed stays, and so does its reservation") {
    if (!is_there()) return;
    make_pool("{\"1\":" + record("a", ref("p")) + "}");
    make_reservation("10.0.0.1", ref("p"), says("a", "uid-of-before"));
    const std::string pool = objects("ippools/10.0.0.0-24");
    const Reconciled result = run({}, [&](const std::string& request) {
        if (request == "PATCH " + pool) // whereabouts, which saw the reservation when it was there
            patch(pool, R"([{"op":"replace","path":"/spec/allocations/1/id","value":"successor"}])");
        return Answer::passes;
    });
    CHECK(freed(result).empty());
    CHECK(kept(result) == "10.0.0.1 somebody else has changed it meanwhile");
    CHECK(allocations() == "1");
    CHECK(reservations() == "10.0.0.1");

    SECTION("a DEL that was faster leaves nothing to keep") {
        const Reconciled second = run({}, [&](const std::string& request) {
            if (request == "PATCH " + pool) patch(pool, R"([{"op":"remove","path":"/spec/allocations/1"}])");
            return Answer::passes;
        });
        CHECK(freed(second).empty());
        CHECK(reservations().empty());
        CHECK(allocations().empty());
    }
}

TEST_CASE_METHOD(Leftovers, "a process that is killed or gets no answer leaves what the next one frees") {
    if (!is_there()) return;
    make_pool("{\"1\":" + record("a", ref("p")) + "}");
    make_reservation("10.0.0.1", ref("p"));
    const Reconciled result = run({}, [&](const std::string& request) {
        return request.starts_with("PATCH ") ? Answer::is_lost : Answer::passes;
    });
    CHECK_THAT(result.failure, Contains("no answer says whether IPPool 10.0.0.0-24 was changed"));
    CHECK(allocations() == "1");
    CHECK(reservations().empty());
    CHECK(freed(run()) == "10.0.0.1 pod-name");
    CHECK(allocations().empty());
}

TEST_CASE_METHOD(Leftovers, "several at once free each record once") {
    if (!is_there()) return;
    std::string all;
    constexpr int kRecords = 20;
    for (int number = 1; number <= kRecords; ++number) {
        all += (all.empty() ? "\"" : ",\"") + std::to_string(number) +
               "\":" + record("c" + std::to_string(number), ref("p"));
        make_reservation("10.0.0." + std::to_string(number), ref("p"));
    }
    make_pool("{" + all + "}");
    std::vector<Reconciled> results(3);
    std::vector<std::thread> threads;
    for (Reconciled& result : results)
        threads.emplace_back([&] {
            Relay relay("admin", space);
            relay.decide([&, asked = 0](const std::string& request) mutable {
                if (request == kClock && ++asked == 2) relay.clock_ahead = kBlocksApart.count();
                return Answer::passes;
            });
            const auto api = relay.connect();
            result = reconcile(*api, std::nullopt, {}, soon());
        });
    for (std::thread& thread : threads) thread.join();
    std::size_t count = 0;
    for (const Reconciled& result : results) {
        CHECK(result.failure.empty());
        count += static_cast<std::size_t>(std::count_if(result.freed.begin(), result.freed.end(),
                                                        [](const Left& left) { return left.kind == "IPPool"; }));
    }
    CHECK(count == kRecords);
    CHECK(allocations().empty());
    CHECK(reservations().empty());
}

TEST_CASE_METHOD(Leftovers, "blocks of a node that is gone are freed, and of no other") {
    if (!is_there()) return;
    auto a = node("a");
    auto b = node("b");
    CHECK(a->reserve("c", {claim("10.0.0.0/30")}) != "exhausted");
    CHECK(b->reserve("d", {claim("10.0.0.0/30")}) != "exhausted");
    const std::string before = blocks();
    CHECK(freed(run()).empty()); // neither is ready, which says nothing of blocks
    delete_node(a->name());
    SECTION("it is seen twice, five minutes apart") {
        std::int64_t ahead_at_change = 0;
        Relay relay("admin", space);
        relay.decide([&, asked = 0](const std::string& request) mutable {
            if (request == kClock) relay.clock_ahead = ++asked == 1 ? 0 : asked == 2 ? 299 : 300;
            if (request.starts_with("PATCH ")) ahead_at_change = relay.clock_ahead;
            return Answer::passes;
        });
        const auto api = relay.connect();
        CHECK(freed(reconcile(*api, std::nullopt, {}, soon())).find("node-gone") != std::string::npos);
        CHECK(ahead_at_change == 300);
        CHECK_THAT(blocks(), Contains(" b") && !Contains(" a"));
    }
    SECTION("it is registered anew meanwhile") {
        const Reconciled result = run({}, [&, is_back = false](const std::string& request) mutable {
            if (request == kClock && !std::exchange(is_back, true)) make_node("a", a->boot());
            return Answer::passes;
        });
        CHECK(freed(result).empty());
        CHECK(blocks() == before);
    }
}

TEST_CASE_METHOD(Leftovers, "pods are seen in however many pages they come") {
    if (!is_there()) return;
    std::string all;
    for (int number = 1; number <= 8; ++number) {
        const std::string name = "p" + std::to_string(number);
        if (number != 5) make_pod(name);
        all += (all.empty() ? "\"" : ",\"") + std::to_string(number) +
               "\":" + record("c" + std::to_string(number), ref(name));
    }
    make_pool("{" + all + "}");
    const Reconciled result = run(); // which asks for three at once
    CHECK(result.failure.empty());
    CHECK(freed(result) == "10.0.0.5 pod-name");
    CHECK(result.needed >= 7);
    CHECK(has_asked("GET /api/v1/pods?limit=250&continue="));
}

namespace {

/// Nodes that keep their leases in the API server's own etcd, which is there anyway.
class EtcdLeftovers : public Leftovers {
public:
    [[nodiscard]] etcd::Client connect_to_etcd() const {
        std::ifstream ports(*cluster_directory() + "/ports");
        std::string of_api;
        std::string of_etcd;
        ports >> of_api >> of_etcd;
        return {etcd::read_access({.endpoints = {"http://127.0.0.1:" + of_etcd}}), etcd::Memory(),
                http::Limits{.connect = 60s, .request = 60s}};
    }
    [[nodiscard]] std::unique_ptr<ipam::Store> store_of(const std::string& machine_id,
                                                        const std::string& its_boot) const {
        return make_etcd_store(connect_to_etcd(), {.prefix = prefix_of_keys,
                                                   .machine_id = machine_id,
                                                   .node_name = "node-" + machine_id,
                                                   .boot_id = its_boot,
                                                   .spaces = {space},
                                                   .before_claim = {},
                                                   .warn = {}});
    }
    /// Takes 10.0.0.NUMBER.
    [[nodiscard]] ipam::Owner lease(ipam::Store& store, int number, const std::string& pod, const std::string& uid) {
        ipam::Owner who = owner("c" + std::to_string(number), pod);
        who.pod_namespace = space;
        who.pod_uid = uid;
        who.boot_id = boot;
        const std::string address = "10.0.0." + std::to_string(number);
        CHECK(cluster::test::text_of(store.reserve(who, {wanting("10.0.0.0/24", address)}, soon())) == address + "/24");
        return who;
    }
    const std::string prefix_of_keys = "/rdmanet/" + space;
    const std::string boot = space + "-boot-a";
};

} // namespace

TEST_CASE_METHOD(EtcdLeftovers, "leases in etcd are freed if this cluster has the node, by the same rules") {
    if (!is_there()) return;
    etcd = [this] { return EtcdToReconcile{.client = connect_to_etcd(), .prefix = prefix_of_keys}; };
    const std::string node = make_ready_node("a", "False");
    const auto here = store_of("machine-" + node, boot);
    const auto elsewhere = store_of("of-another-cluster", "b");
    const ipam::Owner alive = lease(*here, 1, "alive", make_pod("alive"));
    const ipam::Owner gone = lease(*here, 2, "gone", "uid-1");
    (void)lease(*elsewhere, 3, "gone", "uid-2");
    ipam::Owner nameless = owner("c4", "");
    nameless.pod_namespace.clear();
    CHECK(here->reserve(nameless, {wanting("10.0.0.0/24", "10.0.0.4")}, soon()).index() == 0);

    const std::string others = "10.0.0.3 no Node has its machine id of-another-cluster";
    CHECK(kept(run()) == "10.0.0.2 its node " + node + " is not ready, " + others);
    set_ready(node, "True");
    const Reconciled result = run();
    CHECK(result.failure.empty());
    CHECK(freed(result) == "10.0.0.2 pod-uid");
    CHECK(kept(result) == others);
    CHECK(result.foreign == 1);
    CHECK(here->find(gone.key, soon()).empty());
    CHECK(here->find(alive.key, soon()).size() == 1);
    CHECK(here->usage(claim("10.0.0.0/24"), soon()).leases == 3);

    SECTION("a lease that is given anew between the looks is another one") {
        const ipam::Owner again = lease(*here, 2, "gone", "uid-1");
        const Reconciled second = run({}, [&, is_new = false](const std::string& request) mutable {
            if (request == kClock && !std::exchange(is_new, true)) {
                (void)here->release(again.key, soon());
                (void)lease(*here, 2, "gone", "uid-1");
            }
            return Answer::passes;
        });
        CHECK(freed(second).empty());
        CHECK(kept(second) == "10.0.0.2 it was not so at the first look, " + others);
    }
}

TEST_CASE_METHOD(EtcdLeftovers, "an etcd that is away keeps nothing in the API server from being freed") {
    if (!is_there()) return;
    etcd = [this] {
        return EtcdToReconcile{.client = {etcd::read_access({.endpoints = {"http://127.0.0.1:1"}}), etcd::Memory(),
                                          http::Limits{.connect = 1s, .request = 1s}},
                               .prefix = prefix_of_keys};
    };
    make_pool("{\"1\":" + record("a", ref("gone")) + "}");
    const Reconciled result = run();
    CHECK_THAT(result.failure, Contains("127.0.0.1:1"));
    CHECK(freed(result) == "10.0.0.1 pod-name");
    CHECK(allocations().empty());
}

namespace {

struct ReconcileRight {
    const char* group;
    const char* resource;
    const char* verb;
};
/// Those of conf-examples/cronjob-reconcile.yaml.
constexpr ReconcileRight kReconcileRights[] = {{"whereabouts.cni.cncf.io", "ippools", "get"},
                                               {"whereabouts.cni.cncf.io", "ippools", "list"},
                                               {"whereabouts.cni.cncf.io", "ippools", "patch"},
                                               {"whereabouts.cni.cncf.io", "overlappingrangeipreservations", "list"},
                                               {"whereabouts.cni.cncf.io", "overlappingrangeipreservations", "create"},
                                               {"whereabouts.cni.cncf.io", "overlappingrangeipreservations", "delete"},
                                               {"", "pods", "get"},
                                               {"", "pods", "list"},
                                               {"", "nodes", "list"},
                                               {"rdmanet.cni", "addressblocks", "list"},
                                               {"rdmanet.cni", "addressblocks", "patch"},
                                               {"rdmanet.cni", "addressblocks", "delete"}};

std::string rules_but(const ReconcileRight* missing) {
    std::string rules;
    for (const ReconcileRight& right : kReconcileRights)
        if (&right != missing)
            rules += std::string(rules.empty() ? "[" : ",") + R"({"apiGroups":[")" + right.group +
                     R"("],"resources":[")" + right.resource + R"("],"verbs":[")" + right.verb + "\"]}";
    return rules + "]";
}

class Rights : public Leftovers {
public:
    /// Everything that is to be freed, and a successor that takes one record over in the middle. What was refused.
    std::string refusal_of_everything() {
        Relay relay("limited", space);
        return refusal_of_everything(relay);
    }
    /// As `relay` asks, in namespace `space`.
    std::string refusal_of_everything(Relay& relay) {
        const std::string pool = "n" + std::to_string(++count_) + "-10.0.0.0-24";
        create(objects("ippools"),
               R"({"apiVersion":"whereabouts.cni.cncf.io/v1alpha1","kind":"IPPool","metadata":{"name":")" + pool +
                   R"("},"spec":{"range":"10.0.0.0/24","allocations":{"1":)" + record("a", ref("p")) + "}}}");
        make_reservation("n" + std::to_string(count_) + "-10.0.0.1", ref("p"));
        BlockObject block{.space = space,
                          .range = prefix("10.9.0.0/16"),
                          .block = prefix("10.9." + std::to_string(count_ % 256) + ".0/28"),
                          .node = {.name = "gone", .uid = space, .machine_id = "m", .boot_id = space},
                          .lease_file = "f"};
        create(kBlocksPath, block.to_text());
        relay.decide([&, asked = 0](const std::string& request) mutable {
            if (request == kClock && ++asked == 2) relay.clock_ahead = kBlocksApart.count();
            if (request == "PATCH " + objects("ippools/" + pool))
                patch(objects("ippools/" + pool),
                      R"([{"op":"replace","path":"/spec/allocations/1/id","value":"successor"}])");
            return Answer::passes;
        });
        const auto api = relay.connect();
        return reconcile(*api, std::nullopt, {}, soon()).failure;
    }

    [[nodiscard]] std::string token_of(const std::string& account) {
        const auto made =
            admin->create("/api/v1/namespaces/kube-system/serviceaccounts/" + account + "/token",
                          R"({"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest","spec":{}})", soon());
        return std::get<kube::Object>(made).content.root().at("status").at("token").string();
    }

private:
    int count_ = 0;
};

} // namespace

TEST_CASE_METHOD(Rights, "reconciling works with the example's rights, and names each that is taken away") {
    if (!is_there()) return;
    {
        // In the example's namespace.
        const std::string own = std::exchange(space, "kube-system");
        Relay example("limited", "kube-system");
        example.use_token(token_of("rdmanet-reconcile"));
        CHECK(refusal_of_everything(example).empty());
        space = own;
    }
    const std::string roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
    create(roles, R"({"metadata":{"name":")" + space + R"("},"rules":)" + rules_but(nullptr) + "}");
    create("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
           R"({"metadata":{"name":")" + space +
               R"("},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":")" + space +
               R"("},"subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"User","name":"limited"}]})");
    CHECK(comes_true([&] { return refusal_of_everything().empty(); }));
    for (const ReconcileRight& missing : kReconcileRights) {
        const std::string named = std::string("cannot ") + missing.verb + " resource \"" + missing.resource + "\"";
        INFO(named);
        patch(roles + "/" + space, R"([{"op":"replace","path":"/rules","value":)" + rules_but(&missing) + "}]");
        std::string said; // the authorizer hears of the change a moment later
        CHECK(comes_true([&] {
            said = refusal_of_everything();
            return said.find(named) != std::string::npos;
        }));
        CHECK_THAT(said, Contains("limited")); // whom to give it
    }
    patch(roles + "/" + space, R"([{"op":"replace","path":"/rules","value":[]}])");
}
