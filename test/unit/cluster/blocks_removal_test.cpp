// Blocks that a boot has left, and ranges that a person removes or changes.
#include "blocks_fixture.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <filesystem>

using namespace rdmanet;
using namespace rdmanet::cluster;
using namespace rdmanet::cluster::test;
using Catch::Matchers::Contains;

namespace {

class Removal : public BlocksFixture {
public:
    const std::string kRange = "10.0.0.0/24";

    /// A node that knows the range, and has no block of it.
    std::unique_ptr<TestNode> node_without_block(const std::string& suffix) {
        auto one = node(suffix);
        CHECK_THAT(one->reserve("first", {claim(kRange)}), Contains("/24"));
        give_all_back(*one);
        return one;
    }
    void give_all_back(TestNode& node) const {
        for (const ipam::Lease& lease : node.file->list_all(soon())) (void)node.store->release(lease.owner.key, soon());
        for (const ipam::BlockRange& range : node.file->ranges(soon())) node.file->close_empty(range, soon());
        node.store->settle(kIdleBlock, soon());
        CHECK(node.states().empty());
    }
    /// What all nodes give from the range from now on is given once.
    void expect_no_duplicates(const std::vector<TestNode*>& nodes, const std::string& given) {
        std::set<std::string> all = {given};
        for (TestNode* node : nodes)
            for (int number = 0; number < 20; ++number) {
                const std::string got = try_to_reserve(*node, "all" + std::to_string(number), {claim(kRange)});
                INFO(got);
                CHECK_THAT(got, Contains("/24"));
                CHECK(all.insert(got).second);
            }
    }
};

} // namespace

TEST_CASE_METHOD(Removal, "blocks of an earlier boot go back from a node that uses blocks no more") {
    if (!is_there()) return;
    auto a = node("a");
    auto b = node("b");
    CHECK(b->store->tidy(soon()));
    CHECK(!std::filesystem::exists(b->directory->path() + "/blocks")); // it has nothing to remember
    for (const char* range : {"10.0.0.0/24", "10.7.0.0/24", "10.8.0.0/24"})
        CHECK_THAT(a->reserve(range, {claim(range)}), Contains("/24"));
    const std::string before = blocks();
    a->reboot("boot-a2");
    CHECK_THROWS_WITH(a->store->tidy(soon()), Contains("wait until kubelet has reported"));
    report_boot(a->name(), "boot-a2");
    patch(path_of_range("10.7.0.0-24"), R"([{"op":"replace","path":"/spec/confirmed","value":false}])");
    delete_range("10.8.0.0-24");
    a->start();
    CHECK(!a->store->tidy(soon())); // somebody records a range just now
    CHECK_THAT(blocks(), Contains("10.0.0.") && Contains("10.7.0.") && !Contains("10.8.0."));
    CHECK_THAT(a->states(), Contains("10.0.0.") && Contains("earlier") && !Contains("10.7.0."));
    patch(path_of_range("10.7.0.0-24"), R"([{"op":"replace","path":"/spec/confirmed","value":true}])");
    CHECK(a->store->tidy(soon()));
    CHECK_THAT(a->states(), Contains("10.0.0.") && Contains("10.7.0."));
    a->now.boot += 600;
    a->store->settle(kIdleBlock, soon());
    CHECK(blocks().empty());
}

TEST_CASE_METHOD(Removal, "a block of an earlier boot that was half given back goes at the next look") {
    if (!is_there()) return;
    Relay relay("rdmanet");
    auto a = node("a");
    CHECK_THAT(a->reserve("c", {claim(kRange)}), Contains("/24"));
    a->reboot("boot-a2");
    report_boot(a->name(), "boot-a2");
    delete_range("10.0.0.0-24");
    a->connect = [&] { return relay.connect(); };
    a->start();
    relay.decide(
        [](const std::string& request) { return request.starts_with("DELETE ") ? Fate::is_lost : Fate::passes; });
    CHECK_THROWS_WITH(a->store->tidy(soon()), Contains("no answer says whether the removal"));
    CHECK_THAT(blocks(), Contains(" a released"));
    relay.decide({});
    CHECK(a->store->tidy(soon()));
    CHECK(blocks().empty());
}

