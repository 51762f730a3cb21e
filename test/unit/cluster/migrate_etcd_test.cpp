// A range goes to etcd and comes back, between an API server and an etcd that know nothing of each other.
#include "lossy_etcd.hpp"
#include "migrate_fixture.hpp"

#include "etcd/keys.hpp"
#include "etcd/values.hpp"

#include <rdmanet/cluster/etcd_outside.hpp>
#include <rdmanet/cluster/etcd_store.hpp>
#include <rdmanet/etcd/client.hpp>

#include <catch2/catch.hpp>

#include <atomic>
#include <fstream>

using namespace rdmanet;
using namespace rdmanet::cluster;
using namespace rdmanet::cluster::test;
using Catch::Matchers::Contains;

namespace {

/// The etcd is the API server's own, which is there anyway.
class EtcdMoves : public Moves {
public:
    using EtcdFate = LossyEtcd::Fate;

    static std::string endpoint() {
        std::ifstream ports(*cluster_directory() + "/ports");
        std::string of_api;
        std::string of_etcd;
        ports >> of_api >> of_etcd;
        return "http://127.0.0.1:" + of_etcd;
    }
    static etcd::Client client(const std::string& at) {
        return {etcd::read_access({.endpoints = {at}}), etcd::Memory(), http::Limits{.connect = 60s, .request = 60s}};
    }
    static etcd::Client client() { return client(endpoint()); }

    [[nodiscard]] std::unique_ptr<ipam::Store> store() const {
        return make_etcd_store(client(), {.prefix = prefix_of_keys,
                                          .machine_id = "machine",
                                          .node_name = "e1",
                                          .boot_id = "boot",
                                          .spaces = {space},
                                          .before_claim = {},
                                          .warn = {}});
    }
    std::string add_to_etcd(const std::string& container) { return add_to_etcd(container, claim(kRange)); }
    std::string add_to_etcd(const std::string& container, const ipam::Claim& one) try {
        return text_of(store()->reserve(owner(container, "pod-" + container), {one}, soon()));
    } catch (const base::Error& error) {
        return error.what();
    }
    std::string release_in_etcd(const std::string& container) {
        return text_of(store()->release(owner(container, "").key, soon()));
    }

    /// Between the two servers, or what is put between them.
    std::string move_to(const std::string& to) { return move_to(to, *admin, endpoint(), prefix_of_keys); }
    std::string move_to(const std::string& to, kube::Api& api, const std::string& at, const std::string& keys) {
        const auto outside = make_etcd_outside(client(at), keys);
        MigrateOptions options = options_to(to);
        options.outside = {outside.get()};
        return migrate_by(options, api);
    }

    [[nodiscard]] std::vector<etcd::KeyValue> entries(const std::string& kind) const {
        return client()
            .run(etcd::Transaction().read(etcd::Range::below(prefix_of_keys + "/" + space + kind)), soon())
            .found[0]
            .entries;
    }
    /// The store that etcd says.
    [[nodiscard]] std::string in_etcd() const {
        std::string text;
        for (const etcd::KeyValue& entry : entries("/r/")) text += store_of_range(entry.value);
        return text;
    }
    [[nodiscard]] std::size_t held_in_etcd() const {
        std::size_t count = 0;
        for (const etcd::KeyValue& entry : entries("/a/")) count += parse_stored_hold(entry.value) ? 1 : 0;
        return count;
    }

    const std::string prefix_of_keys = "/rdmanet/moves";
};

} // namespace

