// What reconciling frees in pools, and what it keeps.
#include "reconcile_fixture.hpp"

#include <catch2/catch.hpp>

#include <thread>

using namespace rdmanet;
using namespace rdmanet::cluster;
using namespace rdmanet::cluster::test;
using Catch::Matchers::Contains;

TEST_CASE_METHOD(Leftovers, "leases that name no node are freed if there is no pod of their name") {
    make_pod("alive");
    make_pool("{\"1\":" + record("a", ref("alive")) + ",\"2\":" + record("b", ref("gone")) +
              ",\"5\":" + record("heir", ref("alive")) + ",\"6\":" + record("f", "") +
              ",\"7\":" + record("g", "../../x/y") + ",\"x\":" + record("h", ref("gone")) + "}");
    make_reservation("10.0.0.1", ref("alive"));
    make_reservation("10.0.0.2", ref("gone"));
    // whereabouts has given the record to the successor, and leaves the reservation as it is.
    make_reservation("10.0.0.5", ref("alive"), says("e", "gone"));
    make_reservation("10.0.0.8", ref("gone"));
    make_reservation("10.0.0.9", ref("alive"));

    const Reconciled result = run();
    CHECK(result.failure.empty());
    CHECK(freed(result) == "10.0.0.8 pod-name, 10.0.0.2 pod-name");
    CHECK(kept(result).empty());
    CHECK(allocations() == "1 5 6 7 x");
    CHECK(reservations() == "10.0.0.1 10.0.0.5 10.0.0.9");
    CHECK(result.needed == 3);
    CHECK(result.foreign == 2);
    CHECK(result.unreadable == 1);
    CHECK(freed(run()).empty());
    CHECK(std::find(requests.begin(), requests.end(), kClock) == requests.end()); // nothing to wait for
}

TEST_CASE_METHOD(Leftovers, "a process that only looks names the rule of each record, and changes nothing") {
    make_pool("{\"2\":" + record("b", ref("gone")) + "}");
    make_reservation("10.0.0.2", ref("gone"), says("b", "a"));
    make_reservation("10.0.0.3", ref("lost"));
    const Reconciled result = run({.act = Act::only_looks});
    CHECK(freed(result) == "10.0.0.2 node-gone, 10.0.0.3 pod-name");
    REQUIRE(result.freed.size() == 2);
    CHECK(result.freed[0].why == "no Node is the machine of node " + name_of("a") + " and its boot " + boot_of("a"));
    CHECK(result.freed[1].why == "there is no pod " + ref("lost"));
    CHECK(static_cast<std::size_t>(count_asked("GET ")) == requests.size());
    CHECK(allocations() == "2");
}

TEST_CASE_METHOD(Leftovers, "a node that is there decides for itself") {
    const std::string node = make_living_node("a");
    make_pool("{\"1\":" + record("a", ref("deleted-by-force")) + "}");
    make_reservation("10.0.0.1", ref("deleted-by-force"), says("a", "a"));
    std::string rule;
    SECTION("in its boot") {}
    SECTION("with another name") {
        delete_node(node);
        make_node("b", boot_of("a"));
    }
    SECTION("until it boots again") {
        report_boot(node, "another");
        rule = "node-over";
    }
    SECTION("until it is marked as off") {
        turn_off(node);
        rule = "node-off";
    }
    SECTION("until it is gone") {
        make_pod("deleted-by-force"); // made again, elsewhere
        delete_node(node);
        rule = "node-gone";
    }
    SECTION("until its name is another machine's") {
        report_machine(node, "another");
        report_boot(node, "another");
        rule = "node-gone";
    }
    CHECK(freed(run()) == (rule.empty() ? "" : "10.0.0.1 " + rule));
    CHECK(allocations() == (rule.empty() ? "1" : ""));
    CHECK(reservations() == (rule.empty() ? "10.0.0.1" : ""));
    CHECK(count_asked("GET /api/v1/namespaces/") == 0); // no pods for this
}

TEST_CASE_METHOD(Leftovers, "until a Node has reported a lease's boot, its boot may be the earlier one") {
    make_node("a", "earlier");
    make_pod("alive");
    make_pool("{\"1\":" + record("a", ref("alive")) + ",\"2\":" + record("b", ref("gone")) + "}");
    make_reservation("10.0.0.1", ref("alive"), says("a", "a", ""));
    make_reservation("10.0.0.2", ref("gone"), says("b", "a", ""));
    CHECK(freed(run()) == "10.0.0.2 pod-name");
    CHECK(allocations() == "1");
}

