// Addresses that a range leaves out after a move come back when their pods have gone.
#include "migrate_fixture.hpp"
#include "relay.hpp"

#include <catch2/catch.hpp>

using namespace rdmanet;
using namespace rdmanet::cluster;
using namespace rdmanet::cluster::test;
using Catch::Matchers::Contains;

namespace {

constexpr auto kOnlyLooks = ReconcileOptions::Act::only_looks;
constexpr auto kFrees = ReconcileOptions::Act::frees;

} // namespace

TEST_CASE_METHOD(Moves, "reconciling lets blocks give what pools have no more", "[moves]") {
    if (!is_there()) return;
    for (const char* pod : {"p1", "p2", "p3", "p4"}) REQUIRE(is_address(add_to_pool(pod)));
    REQUIRE(migrate_to("blocks") == "moved 10.0.0.1-10.0.0.4");
    CHECK(reconcile_range() == "");
    CHECK(recorded() == R"(whereabouts>blocks ["10.0.0.1-10.0.0.4"])");
    for (const char* pod : {"p1", "p3"}) REQUIRE(release_in_pool(pod) != "");
    const std::string before = everything();
    CHECK(reconcile_range(kOnlyLooks, *admin) == "10.0.0.1 10.0.0.3");
    CHECK(everything() == before);
    CHECK(reconcile_range() == "10.0.0.1 10.0.0.3");
    CHECK(recorded() == R"(whereabouts>blocks ["10.0.0.2","10.0.0.4"])");
    auto a = node("a");
    CHECK(fill(*a).size() == 60);
    for (const char* pod : {"p2", "p4"}) REQUIRE(release_in_pool(pod) != "");
    CHECK(reconcile_range() == "10.0.0.2 10.0.0.4");
    CHECK(recorded() == "blocks");
    a->now.boot += 60; // a full range is not looked at again at once
    CHECK(fill(*a).size() == 62);
    CHECK(reconcile_range() == "");
}

TEST_CASE_METHOD(Moves, "reconciling lets pools give the blocks that went back", "[moves]") {
    if (!is_there()) return;
    auto a = node("a");
    REQUIRE(is_address(add_to_block(*a, "b1")));
    const std::string moved = migrate_to("whereabouts");
    REQUIRE_THAT(moved, Contains("moved 10.0.0."));
    CHECK(reconcile_range() == "");
    REQUIRE(a->release("b1") != "");
    a->start();
    a->store->follow_ranges(soon());
    a->store->settle(kIdleBlock, soon());
    REQUIRE(blocks().empty());
    CHECK("moved " + reconcile_range() == moved); // the whole block
    CHECK(recorded() == "whereabouts");
}

TEST_CASE_METHOD(Moves, "reconciling changes no range that is half moved, or moves on meanwhile", "[moves]") {
    if (!is_there()) return;
    for (const char* pod : {"p1", "p2"}) REQUIRE(is_address(add_to_pool(pod)));
    REQUIRE(migrate_to("blocks") == "moved 10.0.0.1-10.0.0.2");
    REQUIRE(release_in_pool("p1") != "");
    Relay relay("admin");
    relay.decide([&, has_moved = false](const std::string& request) mutable {
        if (request.starts_with("PATCH " + path_of_range("10.0.0.0-26")) && !std::exchange(has_moved, true))
            CHECK(migrate_to("whereabouts") == "moved");
        return Fate::passes;
    });
    CHECK(reconcile_range(kFrees, *relay.connect()) == "");
    CHECK(recorded() == "whereabouts");
    REQUIRE(migrate_to("blocks") == "moved 10.0.0.2-10.0.0.2");
    REQUIRE(release_in_pool("p2") != "");
    (void)admin->patch(path_of_range("10.0.0.0-26"), R"([{"op":"replace","path":"/spec/confirmed","value":false}])",
                       soon());
    CHECK(reconcile_range() == "");
    CHECK(recorded() == R"(whereabouts>blocks unconfirmed ["10.0.0.2"])");
}

TEST_CASE_METHOD(Moves, "reconciling and migrating again keep what a slice of a node that is gone still has",
                 "[moves]") {
    if (!is_there()) return;
    REQUIRE(is_address(add_to_pool("p1")));
    const std::string node = make_node("n1", "boot");
    const std::string slice = make_slice(node);
    REQUIRE(migrate_to("blocks") == "moved 10.0.0.1-10.0.0.1 10.0.0.17-10.0.0.17");
    delete_node(node); // it may register again
    REQUIRE(release_in_pool("p1") != "");
    SECTION("reconciling") {
        CHECK(reconcile_range() == "10.0.0.1");
    }
    SECTION("migrating again") {
        CHECK(migrate_to("blocks") == "moved 10.0.0.17-10.0.0.17");
    }
    CHECK(recorded() == R"(whereabouts>blocks ["10.0.0.17"])");
    delete_object(slice);
    CHECK(reconcile_range() == "10.0.0.17");
}

TEST_CASE_METHOD(Moves, "a move keeps what a slice has whose node was gone before", "[moves]") {
    if (!is_there()) return;
    REQUIRE(is_address(add_to_pool("p1")));
    (void)make_slice(space + "-gone");
    MigrateOptions only_looks = options_to("blocks");
    only_looks.act = MigrateOptions::Act::only_looks;
    CHECK(migrate_by(only_looks, *admin) == "not moved 10.0.0.1-10.0.0.1 10.0.0.17-10.0.0.17");
    CHECK(migrate_to("blocks") == "moved 10.0.0.1-10.0.0.1 10.0.0.17-10.0.0.17");
    CHECK(recorded() == R"(whereabouts>blocks ["10.0.0.1","10.0.0.17"])");
}

TEST_CASE_METHOD(Moves, "reconciling keeps what it cannot look for", "[moves]") {
    if (!is_there()) return;
    REQUIRE(is_address(add_to_pool("p1")));
    REQUIRE(migrate_to("blocks") == "moved 10.0.0.1-10.0.0.1");
    REQUIRE(release_in_pool("p1") != "");
    Relay elsewhere("admin", "default");
    CHECK_THAT(reconcile_range(kFrees, *elsewhere.connect()),
               Contains("kept: ") && Contains("namespace \"default\" has no IPPool of it"));
    CHECK_THAT(recorded(), Contains("10.0.0.1"));
    Relay relay("admin");
    relay.decide_next_change(Fate::loses_its_answer);
    CHECK(reconcile_range(kFrees, *relay.connect()) == "10.0.0.1");
    CHECK(recorded() == "blocks");
}