TEST_CASE_METHOD(EtcdMoves, "a range goes from pools to etcd, to blocks and back: no address is given twice",
                 "[moves]") {
    if (!is_there()) return;
    for (const char* pod : {"p1", "p2", "p3"}) REQUIRE(is_address(add_to_pool(pod)));
    REQUIRE(release_in_pool("p2") == "10.0.0.2/26");
    CHECK(move_to("etcd") == "moved 10.0.0.1-10.0.0.1 10.0.0.3-10.0.0.3");
    CHECK(recorded() == R"(whereabouts>etcd ["10.0.0.1","10.0.0.3"])");
    CHECK(in_etcd() == "etcd");
    CHECK(held_in_etcd() == 2);
    CHECK_THAT(add_to_pool("p4"), Contains("\"store\" whereabouts") && Contains("has etcd"));
    auto a = node("a");
    CHECK_THAT(add_to_block(*a, "b1"), Contains("\"store\" blocks") && Contains("has etcd"));
    std::set<std::string> given{"10.0.0.1/26", "10.0.0.3/26"};
    for (int at = 0; at < 60; ++at) CHECK(given.insert(add_to_etcd("e" + std::to_string(at))).second);
    CHECK(given.size() == 62);
    CHECK(add_to_etcd("late") == "exhausted");
    CHECK(release_in_pool("p1") == "10.0.0.1/26");
    CHECK(add_to_etcd("late") == "exhausted"); // it is not known yet
    CHECK(move_to("etcd") == "moved 10.0.0.3-10.0.0.3");
    CHECK(add_to_etcd("late") == "10.0.0.1/26");
    CHECK(release_in_pool("p3") == "10.0.0.3/26");
    CHECK(move_to("etcd") == "moved");
    CHECK(recorded() == "etcd");
    CHECK(held_in_etcd() == 0);

    for (int at = 0; at < 60; ++at) CHECK(is_address(release_in_etcd("e" + std::to_string(at))));
    REQUIRE(add_to_etcd("e1", wanting(kRange, "10.0.0.17")) == "10.0.0.17/26");
    CHECK(move_to("blocks") == "moved 10.0.0.1-10.0.0.1 10.0.0.17-10.0.0.17");
    CHECK_THAT(recorded(), Contains("etcd>blocks"));
    CHECK(in_etcd() == "blocks");
    CHECK_THAT(add_to_etcd("e2"), Contains("\"store\" etcd") && Contains("in store \"blocks\""));
    CHECK(add_to_etcd("e1") == "10.0.0.17/26"); // it has that one
    a->now.boot += 60;
    const std::set<std::string> in_blocks = fill(*a);
    CHECK(in_blocks.size() == 60);
    CHECK_FALSE((in_blocks.contains("10.0.0.1/26") || in_blocks.contains("10.0.0.17/26")));
    // Pods of all stores live on while the range goes on, and none is forgotten.
    CHECK(move_to("whereabouts") == "moved 10.0.0.0-10.0.0.62");
    CHECK_THAT(recorded(), Contains("blocks+etcd>whereabouts"));
    CHECK(migrate_to("whereabouts") == "moved 10.0.0.0-10.0.0.62"); // who can't reach etcd makes nothing less
    CHECK_THAT(recorded(), Contains("blocks+etcd>whereabouts"));
    CHECK(add_to_pool("p5") == "exhausted");
    for (int at = 0; at < 60; ++at) REQUIRE(a->release(a->name() + std::to_string(at)) != "");
    a->start();
    a->store->follow_ranges(soon());
    a->store->settle(kIdleBlock, soon());
    CHECK(move_to("whereabouts") == "moved 10.0.0.1-10.0.0.1 10.0.0.17-10.0.0.17");
    CHECK(add_to_pool("p5") == "10.0.0.2/26");
    CHECK(release_in_etcd("late") == "10.0.0.1/26");
    CHECK(release_in_etcd("e1") == "10.0.0.17/26");
    CHECK(move_to("whereabouts") == "moved");
    CHECK(recorded() == "whereabouts");
    CHECK(add_to_pool("p6") == "10.0.0.1/26");
    CHECK(in_etcd() == "whereabouts");
}