TEST_CASE_METHOD(Leftovers, "the reservations of a slice's records have the network's name") {
    make_pool("{\"1\":" + record("a", ref("gone")) + "}", "net-node-1-");
    make_reservation("net-10.0.0.1", ref("gone"));
    const Reconciled result = run();
    CHECK(freed(result) == "10.0.0.1 pod-name");
    CHECK(reservations().empty());
}

TEST_CASE_METHOD(Leftovers, "the two checks are two minutes apart by the server's clock, and both must find the same") {
    make_pool("{\"1\":" + record("a", ref("p1")) + ",\"2\":" + record("b", ref("p2")) + "}");
    make_reservation("10.0.0.1", ref("p1"));
    make_reservation("10.0.0.2", ref("p2"));
    Relay relay("admin", space);
    const auto api = relay.connect();
    int asked = 0;
    const auto when_waiting = [&](const std::function<void()>& act) {
        relay.decide([&, act](const std::string& request) {
            if (request != kClock || ++asked != 2) return Fate::passes;
            relay.clock_ahead = kApart.count();
            act();
            return Fate::passes;
        });
    };
    SECTION("not earlier") {
        bool is_early = false; // a second check, or a change
        relay.decide([&](const std::string& request) {
            if (request == kClock) relay.clock_ahead = ++asked == 1 ? 0 : asked == 2 ? 117 : 120;
            is_early = is_early || (asked == 2 && request != kClock);
            return Fate::passes;
        });
        CHECK(freed(reconcile(*api, {}, soon())) == "10.0.0.1 pod-name, 10.0.0.2 pod-name");
        CHECK_FALSE(is_early);
    }
    SECTION("a record that was written in between is checked for the first time") {
        when_waiting([&] {
            patch(objects("ippools/10.0.0.0-24"),
                  R"([{"op":"replace","path":"/spec/allocations/1/id","value":"other"}])");
        });
        const Reconciled result = reconcile(*api, {}, soon());
        CHECK(freed(result) == "10.0.0.2 pod-name");
        CHECK(kept(result) == "10.0.0.1 it was not so at the first check");
    }
    SECTION("a pod that comes in between keeps its record") {
        when_waiting([&] { make_pod("p1"); });
        const Reconciled result = reconcile(*api, {}, soon());
        CHECK(freed(result) == "10.0.0.2 pod-name");
        CHECK(result.needed == 1);
        CHECK(allocations() == "1");
        CHECK(reservations() == "10.0.0.1");
    }
    SECTION("time that does not pass ends the wait") {
        const Reconciled result = reconcile(*api, {}, base::Deadline::in(60s));
        CHECK_THAT(result.failure, Contains("waited for the API server's clock"));
        CHECK(result.freed.empty());
    }
}

TEST_CASE_METHOD(Leftovers, "many records of one pool go with one patch") {
    std::string all;
    for (int number = 1; number <= 20; ++number)
        all += (all.empty() ? "\"" : ",\"") + std::to_string(number) +
               "\":" + record("c" + std::to_string(number), ref("p"));
    make_pool("{" + all + "}");
    const std::string pool = objects("ippools/10.0.0.0-24");
    SECTION("if none has changed") {
        CHECK(run().freed.size() == 20);
        CHECK(count_asked("PATCH ") == 1);
        CHECK(allocations().empty());
    }
    SECTION("and the others with a second one if some have") {
        const Reconciled result = run({}, [&, is_done = false](const std::string& request) mutable {
            if (request == "PATCH " + pool && !std::exchange(is_done, true))
                patch(pool, R"([{"op":"replace","path":"/spec/allocations/7/id","value":"successor"},)"
                            R"({"op":"remove","path":"/spec/allocations/8"}])");
            return Fate::passes;
        });
        CHECK(result.freed.size() == 18);
        CHECK(kept(result) == "10.0.0.7 somebody else has changed it meanwhile, "
                              "10.0.0.8 somebody else has changed it meanwhile");
        CHECK(count_asked("PATCH ") == 2);
        CHECK(allocations() == "7");
    }
}

