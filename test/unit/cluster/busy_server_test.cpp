// Limits of the API server: of the requests that it takes, and of the objects that it stores.
#include "relay.hpp"
#include "subnet.hpp"

#include <rdmanet/json/writer.hpp>

#include <catch2/catch.hpp>

#include <algorithm>
#include <atomic>
#include <future>
#include <map>

using namespace rdmanet;
using namespace rdmanet::cluster;
using namespace rdmanet::cluster::test;

namespace {

class Busied : public Subnet {
public:
    std::string reserve_by(Relay& relay) {
        const auto by_relay = relay.connect();
        WhereaboutsStore sent_away(*by_relay, options({kRange}));
        try {
            return text_of(sent_away.reserve(owner("c", "p"), {claim(kRange)}, soon()));
        } catch (const ipam::StoreError& error) {
            CHECK(sent_away.unsettled().empty()); // the server has begun nothing
            return (error.temporary() ? "temporary: " : "for good: ") + std::string(error.what());
        }
    }
    static std::ptrdiff_t count(const std::vector<std::string>& requests, const std::string& what) {
        return std::count_if(requests.begin(), requests.end(),
                             [&](const std::string& request) { return request.find(what) != std::string::npos; });
    }
};

class Filled : public Subnet {
public:
    /// Gives pool 10.0.0.0/24 to container "own" at .200, and to others that many addresses from .1 on, with 10,000
    /// bytes each.
    void fill(unsigned others) {
        json::Writer object;
        object.begin_object().member("apiVersion", "whereabouts.cni.cncf.io/v1alpha1").member("kind", "IPPool");
        object.key("metadata").begin_object().member("name", space + "-10.0.0.0-24").end_object();
        object.key("spec").begin_object().member("range", "10.0.0.0/24").key("allocations").begin_object();
        for (unsigned at = 1; at <= others; ++at) {
            object.key(std::to_string(at)).begin_object().member("id", "c" + std::to_string(at));
            object.member("podref", "default/" + std::string(10'000, 'p')).member("ifname", "net1").end_object();
        }
        object.key("200").begin_object().member("id", "own").member("podref", "default/own");
        object.member("ifname", "net1").end_object().end_object().end_object().end_object();
        create(std::string(kObjects) + "ippools", object.to_text());
    }
    WhereaboutsStore open() {
        WhereaboutsStore::Options own = options({kLarge});
        own.warn = [this](const std::string& text) { warnings.push_back(text); };
        return WhereaboutsStore(*api, std::move(own));
    }

    const std::string kLarge = "10.0.0.0/24";
    std::vector<std::string> warnings;
};

} // namespace

TEST_CASE_METHOD(Busied, "a claim goes on when a busy server says that it may, after each of its requests") {
    Relay relay("rdmanet");
    std::map<std::string, base::Deadline::Clock::time_point> sent_away; // by method
    std::atomic<int> too_early = 0;
    relay.decide([&](const std::string& request) {
        const auto now = base::Deadline::Clock::now();
        const auto [first, is_first] = sent_away.emplace(request.substr(0, request.find(' ')), now);
        if (is_first) return Fate::is_sent_away;
        if (now - first->second < std::chrono::seconds(relay.busy.seconds)) ++too_early;
        return Fate::passes;
    });
    CHECK(reserve_by(relay) == "10.0.0.1/29");
    CHECK(sent_away.size() == 3); // GET, POST and PATCH
    CHECK(too_early == 0);
    const auto requests = relay.take_requests();
    for (const auto& [method, when] : sent_away) {
        const std::string line = method + ' ';
        const auto first = std::find_if(requests.begin(), requests.end(),
                                        [&](const std::string& request) { return request.starts_with(line); });
        REQUIRE(requests.end() - first >= 2);
        CHECK(first[0] == first[1]);
    }
    CHECK(pool() == R"({"allocations":{"1":{"id":"c","ifname":"net1","podref":"default/p"}},"range":"10.0.0.0/29"})");
    CHECK(release(owner("c", "p")) == "10.0.0.1/29");
}

TEST_CASE("those whom a busy server sends away together don't come back together") {
    constexpr int kClients = 6; // chance brings them as close together once in 200,000 times
    using Clock = base::Deadline::Clock;
    const auto wait = [] {
        Clock::duration waited{};
        const auto serve = [&](http::test::Connection& connection) {
            (void)connection.read_request();
            connection.send("HTTP/1.1 429 Busy\r\nRetry-After: 1\r\nContent-Length: 0\r\n\r\n");
            const auto sent_away = Clock::now();
            (void)connection.read_request();
            waited = Clock::now() - sent_away;
            connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}");
        };
        {
            const http::test::ScriptedServer busy(serve);
            kube::Api api({.server = http::Url::parse(busy.url())}, {.connect = 60s, .request = 60s});
            CHECK(std::holds_alternative<kube::Object>(api.get("/version", soon())));
        }
        return waited;
    };
    std::vector<std::future<Clock::duration>> waits;
    for (int number = 0; number < kClients; ++number) waits.push_back(std::async(std::launch::async, wait));
    std::vector<Clock::duration> waited;
    for (auto& each : waits) waited.push_back(each.get());
    const auto [shortest, longest] = std::minmax_element(waited.begin(), waited.end());
    CHECK(*shortest >= 990ms);
    CHECK(*longest - *shortest > 30ms);
}

TEST_CASE_METHOD(Busied, "a server that is always busy is asked four times, and the refusal has its words") {
    const std::string method = GENERATE("GET ", "PATCH ");
    Relay relay("rdmanet");
    relay.busy = {.status = method == "GET " ? 429U : 503U, .seconds = 0};
    relay.decide(
        [&](const std::string& request) { return request.starts_with(method) ? Fate::is_sent_away : Fate::passes; });
    CHECK_THAT(reserve_by(relay), Catch::Matchers::StartsWith("temporary: ") && Contains(method) &&
                                      Contains("HTTP " + std::to_string(relay.busy.status) + ": " + relay.busy.words));
    CHECK(count(relay.take_requests(), method) == 4);
    CHECK(release(owner("c", "p")).empty());
}

TEST_CASE_METHOD(Busied, "an ADD whose claims have no outcome says at which server, and for how long it tried") {
    Relay relay("rdmanet");
    const std::string of_pool = std::string("PATCH ") + kObjects + "ippools";
    relay.decide(
        [&](const std::string& request) { return request.starts_with(of_pool) ? Fate::is_lost : Fate::passes; });
    const auto by_relay = relay.connect();
    WhereaboutsStore unlucky(*by_relay, options({kRange}));
    CHECK_THROWS_WITH(unlucky.reserve(owner("c", "p"), {claim(kRange)}, base::Deadline::in(std::chrono::seconds(2))),
                      Contains(by_relay->server()) && Contains(", after "));
    CHECK(release(owner("c", "p")).empty());
}

TEST_CASE_METHOD(Busied, "a server that wants to be asked after the deadline is not waited for") {
    Relay relay("rdmanet");
    relay.busy.seconds = 3600;
    relay.decide([](const std::string&) { return Fate::is_sent_away; });
    CHECK_THAT(reserve_by(relay), Catch::Matchers::StartsWith("temporary: ") && Contains(relay.busy.words));
    CHECK(relay.take_requests().size() == 1);
}

TEST_CASE_METHOD(Busied,
                 "what the server refuses although every test holds is an error with its words, and stays owed") {
    Relay relay("rdmanet");
    relay.busy = {.status = 422, .seconds = 0, .words = "a policy of this cluster is against it"};
    const std::string of_pool = std::string("PATCH ") + kObjects + "ippools";
    relay.decide(
        [&](const std::string& request) { return request.starts_with(of_pool) ? Fate::is_sent_away : Fate::passes; });
    CHECK_THAT(reserve_by(relay), Catch::Matchers::StartsWith("for good: ") && Contains(relay.busy.words));
    CHECK(count(relay.take_requests(), of_pool) == 2);

    REQUIRE(reserve(owner("c", "p"), {claim(kRange)}) == "10.0.0.1/29");
    const auto by_relay = relay.connect();
    WhereaboutsStore refused(*by_relay, options({kRange}));
    CHECK_THROWS_WITH(refused.release(owner("c", "p").key, soon()), Contains(relay.busy.words));
    const auto leases = refused.find(owner("c", "p").key, soon());
    CHECK_THROWS_WITH(refused.reclaim(leases, soon()), Contains(relay.busy.words));
    CHECK(release(owner("c", "p")) == "10.0.0.1/29");
}

TEST_CASE_METHOD(Filled, "a pool that fills 60 % of what the server stores is warned about") {
    fill(100); // 1.0 of 1.5 MB
    WhereaboutsStore large = open();
    CHECK(text_of(large.reserve(owner("c", "p"), {claim(kLarge)}, soon())) == "10.0.0.101/24");
    REQUIRE(warnings.size() == 1);
    CHECK_THAT(warnings[0], Contains("-10.0.0.0-24 has 101 records and fills 6") &&
                                Contains("declare the range with an AddressRange"));
    CHECK(text_of(large.release(owner("c", "p").key, soon())) == "10.0.0.101/24");
}

TEST_CASE_METHOD(Filled,
                 "a pool that fills 90 % of what the server stores gives no more addresses, and takes them back") {
    fill(145);
    WhereaboutsStore large = open();
    CHECK_THROWS_WITH(large.reserve(owner("c", "p"), {claim(kLarge)}, soon()),
                      Contains("-10.0.0.0-24 has 146 records and fills 9") &&
                          Contains("declare the range with an AddressRange"));
    // An ADD that is repeated has its address already.
    CHECK(text_of(large.reserve(owner("own", "own"), {claim(kLarge)}, soon())) == "10.0.0.200/24");
    CHECK(text_of(large.release(owner("own", "own").key, soon())) == "10.0.0.200/24");
    CHECK(warnings.empty());
}