TEST_CASE_METHOD(EtcdMoves, "reconciling lets etcd and pools give what the other one has no more", "[moves]") {
    if (!is_there()) return;
    const auto outside = make_etcd_outside(client(), prefix_of_keys);
    for (const char* pod : {"p1", "p2"}) REQUIRE(is_address(add_to_pool(pod)));
    REQUIRE(move_to("etcd") == "moved 10.0.0.1-10.0.0.2");
    REQUIRE(release_in_pool("p1") != "");
    CHECK_THAT(reconcile_range(), Contains("kept: this command does not reach all stores of \"whereabouts>etcd\""));
    CHECK(held_in_etcd() == 2);
    CHECK(reconcile_range(ReconcileOptions::Act::only_looks, *admin, outside.get()) == "10.0.0.1");
    CHECK(held_in_etcd() == 2);
    CHECK(recorded() == R"(whereabouts>etcd ["10.0.0.1-10.0.0.2"])");
    CHECK(reconcile_range(outside.get()) == "10.0.0.1");
    CHECK(held_in_etcd() == 1);
    CHECK(recorded() == R"(whereabouts>etcd ["10.0.0.2"])");
    REQUIRE(add_to_etcd("e1", wanting(kRange, "10.0.0.1")) == "10.0.0.1/26");
    REQUIRE(release_in_pool("p2") != "");
    CHECK(reconcile_range(outside.get()) == "10.0.0.2");
    CHECK(held_in_etcd() == 0);
    CHECK(recorded() == "etcd");

    REQUIRE(move_to("whereabouts") == "moved 10.0.0.1-10.0.0.1");
    CHECK(reconcile_range(outside.get()) == "");
    REQUIRE(release_in_etcd("e1") != "");
    const auto other = make_etcd_outside(client(), "/rdmanet/nobody");
    CHECK_THAT(reconcile_range(other.get()), Contains("kept: ") && Contains("this etcd has nothing of it below"));
    CHECK(recorded() == R"(etcd>whereabouts ["10.0.0.1"])");
    CHECK(reconcile_range(outside.get()) == "10.0.0.1");
    CHECK(recorded() == "whereabouts");
}

TEST_CASE_METHOD(EtcdMoves, "a full range in etcd says how many addresses other stores still have", "[moves]") {
    if (!is_there()) return;
    kRange = "10.0.0.0/29";
    for (const char* pod : {"p1", "p2"}) REQUIRE(is_address(add_to_pool(pod)));
    REQUIRE(move_to("etcd") == "moved 10.0.0.1-10.0.0.2");
    for (const char* pod : {"e1", "e2", "e3", "e4"}) REQUIRE(is_address(add_to_etcd(pod)));
    CHECK(why_full(*store()) == "; other stores still have 2 addresses of it: `rdmanet ipam migrate` shows them");
    REQUIRE(is_address(add_to_etcd("e5", claim("10.1.0.0/29")))); // what is held has no range in its key
    CHECK_THAT(why_full(*store()), Contains(" 2 addresses of it and of 1 other range: "));
    for (const char* pod : {"p1", "p2"}) REQUIRE(release_in_pool(pod) != "");
    REQUIRE(move_to("etcd") == "moved");
    for (const char* pod : {"e6", "e7"}) REQUIRE(is_address(add_to_etcd(pod)));
    CHECK(why_full(*store()) == "");
}

TEST_CASE_METHOD(EtcdMoves, "migrate changes nothing where etcd is another one, or is not named", "[moves]") {
    if (!is_there()) return;
    REQUIRE(is_address(add_to_etcd("e1")));
    REQUIRE(move_to("etcd") == "moved");
    const std::string other = prefix_of_keys + "-other";
    CHECK_THAT(move_to("etcd", *admin, endpoint(), other),
               Contains("nothing of it below \"" + other) && Contains("cannot go from one etcd to another"));
    CHECK_THAT(move_to("blocks", *admin, endpoint(), other), Contains("nothing of it below"));
    CHECK_THAT(migrate_to("blocks"), Contains("comes from store \"etcd\""));
    CHECK(recorded() == "etcd");
    auto a = node("a");
    CHECK_THAT(add_to_block(*a, "b1"), Contains("\"store\" blocks") && Contains("has etcd"));
    CHECK(in_etcd() == "etcd");
    CHECK(is_address(add_to_etcd("e2"))); // nobody has fenced it
    CHECK(move_to("blocks").starts_with("moved 10.0.0."));
    CHECK_FALSE(is_address(add_to_etcd("e3")));
    CHECK(fill(*a).size() == 60);
    // While etcd has addresses, the range cannot come to another one.
    CHECK_THAT(move_to("etcd", *admin, endpoint(), other), Contains("nothing of it below"));
    CHECK_THAT(recorded(), Contains("etcd>blocks [") && !Contains("unconfirmed"));
}