TEST_CASE_METHOD(Leftovers, "a record that somebody takes over while it is freed stays, and so does its reservation") {
    make_pool("{\"1\":" + record("a", ref("p")) + "}");
    make_reservation("10.0.0.1", ref("p"), says("a", "gone"));
    const std::string pool = objects("ippools/10.0.0.0-24");
    const auto take_over = [&](const std::string& container) { // as whereabouts, which saw the reservation before
        patch(pool, R"([{"op":"replace","path":"/spec/allocations/1/id","value":")" + container + "\"}]");
    };
    const Reconciled result = run({}, [&](const std::string& request) {
        if (request == "PATCH " + pool) take_over("successor");
        return Fate::passes;
    });
    CHECK(freed(result).empty());
    CHECK(kept(result) == "10.0.0.1 somebody else has changed it meanwhile");
    CHECK(allocations() == "1");
    CHECK(reservations() == "10.0.0.1");

    SECTION("an address that another range has given in between is named") {
        const Reconciled second = run({}, [&](const std::string& request) {
            if (request != "PATCH " + pool) return Fate::passes;
            take_over("next");
            make_reservation("10.0.0.1", ref("other"));
            return Fate::passes;
        });
        CHECK(freed(second).empty());
        CHECK_THAT(kept(second), Contains("10.0.0.1 ") && Contains(ref("other")) && Contains(ref("p")));
    }
    SECTION("a reservation that the successor has made itself is its own") {
        const Reconciled second = run({}, [&](const std::string& request) {
            if (request != "PATCH " + pool) return Fate::passes;
            take_over("next");
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
    make_pool("{\"1\":" + record("a", ref("p")) + "}");
    make_reservation("10.0.0.1", ref("p"));
    const Reconciled result = run(
        {}, [&](const std::string& request) { return request.starts_with("PATCH ") ? Fate::is_lost : Fate::passes; });
    CHECK(kept(result) == "10.0.0.1 no answer says whether it was changed: run this again");
    CHECK(allocations() == "1");
    CHECK(reservations().empty());
    CHECK(freed(run()) == "10.0.0.1 pod-name");
    CHECK(allocations().empty());
}

TEST_CASE_METHOD(Leftovers, "several at once free each record once") {
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
                if (request == kClock && ++asked == 2) relay.clock_ahead = kApart.count();
                return Fate::passes;
            });
            const auto api = relay.connect();
            result = reconcile(*api, {}, soon());
        });
    for (std::thread& thread : threads) thread.join();
    std::ptrdiff_t count = 0;
    for (const Reconciled& result : results) {
        CHECK(result.failure.empty());
        count += std::count_if(result.freed.begin(), result.freed.end(),
                               [](const Left& left) { return left.kind == "IPPool"; });
    }
    CHECK(count == kRecords);
    CHECK(allocations().empty());
    CHECK(reservations().empty());
}

TEST_CASE_METHOD(Leftovers, "the server's memory says which pods are there, and etcd which are not") {
    make_pod("p1");
    make_pod("p2");
    make_pool("{\"1\":" + record("a", ref("p1")) + ",\"2\":" + record("b", ref("p2")) +
              ",\"3\":" + record("c", ref("p3")) + "}");
    Relay relay("admin", space);
    const std::string list = "GET /api/v1/namespaces/" + space + "/pods?";
    relay.replace_answers([&](const std::string& request) -> std::optional<http::Response> {
        if (!request.starts_with(list)) return std::nullopt;
        http::Response response; // p2 is not there yet
        response.status = 200;
        response.body = R"({"metadata":{},"rows":[{"cells":["p1",1]}]})";
        return response;
    });
    relay.decide([&, asked = 0](const std::string& request) mutable {
        if (request == kClock && ++asked == 2) relay.clock_ahead = kApart.count();
        return Fate::passes;
    });
    const auto api = relay.connect();
    const Reconciled result = reconcile(*api, {}, soon());
    CHECK(freed(result) == "10.0.0.3 pod-name");
    CHECK(result.needed == 2);
    requests = relay.take_requests();
    CHECK(count_asked(list) == 2);
    CHECK(count_asked("GET /api/v1/namespaces/" + space + "/pods/p1") == 0);
    CHECK(count_asked("GET /api/v1/namespaces/" + space + "/pods/p2") == 2);
}

