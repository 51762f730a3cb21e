// A range goes from one store to another and back, while nodes take and return its addresses.
#include "migrate_fixture.hpp"

#include <catch2/catch.hpp>

using namespace rdmanet;
using namespace rdmanet::cluster;
using namespace rdmanet::cluster::test;
using Catch::Matchers::Contains;

TEST_CASE_METHOD(Moves, "a range goes from pools to blocks and back: no address is given twice", "[moves]") {
    if (!is_there()) return;
    for (const char* pod : {"p1", "p2", "p3"}) REQUIRE(is_address(add_to_pool(pod)));
    REQUIRE(release_in_pool("p2") == "10.0.0.2/26");
    CHECK(migrate_to("blocks") == "moved 10.0.0.1-10.0.0.1 10.0.0.3-10.0.0.3");
    CHECK(recorded() == R"(whereabouts>blocks ["10.0.0.1","10.0.0.3"])");
    CHECK_THAT(add_to_pool("p4"), Contains("\"store\" whereabouts") && Contains("has blocks"));
    CHECK_THAT(usage_of_pool(), Contains("\"store\" whereabouts") && Contains("has blocks"));
    auto a = node("a");
    const std::set<std::string> given = fill(*a);
    CHECK(given.size() == 60); // of 62
    CHECK(!given.contains("10.0.0.1/26"));
    CHECK(!given.contains("10.0.0.3/26"));
    CHECK(release_in_pool("p1") == "10.0.0.1/26");
    CHECK(add_to_block(*a, "late") == "exhausted"); // it is not known yet
    CHECK(migrate_to("blocks") == "moved 10.0.0.3-10.0.0.3");
    a->now.boot += 60; // a full range is not looked at again at once
    CHECK(add_to_block(*a, "late") == "10.0.0.1/26");
    CHECK(release_in_pool("p3") == "10.0.0.3/26");
    CHECK(migrate_to("blocks") == "moved");
    CHECK(recorded() == "blocks");

    for (int at = 0; at < 60; ++at) REQUIRE(a->release(a->name() + std::to_string(at)) != "");
    // All blocks as a whole: the node goes on giving from them until it knows.
    CHECK(migrate_to("whereabouts") == "moved 10.0.0.0-10.0.0.62");
    CHECK_THAT(recorded(), Contains("blocks>whereabouts"));
    CHECK(add_to_pool("p5") == "exhausted");
    CHECK(usage_of_pool() == "62 leases, full");
    REQUIRE(is_address(add_to_block(*a, "early")));
    REQUIRE(a->release("early") != "");
    a->start();
    a->store->follow_ranges(soon());
    a->store->settle(kIdleBlock, soon());
    CHECK(blocks() == "10.0.0.0/28 a"); // "late" has 10.0.0.1
    CHECK_THAT(add_to_block(*a, "too-late"), Contains("\"store\" blocks") && Contains("has whereabouts"));
    CHECK(migrate_to("whereabouts") == "moved 10.0.0.0-10.0.0.15");
    CHECK(add_to_pool("p5") == "10.0.0.16/26");
    CHECK(add_to_pool("p6") == "10.0.0.17/26");
    CHECK(usage_of_pool() == "17 leases"); // with 15 that blocks have
    (void)a->release("late");
    a->store->settle(kIdleBlock, soon());
    CHECK(blocks().empty());
    CHECK(migrate_to("whereabouts") == "moved");
    CHECK(recorded() == "whereabouts");
    CHECK(add_to_pool("p7") == "10.0.0.1/26");
    CHECK_THAT(everything(), !Contains("rdmanet.cni/store"));
}

TEST_CASE_METHOD(Moves, "a full range in blocks or pools says how many addresses other stores still have", "[moves]") {
    if (!is_there()) return;
    for (const char* pod : {"p1", "p2", "p3"}) REQUIRE(is_address(add_to_pool(pod)));
    CHECK(migrate_to("blocks") == "moved 10.0.0.1-10.0.0.3");
    auto a = node("a");
    CHECK(fill(*a).size() == 59);
    const std::string held = "; other stores still have 3 addresses of it: `rdmanet ipam migrate` shows them";
    a->start();
    CHECK_THAT(why_full(*a->store), Contains("a moment ago") && Contains(held));
    a->now.boot += 60; // a full range is not looked at again at once
    a->start();
    CHECK_THAT(why_full(*a->store), Contains("this node holds ") && Contains(held));
    for (const char* pod : {"p1", "p2", "p3"}) REQUIRE(release_in_pool(pod) != "");
    CHECK(migrate_to("blocks") == "moved");
    a->now.boot += 60;
    CHECK(fill(*a).size() == 62);
    a->start();
    CHECK_THAT(why_full(*a->store), !Contains("other stores"));

    CHECK(migrate_to("whereabouts") == "moved 10.0.0.0-10.0.0.62");
    const auto api = connect();
    WhereaboutsStore pools(*api, options_of_pools());
    CHECK(why_full(pools) == "; other stores still have 63 addresses of it: `rdmanet ipam migrate` shows them");
}