TEST_CASE_METHOD(EtcdMoves, "migrate finds out that etcd gives addresses of a range that another store has",
                 "[moves]") {
    if (!is_there()) return;
    REQUIRE(add_to_pool("p1") == "10.0.0.1/26");
    REQUIRE(add_to_etcd("e1", wanting(kRange, "10.0.0.5")) == "10.0.0.5/26");
    for (const char* to : {"blocks", "whereabouts"})
        CHECK_THAT(move_to(to), Contains("in store \"whereabouts\", and etcd gives its addresses as well") &&
                                    Contains("migrate --to etcd"));
    CHECK(recorded() == "whereabouts");
    CHECK(move_to("etcd") == "moved 10.0.0.1-10.0.0.1");
    CHECK(move_to("whereabouts") == "moved 10.0.0.5-10.0.0.5");
    CHECK(add_to_pool("p2") == "10.0.0.2/26");
    for (int at = 0; at < 3; ++at) CHECK(add_to_pool("q" + std::to_string(at)) != "10.0.0.5/26");
    CHECK_FALSE(is_address(add_to_etcd("e2")));
}

TEST_CASE_METHOD(EtcdMoves, "a pod gets an address of etcd while the range goes away", "[moves]") {
    if (!is_there()) return;
    REQUIRE(add_to_etcd("e1", wanting(kRange, "10.0.0.5")) == "10.0.0.5/26");
    // Right before the record is written: the claim is there first, and the address is held.
    std::atomic<bool> has_claimed{false};
    LossyEtcd etcd(endpoint(), [&](const std::string& request) {
        if (request.find("request_put") != std::string::npos && !has_claimed.exchange(true))
            CHECK(add_to_etcd("e2", wanting(kRange, "10.0.0.20")) == "10.0.0.20/26");
        return EtcdFate::answered;
    });
    CHECK(move_to("blocks", *admin, etcd.endpoint(), prefix_of_keys) == "moved 10.0.0.5-10.0.0.5 10.0.0.20-10.0.0.20");
    CHECK(has_claimed);
    CHECK_FALSE(is_address(add_to_etcd("e3")));
}

TEST_CASE_METHOD(EtcdMoves, "of two opposite moves between etcd and blocks, one is refused", "[moves]") {
    if (!is_there()) return;
    auto a = node("a");
    REQUIRE(is_address(add_to_block(*a, "b1")));
    const auto expect_blocks = [&] {
        CHECK(in_etcd() == "blocks");
        CHECK_FALSE(is_address(add_to_etcd("e1")));
        a->now.boot += 60;
        CHECK(is_address(add_to_block(*a, "b2")));
    };
    std::atomic<int> reads{0};
    std::atomic<int> changes{0};
    bool is_crossed = false;
    const auto cross = [&] {
        if (std::exchange(is_crossed, true)) return;
        CHECK(move_to("blocks").starts_with("moved"));
    };
    SECTION("before the record is read") {
        LossyEtcd etcd(endpoint(), [&](const std::string& request) {
            if (changes == 0)
                changes = request.find("request_put") != std::string::npos ? 1 : 0;
            else if (++reads == 1)
                cross();
            return EtcdFate::answered;
        });
        CHECK_THAT(move_to("etcd", *admin, etcd.endpoint(), prefix_of_keys), Contains("run this command again"));
        REQUIRE(is_crossed);
        expect_blocks();
    }
    SECTION("before each of its writes in etcd") {
        const int which = GENERATE(2, 3); // the first one is before the AddressRange says anything
        LossyEtcd etcd(endpoint(), [&](const std::string& request) {
            if (request.find("request_put") != std::string::npos && ++changes == which) cross();
            return EtcdFate::answered;
        });
        CHECK_THAT(move_to("etcd", *admin, etcd.endpoint(), prefix_of_keys), Contains("run this command again"));
        REQUIRE(is_crossed);
        expect_blocks();
    }
    SECTION("after the last of them") {
        Relay relay("admin");
        relay.decide([&, count = 0](const std::string& request) mutable {
            if (request.starts_with("PATCH " + std::string(kRangesPath)) &&
                request.find("dryRun") == std::string::npos && ++count == 3)
                cross();
            return Fate::passes;
        });
        CHECK(move_to("etcd", *relay.connect(), endpoint(), prefix_of_keys) != "");
        REQUIRE(is_crossed);
        expect_blocks();
    }
    CHECK(move_to("etcd").starts_with("moved"));
    CHECK(is_address(add_to_etcd("e1")));
    CHECK_FALSE(is_address(add_to_block(*node("c"), "b3")));
}
