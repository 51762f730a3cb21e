// Blocks of a range that moves, as their node sees them.
#include "migrate_fixture.hpp"

#include <catch2/catch.hpp>

using namespace rdmanet;
using namespace rdmanet::cluster;
using namespace rdmanet::cluster::test;
using Catch::Matchers::Contains;

namespace {

class BlocksThatMove : public Moves {
public:
    const std::string kOther = "10.7.0.0/24";

    /// In the same boot, its file is made again from the journal.
    static void lose_file(TestNode& node) {
        node.journal = node.file->list_all(soon());
        node.empty_state();
    }
};

} // namespace

TEST_CASE_METHOD(BlocksThatMove, "a new file keeps a block with leases of a range that has moved to pools", "[moves]") {
    if (!is_there()) return;
    auto a = node("a");
    const std::string given = add_to_block(*a, "b1");
    REQUIRE(is_address(given));
    const std::string of_a = blocks();
    REQUIRE_THAT(migrate_to("whereabouts"), Contains("moved 10."));
    const std::string held = recorded();
    lose_file(*a);
    SECTION("which another range was written into") {
        REQUIRE(is_address(add_to_block(*a, "other", claim(kOther))));
        REQUIRE(a->release("other") != "");
    }
    SECTION("which has no range") {}
    SECTION("which has asked for the ranges of its leases") {
        a->store->follow_ranges(soon());
        const auto ranges = a->file->ranges(soon());
        REQUIRE(ranges.size() == 1);
        CHECK(ranges.front().has_moved());
    }
    CHECK(a->store->tidy(soon()));
    CHECK_THAT(blocks(), Contains(of_a));
    CHECK_THAT(migrate_to("whereabouts"), Contains("moved 10."));
    CHECK_THAT(recorded(), Contains(held));
    CHECK(add_to_pool("p1", wanting(kRange, given.substr(0, given.find('/')))) != given);

    REQUIRE(a->release("b1") == given);
    CHECK(a->store->tidy(soon()));
    CHECK_THAT(blocks(), !Contains(of_a));
    CHECK(migrate_to("whereabouts") == "moved");
    CHECK(add_to_pool("p1", wanting(kRange, given.substr(0, given.find('/')))) == given);
}

TEST_CASE_METHOD(BlocksThatMove, "a block that a killed process has left keeps no range that has moved from its end",
                 "[moves]") {
    if (!is_there()) return;
    auto a = node("a");
    REQUIRE(is_address(add_to_block(*a, "b1")));
    REQUIRE(is_address(add_to_block(*a, "other", claim(kOther))));
    CHECK(a->store->tidy(soon())); // has looked
    REQUIRE_THAT(migrate_to("whereabouts"), Contains("moved 10."));
    REQUIRE(a->release("b1") != "");
    for (const ipam::BlockRange& range : a->file->ranges(soon())) a->file->close_empty(range, soon());
    for (const ipam::Block& block : a->file->blocks(soon()))
        if (block.leases == 0) a->file->remove(block, soon()); // as if it had been killed between two writes
    REQUIRE_THAT(migrate_to("whereabouts"), Contains("moved 10."));
    CHECK(a->store->tidy(soon()));
    CHECK(migrate_to("whereabouts") == "moved");
}

TEST_CASE_METHOD(BlocksThatMove, "a new file keeps a block with leases of a range that somebody removed by force",
                 "[moves]") {
    if (!is_there()) return;
    auto a = node("a");
    const std::string given = add_to_block(*a, "b1");
    REQUIRE(is_address(given));
    const std::string of_a = blocks();
    lose_file(*a);
    delete_range("10.0.0.0-26");
    CHECK_FALSE(a->store->tidy(soon()));
    CHECK(blocks() == of_a);
    CHECK(add_to_pool("p1", wanting(kRange, given.substr(0, given.find('/')))) != given);
    REQUIRE(a->release("b1") == given);
    const auto nothing_uses = [](const base::IpPrefix&) { return std::string(); };
    CHECK_FALSE(a->store->tidy(soon(), nothing_uses)); // an ADD may be going on
    a->now.boot += 120;
    CHECK(a->store->tidy(soon(), nothing_uses));
    CHECK(blocks().empty());
}