TEST_CASE_METHOD(Removal, "a block that a killed process has left goes when somebody deletes its range") {
    if (!is_there()) return;
    auto a = node("a");
    CHECK_THAT(a->reserve("c", {claim(kRange)}), Contains("/24"));
    CHECK_THAT(a->reserve("other", {claim("10.7.0.0/24")}), Contains("/24"));
    CHECK(a->store->tidy(soon())); // has looked
    CHECK(a->release("c") != "");
    a->file->close_empty(a->file->ranges(soon()).front(), soon());
    a->file->remove(a->file->blocks(soon()).front(), soon()); // as if it had been killed between two writes
    CHECK_THAT(a->states(), !Contains("10.0.0."));
    CHECK(a->store->tidy(soon()));
    CHECK_THAT(blocks(), Contains("10.0.0."));
    delete_object(path_of_range("10.0.0.0-24"));
    CHECK(a->store->tidy(soon()));
    CHECK_THAT(blocks(), !Contains("10.0.0.") && Contains("10.7.0."));
    CHECK(ranges() == "10.7.0.0/24");
}

TEST_CASE_METHOD(Removal, "a range that somebody deletes goes with its last block, and is cut anew") {
    if (!is_there()) return;
    auto a = node("a");
    auto b = node("b");
    auto c = node("c");
    CHECK_THAT(a->reserve("a0", {claim(kRange)}), Contains("/24"));
    CHECK_THAT(b->reserve("b0", {claim(kRange)}), Contains("/24"));
    CHECK(a->release("a0") != "");
    delete_object(path_of_range("10.0.0.0-24"));
    CHECK(ranges() == kRange + " going");
    CHECK_THAT(try_to_reserve(*c, "c0", {claim(kRange)}),
               Contains("somebody has deleted AddressRange " + space) && Contains("`rdmanet gc` on each node"));
    CHECK_THAT(b->reserve("b1", {claim(kRange)}), Contains("/24")); // in its own block
    const std::string with_both = blocks();
    for (int number = 2; number < 16; ++number) (void)try_to_reserve(*b, "b" + std::to_string(number), {claim(kRange)});
    CHECK_THAT(try_to_reserve(*b, "more", {claim(kRange)}), Contains("somebody has deleted AddressRange"));
    CHECK(blocks() == with_both);
    CHECK(a->store->tidy(soon()));
    CHECK(blocks() == b->file->blocks(soon()).front().prefix.to_string() + " b");
    CHECK(b->store->tidy(soon()));
    CHECK(ranges() == kRange + " going");
    CHECK(b->file->list_all(soon()).size() >= 15);
    for (const ipam::Lease& lease : b->file->list_all(soon())) (void)b->store->release(lease.owner.key, soon());
    CHECK(b->store->tidy(soon()));
    CHECK(blocks().empty());
    CHECK(ranges().empty());
    c->block_size = 32;
    CHECK_THAT(try_to_reserve(*c, "c0", {claim(kRange)}), Contains("/24"));
    CHECK(c->file->blocks(soon()).front().prefix.length() == 27);
    CHECK_THAT(try_to_reserve(*b, "b0", {claim(kRange)}), Contains("/24"));
    CHECK(b->file->blocks(soon()).front().prefix.length() == 27);
}