namespace {

/// Answers lists with objects that are not there.
class LargeCluster {
public:
    /// `count` objects of the plural, each as `object` says.
    void add(const std::string& path, std::size_t count, std::function<std::string(const std::string&)> object) {
        lists_.push_back({.path = path, .count = count, .object = std::move(object)});
    }
    [[nodiscard]] std::optional<http::Response> answer(const std::string& request) const {
        for (const List& list : lists_)
            if (request.starts_with("GET " + list.path + "?limit=")) return answer(list, request);
        return std::nullopt;
    }

private:
    struct List {
        std::string path;
        std::size_t count;
        std::function<std::string(const std::string& number)> object;
    };
    static http::Response answer(const List& list, const std::string& request) {
        const auto number_after = [&](const std::string& key) {
            const auto at = request.find(key);
            return at == std::string::npos ? std::size_t{0} : std::stoul(request.substr(at + key.size()));
        };
        const std::size_t first = number_after("continue=");
        const std::size_t end = std::min(list.count, first + number_after("limit="));
        std::string items;
        for (std::size_t at = first; at < end; ++at)
            items += (items.empty() ? "" : ",") + list.object(std::to_string(at));
        const std::string next = end < list.count ? std::to_string(end) : "";
        http::Response response;
        response.status = 200;
        response.body = R"({"metadata":{"continue":")" + next + R"("},"items":[)" + items + "]}";
        response.date = 1'700'000'000;
        return response;
    }
    std::vector<List> lists_;
};

} // namespace

TEST_CASE_METHOD(Leftovers, "5,000 nodes cost a request for 100 of them, and pods none while all leases name a node") {
    LargeCluster cluster;
    cluster.add(kNodesPath, 5000, [](const std::string& number) {
        return R"({"metadata":{"name":"n)" + number + R"(","uid":"u"},"status":{"nodeInfo":{"machineID":"m)" + number +
               R"(","bootID":"b)" + number + R"("}}})";
    });
    cluster.add(kBlocksPath, 5000, [](const std::string& number) {
        const std::size_t at = std::stoul(number);
        const std::string block = "10." + std::to_string(at / 256) + "." + std::to_string(at % 256) + ".0/24";
        return R"({"metadata":{"name":"x)" + number +
               R"(","uid":"u","resourceVersion":"1"},"spec":{"range":"10.0.0.0/8","block":")" + block +
               R"(","machineID":"m","bootID":"b)" + number + R"(","node":{"name":"n)" + number + R"(","uid":"u"}}})";
    });
    cluster.add(objects("ippools"), 1, [&](const std::string&) {
        std::string all;
        for (std::size_t at = 1; at <= 4000; ++at)
            all +=
                (all.empty() ? "\"" : ",\"") + std::to_string(at) + "\":" + record("c" + std::to_string(at), ref("p"));
        return R"({"metadata":{"name":"10.0.0.0-16"},"spec":{"range":"10.0.0.0/16","allocations":{)" + all + "}}}";
    });
    cluster.add(objects("overlappingrangeipreservations"), 4000, [&](const std::string& number) {
        const std::size_t at = std::stoul(number) + 1;
        return R"({"metadata":{"name":"10.0.)" + std::to_string(at / 256) + "." + std::to_string(at % 256) +
               R"(","uid":"u","resourceVersion":"1","annotations":{"rdmanet.cni/container-id":"c)" +
               std::to_string(at) +
               R"(","rdmanet.cni/node-name":"n1","rdmanet.cni/boot-id":"b1"}},"spec":{"podref":")" + ref("p") +
               R"(","ifname":"net1"}})";
    });
    cluster.add(kRangesPath, 1, [](const std::string&) {
        return R"({"metadata":{"name":"r","uid":"r"},"spec":{"range":"11.0.0.0/8"},"status":{"exclusiveUID":"r"}})";
    });
    Relay relay("admin", space);
    relay.replace_answers([&](const std::string& request) { return cluster.answer(request); });
    const auto api = relay.connect();
    const Reconciled result = reconcile(*api, {}, soon());
    CHECK(result.failure.empty());
    CHECK(result.needed == 9000);
    CHECK(freed(result).empty());
    requests = relay.take_requests();
    // Nodes, blocks, reservations, pools, AddressRanges, and the names of all namespaces' pools
    CHECK(requests.size() == 50 + 10 + 8 + 1 + 1 + 1);
    CHECK(count_asked("GET /api/v1/nodes") == 50);
}
