// Connections that break while a node takes a block or gives one back.
#include "blocks_fixture.hpp"
#include "by_proxy.hpp"

#include <catch2/catch.hpp>

using namespace rdmanet;
using namespace rdmanet::cluster;
using namespace rdmanet::cluster::test;
using Catch::Matchers::EndsWith;

namespace {

class CutBlocks : public BlocksFixture {
public:
    /// As one process whose connections pass the proxy; nullptr: none of them breaks.
    template <class Act>
    static std::string run(TestNode& node, const TcpProxy* proxy, Act act) {
        node.connect =
            proxy == nullptr ? std::function<std::unique_ptr<kube::Api>()>() : [proxy] { return connect_by(*proxy); };
        node.start();
        try {
            return act();
        } catch (const ipam::StoreError& error) {
            return error.temporary() ? "try again" : error.what();
        }
    }
    static std::string reserve(TestNode& node, const TcpProxy* proxy, const ipam::Claim& claim) {
        return run(node, proxy, [&] {
            node.store = std::make_unique<BlocksStore>(node.file, node.options());
            const auto outcome = node.store->reserve(owner("c", "pod-c"), {claim}, soon());
            const auto* none = std::get_if<ipam::Exhausted>(&outcome);
            if (none != nullptr && none->refusal) throw ipam::StoreError(*none->refusal);
            return text_of(outcome);
        });
    }
    static std::string settle(TestNode& node, const TcpProxy* proxy) {
        return run(node, proxy, [&] {
            node.store->settle(0s, soon());
            return "settled";
        });
    }
    /// What an act sends and gets.
    template <class Act>
    static Traffic traffic_of(Act act) {
        const TcpProxy proxy(server_port());
        act(&proxy);
        return {.requests = proxy.bytes_of_requests(), .answers = proxy.bytes_of_answers()};
    }

    static constexpr std::size_t kPoints = 6;
    const std::string kRange = "10.0.0.0/24";
};

} // namespace

TEST_CASE_METHOD(CutBlocks, "a connection that ends at any byte of a claim costs the cluster no block") {
    if (!is_there()) return;
    const Traffic traffic = traffic_of([&](const TcpProxy* proxy) {
        const auto whole = node("a");
        REQUIRE_THAT(reserve(*whole, proxy, claim(kRange)), EndsWith("/24"));
    });
    int given = 0;
    cut_at_each(traffic, kPoints, [&](const TcpProxy& proxy, const std::string& where) {
        INFO(where);
        space = own_space();
        const auto a = node("a");
        const std::string outcome = reserve(*a, &proxy, claim(kRange));
        if (outcome != "try again") {
            CHECK_THAT(outcome, EndsWith("/24"));
            ++given;
        }
        a->now.boot += 60; // what applies late has applied by now
        CHECK(settle(*a, nullptr) == "settled");
        const std::string again = reserve(*a, nullptr, claim(kRange));
        CHECK_THAT(again, EndsWith("/24"));
        if (outcome != "try again") CHECK(again == outcome);
        // The cluster has the block that the node has, and no other one.
        REQUIRE(a->file->blocks(soon()).size() == 1);
        CHECK(a->states() == a->file->blocks(soon()).front().prefix.to_string() + " open");
        CHECK(blocks() == a->file->blocks(soon()).front().prefix.to_string() + " a");
        CHECK(ranges() == kRange);
    });
    CHECK(given > 0);
}

TEST_CASE_METHOD(CutBlocks, "a connection that ends at any byte of a give-back leaves a block that goes back later") {
    if (!is_there()) return;
    const ipam::Claim one = wanting(kRange, "10.0.0.70");
    const auto make = [&](const std::string& suffix) {
        auto made = node(suffix);
        made->requestable = {prefix("10.0.0.64/26")};
        return made;
    };
    const auto a = make("a");
    const auto b = make("b");
    const auto hold_once = [&](TestNode& node) {
        REQUIRE(reserve(node, nullptr, one) == "10.0.0.70/24");
        REQUIRE(node.release("c") == "10.0.0.70/24");
    };
    hold_once(*a);
    const Traffic traffic = traffic_of([&](const TcpProxy* proxy) { REQUIRE(settle(*a, proxy) == "settled"); });
    REQUIRE(blocks().empty());
    cut_at_each(traffic, kPoints, [&](const TcpProxy& proxy, const std::string& where) {
        INFO(where);
        hold_once(*a);
        const std::string outcome = settle(*a, &proxy);
        if (outcome != "settled") {
            CHECK(outcome == "try again");
            a->now.boot += 60;
            CHECK(settle(*a, nullptr) == "settled");
        }
        CHECK(a->states().empty());
        CHECK(blocks().empty());
        hold_once(*b);
        CHECK(settle(*b, nullptr) == "settled");
    });
}