TEST_CASE_METHOD(Removal, "a range whose record somebody removes at once is recorded again, and gives nothing twice") {
    if (!is_there()) return;
    Relay relay("rdmanet");
    auto c = node("c");
    c->block_size = 32;
    SECTION("by nodes that knew it") {
        auto a = node("a");
        auto b = node("b");
        CHECK_THAT(a->reserve("a0", {claim(kRange)}), Contains("/24"));
        delete_range("10.0.0.0-24");
        CHECK_THAT(try_to_reserve(*c, "c0", {claim(kRange)}), Contains("AddressBlock " + space)); // a's pods are there
        CHECK(ranges().empty());
        CHECK_THAT(b->reserve("b0", {claim(kRange)}), Contains("/24")); // as it was cut before
        CHECK(b->file->blocks(soon()).front().prefix.length() == 28);
        expect_no_duplicates({a.get(), b.get()}, "");
    }
    SECTION("by another node, and cut otherwise") {
        auto a = node_without_block("a");
        delete_range("10.0.0.0-24");
        const std::string first = c->reserve("c0", {claim(kRange)});
        CHECK_THAT(first, Contains("/24"));
        expect_no_duplicates({a.get(), c.get()}, first);
        CHECK_THAT(blocks(), !Contains("/28"));
    }
    SECTION("by another node, while a node asks for a block of the earlier one") {
        auto a = node_without_block("a");
        std::string first;
        const bool is_before = GENERATE(true, false);
        a->connect = [&] { return relay.connect(); };
        a->start();
        relay.decide([&](const std::string& request) {
            const bool is_moment =
                is_before ? request.starts_with("POST ") : request == "GET " + path_of_range("10.0.0.0-24");
            if (!first.empty() || !is_moment) return Fate::passes;
            delete_range("10.0.0.0-24");
            first = try_to_reserve(*c, "c0", {claim(kRange)});
            return Fate::passes;
        });
        CHECK_THAT(try_to_reserve(*a, "a0", {claim(kRange)}), Contains("/24"));
        relay.decide({});
        INFO(first << "; " << blocks());
        CHECK(first.ends_with("/24") == is_before); // otherwise the block of a is there
        CHECK_THAT(first, Contains("/24") || Contains("AddressBlock " + space));
        expect_no_duplicates(is_before ? std::vector{a.get(), c.get()} : std::vector{a.get()}, first);
        if (is_before) CHECK_THAT(blocks(), !Contains("/28"));
    }
}

TEST_CASE_METHOD(Removal,
                 "a block that a node was about to get of a range that is removed goes back at the next call") {
    if (!is_there()) return;
    Relay relay("rdmanet");
    auto a = node_without_block("a");
    a->connect = [&] { return relay.connect(); };
    a->start();
    relay.decide([this](const std::string& request) { // the block is made, and the question for its range has no answer
        return request == "GET " + path_of_range("10.0.0.0-24") ? Fate::is_lost : Fate::passes;
    });
    CHECK_THAT(try_to_reserve(*a, "a0", {claim(kRange)}), !Contains("/24"));
    CHECK_THAT(a->states(), Contains("claiming"));
    CHECK_THAT(blocks(), Contains(" a"));
    relay.decide({});
    delete_object(path_of_range("10.0.0.0-24"));
    a->store->settle(kIdleBlock, soon());
    CHECK(blocks().empty());
    CHECK(a->states().empty());
    CHECK(a->store->tidy(soon()));
    CHECK(ranges().empty());
}

TEST_CASE_METHOD(Removal, "a node whose kubelet has not reported its boot gets no block") {
    if (!is_there()) return;
    auto a = node("a");
    report_boot(a->name(), "");
    CHECK_THAT(try_to_reserve(*a, "c", {claim(kRange)}), Contains("wait until kubelet has reported"));
    CHECK(blocks().empty());
}

TEST_CASE_METHOD(Removal, "a node that has blocks of a range from one cluster takes none from another one") {
    if (!is_there()) return;
    auto a = node("a");
    CHECK_THAT(a->reserve("c", {claim("10.0.0.0/30")}), Contains("/30"));
    std::string block = a->file->blocks(soon()).front().prefix.to_string();
    std::replace(block.begin(), block.end(), '/', '-');
    delete_block(block); // a cluster without it is another one
    a->kubeconfig = "/other";
    CHECK_THAT(try_to_reserve(*a, "d", {claim("10.0.0.0/30")}),
               Contains("/k") && Contains("/other") && Contains("\"network_name\""));
    CHECK(blocks().empty());
    a->kubeconfig = "/k";
    CHECK_THAT(try_to_reserve(*a, "d", {claim("10.0.0.0/30")}), Contains("/30"));
}
