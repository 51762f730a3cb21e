// What reconciling frees in pools and blocks, and what it keeps.
#include "reconcile_fixture.hpp"

#include <catch2/catch.hpp>

#include <thread>

using namespace rdmanet;
using namespace rdmanet::cluster;
using namespace rdmanet::cluster::test;
using Catch::Matchers::Contains;

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
            return Fate::passes;
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
            return Fate::passes;
        });
        CHECK(freed(reconcile(*api, {}, soon())) == "10.0.0.1 pod-name, 10.0.0.2 pod-name");
        CHECK_FALSE(is_early);
    }
    SECTION("a record that was written in between is looked at for the first time") {
        relay.decide([&](const std::string& request) {
            if (request == kClock && ++asked == 2) {
                relay.clock_ahead = 300;
                patch(objects("ippools/10.0.0.0-24"),
                      R"([{"op":"replace","path":"/spec/allocations/1/id","value":"other"}])");
            }
            return Fate::passes;
        });
        const Reconciled result = reconcile(*api, {}, soon());
        CHECK(freed(result) == "10.0.0.2 pod-name");
        CHECK(kept(result) == "10.0.0.1 it was not so at the first look");
    }
    SECTION("a pod that comes right before keeps its record") {
        relay.decide([&](const std::string& request) {
            if (request == kClock && ++asked == 2) relay.clock_ahead = 300;
            if (request == "GET /api/v1/namespaces/" + space + "/pods/p1") make_pod("p1");
            return Fate::passes;
        });
        const Reconciled result = reconcile(*api, {}, soon());
        CHECK(freed(result) == "10.0.0.2 pod-name");
        CHECK(kept(result) == "10.0.0.1 its pod is there again");
        CHECK(allocations() == "1");
        CHECK(reservations() == "10.0.0.1");
    }
    SECTION("time that does not pass ends the wait") {
        const Reconciled result = reconcile(*api, {}, base::Deadline::in(60s));
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
        return Fate::passes;
    });
    CHECK(freed(result).empty());
    CHECK(kept(result) == "10.0.0.1 somebody else has changed it meanwhile");
    CHECK(allocations() == "1");
    CHECK(reservations() == "10.0.0.1");

    SECTION("an address that another range has given in between is named") {
        const Reconciled second = run({}, [&](const std::string& request) {
            if (request != "PATCH " + pool) return Fate::passes;
            patch(pool, R"([{"op":"replace","path":"/spec/allocations/1/id","value":"next"}])");
            make_reservation("10.0.0.1", ref("other"));
            return Fate::passes;
        });
        CHECK(freed(second).empty());
        CHECK_THAT(kept(second), Contains("10.0.0.1 ") && Contains(ref("other")) && Contains(ref("p")));
    }
    SECTION("a reservation that the successor has made itself is its own") {
        const Reconciled second = run({}, [&](const std::string& request) {
            if (request != "PATCH " + pool) return Fate::passes;
            patch(pool, R"([{"op":"replace","path":"/spec/allocations/1/id","value":"next"}])");
            make_reservation("10.0.0.1", ref("p"));
            return Fate::passes;
        });
        CHECK(kept(second) == "10.0.0.1 somebody else has changed it meanwhile");
    }
    SECTION("a DEL that was faster leaves nothing to keep") {
        const Reconciled second = run({}, [&](const std::string& request) {
            if (request == "PATCH " + pool) patch(pool, R"([{"op":"remove","path":"/spec/allocations/1"}])");
            return Fate::passes;
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
    const Reconciled result = run(
        {}, [&](const std::string& request) { return request.starts_with("PATCH ") ? Fate::is_lost : Fate::passes; });
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
                return Fate::passes;
            });
            const auto api = relay.connect();
            result = reconcile(*api, {}, soon());
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
            return Fate::passes;
        });
        const auto api = relay.connect();
        CHECK(freed(reconcile(*api, {}, soon())).find("node-gone") != std::string::npos);
        CHECK(ahead_at_change == 300);
        CHECK_THAT(blocks(), Contains(" b") && !Contains(" a"));
    }
    SECTION("it is registered anew right before") {
        const std::string of_node = "GET " + std::string(kNodesPath) + "?fieldSelector=metadata.name%3D" + a->name();
        const Reconciled result = run({}, [&, is_back = false](const std::string& request) mutable {
            const bool is_last_moment = request.starts_with(of_node) || request.starts_with("PATCH ");
            if (is_last_moment && !std::exchange(is_back, true)) make_node("a", a->boot());
            return Fate::passes;
        });
        CHECK(freed(result).empty());
        CHECK_THAT(kept(result), Contains("its node is there again"));
        CHECK(blocks() == before);
    }
    SECTION("it is registered anew meanwhile") {
        const Reconciled result = run({}, [&, is_back = false](const std::string& request) mutable {
            if (request == kClock && !std::exchange(is_back, true)) make_node("a", a->boot());
            return Fate::passes;
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
