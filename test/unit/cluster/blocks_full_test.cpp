// A range that is full: what nodes ask then, and what they say.
#include "blocks_fixture.hpp"
#include "relay.hpp"

#include <catch2/catch.hpp>

#include <algorithm>

using namespace rdmanet;
using namespace rdmanet::cluster;
using namespace rdmanet::cluster::test;

TEST_CASE_METHOD(BlocksFixture,
                 "a full range costs a node at most three requests in a minute, then fewer, and says who has it") {
    const std::string range = "10.0.0.0/30"; // blocks of one, two of which have a usable address
    declare(range);
    Relay relay("rdmanet");
    auto a = node("a");
    auto b = node_behind(relay, "b");
    CHECK_THAT(a->reserve("c0", {claim(range)}), EndsWith("/30"));
    CHECK_THAT(a->reserve("c1", {claim(range)}), EndsWith("/30"));
    count_blocks(range, 2, 1);
    const std::string said = b->reserve("d", {claim(range)});
    CHECK_THAT(said, StartsWith("exhausted; this node has 0 blocks of AddressRange " + space + "-10.0.0.0-30") &&
                         Contains("of which 1 lay empty"));
    (void)relay.take_requests();
    std::vector<std::int64_t> asked;
    const std::int64_t begun = b->now.boot;
    for (; b->now.boot < begun + 1000; b->now.boot += 5) {
        CHECK(b->reserve("d", {claim(range)}) == said);
        const auto requests = relay.take_requests();
        for (const std::string& request : requests) CHECK_THAT(request, Contains("resourceVersion=0"));
        for (std::size_t one = 0; one < requests.size(); ++one) asked.push_back(b->now.boot);
    }
    CHECK(asked.size() <= 12);
    for (std::size_t at = 3; at < asked.size(); ++at) CHECK(asked[at] - asked[at - 3] >= 60);
    CHECK_FALSE(b->store->has_free(claim(range), soon()));
    // Another part of the range is another question.
    ipam::Claim part = claim(range);
    part.usable = {{ip("10.0.0.1").value(), ip("10.0.0.1").value()}};
    CHECK_THAT(b->reserve("d", {part}), StartsWith("exhausted"));
    CHECK_FALSE(relay.take_requests().empty());
    (void)a->release("c0");
    a->now.boot += 600;
    delete_block(a->file->blocks().front().prefix.to_string());
    CHECK(comes_true([&] { // the server's memory hears of it a moment later
        b->now.boot += 1000;
        return b->reserve("d", {claim(range)}).ends_with("/30");
    }));
}

TEST_CASE_METHOD(BlocksFixture,
                 "of a large full range no names are listed again before reconcile has counted a free block") {
    const std::string range = "10.0.0.0/16";
    const std::string uid = declare(range, {.block_size = 16});
    Relay relay("rdmanet");
    auto a = node_behind(relay, "a");
    const auto list_names = [&](int free) {
        std::string rows;
        for (int block = free; block < 4096; ++block)
            rows += std::string(rows.empty() ? "" : ",") + R"({"cells":[")" + space + "-10.0." +
                    std::to_string(block / 16) + "." + std::to_string(block % 16 * 16) + "-28\"]}";
        return http::Response{.status = 200, .body = R"({"kind":"Table","metadata":{},"rows":[)" + rows + "]}"};
    };
    const auto is_of_names = [](const std::string& request) {
        return request.find("includeObject=None") != std::string::npos;
    };
    int free = 0;
    relay.replace_answers([&](const std::string& request) -> std::optional<http::Response> {
        return is_of_names(request) ? std::optional(list_names(free)) : std::nullopt;
    });
    relay.busy = {.status = 409, .seconds = 0, .words = "it is there", .reason = "AlreadyExists"};
    relay.decide([&](const std::string& request) {
        return free == 0 && request.starts_with("POST ") ? Fate::is_sent_away : Fate::passes;
    });
    const auto names_asked_for = [&] {
        const auto requests = relay.take_requests();
        return std::count_if(requests.begin(), requests.end(), is_of_names);
    };
    CHECK_THAT(a->reserve("c", {claim(range)}), StartsWith("exhausted"));
    CHECK(names_asked_for() == 1);
    count_blocks(range, 4096, 7);
    a->now.boot += 1000;
    CHECK_THAT(a->reserve("c", {claim(range)}), StartsWith("exhausted") && Contains("7 lay empty"));
    CHECK(names_asked_for() == 0);
    free = 1;
    count_blocks(range, 4095, 7);
    a->now.boot += 2000;
    CHECK_THAT(a->reserve("c", {claim(range)}), EndsWith("/16"));
    CHECK(a->block().prefix == prefix("10.0.0.0/28"));
}

TEST_CASE_METHOD(BlocksFixture,
                 "of a range that is nearly full nodes give their empty blocks back at their next confirmation") {
    declare(kRange);
    auto a = node("a");
    CHECK_THAT(a->reserve("c", {claim(kRange)}), EndsWith("/24"));
    (void)a->release("c");
    count_blocks(kRange, 13, 1);
    CHECK(a->confirm() == "");
    CHECK(blocks() == a->block().prefix.to_string() + " a");
    count_blocks(kRange, 14, 1);
    CHECK(a->confirm() == "");
    CHECK(blocks().empty());
}
