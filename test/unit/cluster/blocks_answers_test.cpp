// What answers of the server the store "blocks" lives with, and how often it asks.
#include "blocks_fixture.hpp"
#include "relay.hpp"

#include <catch2/catch.hpp>

#include <algorithm>

using namespace rdmanet;
using namespace rdmanet::cluster;
using namespace rdmanet::cluster::test;
using Catch::Matchers::Contains;

namespace {

class Answers : public BlocksFixture {
public:
    const std::string kRange = "10.0.0.0/30"; // blocks of one, two of which have a usable address

    /// The store's refusal, with "temporary: " before one that may pass; or the addresses.
    static std::string say(TestNode& node, const std::string& container, const std::vector<ipam::Claim>& claims) {
        node.store = std::make_unique<BlocksStore>(node.file, node.options());
        const auto outcome = node.store->reserve(owner(container, container), claims, soon());
        const auto* none = std::get_if<ipam::Exhausted>(&outcome);
        if (none == nullptr) return text_of(outcome);
        if (!none->refusal) return "exhausted" + none->detail;
        return (none->refusal->temporary() ? "temporary: " : "") + std::string(none->refusal->what());
    }
    /// Lists of all nodes, whatever their number of pages.
    static std::ptrdiff_t of_whole_nodes(const std::vector<std::string>& requests) {
        return std::count(requests.begin(), requests.end(), "GET /api/v1/nodes?limit=100");
    }
    static std::size_t count(const std::vector<std::string>& requests, const std::string& text) {
        return static_cast<std::size_t>(std::count_if(requests.begin(), requests.end(), [&](const auto& request) {
            return request.find(text) != std::string::npos;
        }));
    }
};

/// Nodes that are there for one case.
class Crowd {
public:
    Crowd(Answers& cluster, int size) : cluster_(cluster) {
        for (int number = 0; number < size; ++number)
            names_.push_back(cluster_.make_node("crowd-" + std::to_string(number), "boot-of-crowd"));
    }
    Crowd(const Crowd&) = delete;
    Crowd& operator=(const Crowd&) = delete;
    ~Crowd() {
        for (const std::string& name : names_) cluster_.delete_node(name);
    }

private:
    Answers& cluster_;
    std::vector<std::string> names_;
};

} // namespace

TEST_CASE_METHOD(Answers, "lists of nodes come in pages, and begin anew when the server has forgotten them") {
    if (!is_there()) return;
    Relay relay("rdmanet");
    auto a = node("a");
    auto b = node_behind(relay, "b");
    CHECK_THAT(say(*a, "c0", {claim(kRange)}), Contains("/30"));
    CHECK_THAT(say(*a, "c1", {claim(kRange)}), Contains("/30"));
    const std::string before = blocks();
    delete_node(a->name());
    {
        const Crowd crowd(*this, 101);
        make_node("renamed", a->boot()); // the same machine by another name
        int forgotten = 0;
        relay.replace_answers([&](const std::string& request) -> std::optional<http::Response> {
            if (request.find("/nodes") == std::string::npos || request.find("continue=") == std::string::npos)
                return std::nullopt;
            if (forgotten++ > 0) return std::nullopt;
            return http::Response{.status = 410, .body = R"({"reason":"Expired","message":"too old"})"};
        });
        CHECK_THAT(say(*b, "d", {claim(kRange)}), Contains("exhausted"));
        CHECK(forgotten >= 2);
        const auto requests = relay.take_requests();
        CHECK(count(requests, "/nodes?limit=100&continue=") >= 2);
        CHECK(count(requests, "PATCH") == 0); // nothing is marked: a node reports the boot
        relay.replace_answers([](const std::string& request) -> std::optional<http::Response> {
            if (request.find("continue=") == std::string::npos) return std::nullopt;
            return http::Response{.status = 410, .body = R"({"reason":"Expired","message":"too old"})"};
        });
        b->now.boot += 10;
        CHECK_THAT(say(*b, "d", {claim(kRange)}), Contains("temporary: ") && Contains("410"));
    }
    CHECK(blocks() == before);
}

TEST_CASE_METHOD(Answers, "nodes whose absence is noted are not looked for again before it is time") {
    if (!is_there()) return;
    Relay relay("rdmanet");
    auto a = node("a");
    auto b = node_behind(relay, "b");
    CHECK_THAT(say(*a, "c0", {claim(kRange)}), Contains("/30"));
    CHECK_THAT(say(*a, "c1", {claim(kRange)}), Contains("/30"));
    delete_node(a->name());
    CHECK_THAT(say(*b, "d", {claim(kRange)}), Contains("blocks of nodes that are gone"));
    CHECK(of_whole_nodes(relay.take_requests()) == 1);
    b->now.boot += 10;
    CHECK_THAT(say(*b, "d", {claim(kRange)}), Contains("blocks of nodes that are gone"));
    CHECK(of_whole_nodes(relay.take_requests()) == 0);
}

TEST_CASE_METHOD(Answers, "a full range is not searched at every ADD, but when a moment has passed or a pod has gone") {
    if (!is_there()) return;
    Relay relay("rdmanet");
    auto a = node("a");
    auto b = node_behind(relay, "b");
    CHECK_THAT(say(*a, "c0", {claim(kRange)}), Contains("/30"));
    CHECK_THAT(say(*b, "d0", {claim(kRange)}), Contains("/30"));
    CHECK_THAT(say(*b, "elsewhere", {claim("10.1.0.0/24")}), Contains("/24")); // is none of this range
    CHECK_THAT(say(*b, "d1", {claim(kRange)}), Contains("exhausted; this node holds 1 block, node " + a->name()));
    (void)relay.take_requests();
    for (int number = 0; number < 3; ++number)
        CHECK_THAT(say(*b, "d1", {claim(kRange)}), Contains("exhausted; a moment ago"));
    CHECK(relay.take_requests().empty());
    // Another part of the range is another question.
    ipam::Claim part = claim("10.0.0.0/30");
    part.usable = {{ip("10.0.0.1").value(), ip("10.0.0.1").value()}};
    CHECK_THAT(say(*b, "d1", {part}), Contains("exhausted; this node"));
    CHECK(!relay.take_requests().empty());
    CHECK_THAT(say(*b, "d1", {claim(kRange)}), Contains("exhausted; this node"));
    (void)relay.take_requests();
    b->now.boot += 10;
    CHECK_THAT(say(*b, "d1", {claim(kRange)}), Contains("exhausted; this node"));
    CHECK(!relay.take_requests().empty());
    const std::string freed = b->release("d0");
    CHECK(say(*b, "d1", {claim(kRange)}) == freed);
    CHECK_THAT(say(*b, "d2", {claim(kRange)}), Contains("exhausted; this node"));
    CHECK(!relay.take_requests().empty());
}

TEST_CASE_METHOD(Answers, "a node that is too slow for block after block does not call the range full") {
    if (!is_there()) return;
    const std::string range = "10.0.0.0/25"; // 24 blocks of four, then small ones
    Relay relay("rdmanet");
    auto a = node("a");
    auto b = node_behind(relay, "b");
    a->block_size = b->block_size = 4;
    for (int number = 0; number < 95; ++number)
        CHECK_THAT(say(*a, "c" + std::to_string(number), {claim(range)}), Contains("/25"));
    relay.replace_answers([](const std::string& request) -> std::optional<http::Response> {
        if (request.find("includeObject=None") == std::string::npos) return std::nullopt;
        return http::Response{.status = 200, .body = R"({"kind":"Table","metadata":{},"rows":[]})"}; // as it was before
    });
    CHECK_THAT(say(*b, "d", {claim(range)}), Contains("temporary: ") && Contains("faster") && Contains("http://"));
    CHECK(b->store->has_free(claim(range), soon()));
    relay.replace_answers({});
    CHECK_THAT(say(*b, "d", {claim(range)}), Contains("/25"));
}

TEST_CASE_METHOD(Answers, "an answer that is not JSON is the server's trouble, and a write may have been done") {
    if (!is_there()) return;
    Relay relay("rdmanet");
    auto a = node_behind(relay, "a");
    const auto replace = [&](const std::string& method) {
        relay.replace_answers([method, is_done = false](const std::string& request) mutable {
            if (is_done || !request.starts_with(method)) return std::optional<http::Response>();
            is_done = true;
            return std::optional(http::Response{.status = 200, .body = "<html>welcome</html>"});
        });
    };
    replace("GET /apis/rdmanet.cni/v1alpha1/addressranges");
    CHECK_THAT(say(*a, "c0", {claim(kRange)}), Contains("temporary: ") && Contains("not JSON"));
    replace("POST /apis/rdmanet.cni/v1alpha1/addressblocks");
    CHECK_THAT(say(*a, "c0", {claim(kRange)}), Contains("/30")); // what was made is read back
    CHECK(a->file->blocks(soon()).size() == 1);
    CHECK(blocks() == a->file->blocks(soon()).front().prefix.to_string() + " a");
}

TEST_CASE_METHOD(Answers, "a block that the server refuses to change does not keep the others from going back") {
    if (!is_there()) return;
    Relay relay("rdmanet");
    auto a = node_behind(relay, "a");
    a->requestable = {prefix("10.7.0.64/28")};
    for (const char* address : {"10.7.0.70", "10.7.0.71", "10.7.0.72"})
        CHECK(a->reserve(address, {wanting("10.7.0.0/24", address)}) == std::string(address) + "/24");
    relay.replace_answers([](const std::string& request) -> std::optional<http::Response> {
        if (request.find("10.7.0.70-32") == std::string::npos) return std::nullopt;
        return http::Response{.status = 403, .body = R"({"reason":"Forbidden","message":"not this one"})"};
    });
    for (const char* address : {"10.7.0.70", "10.7.0.71"}) CHECK(a->release(address) != "");
    CHECK_THROWS_WITH(a->store->settle(kIdleBlock, soon()), Contains("not this one"));
    CHECK(blocks() == "10.7.0.70/32 a released, 10.7.0.72/32 a"); // only the answer is the relay's
    CHECK(a->states() == "10.7.0.70/32 closed, 10.7.0.72/32 open");
    relay.replace_answers({});
    a->store->settle(kIdleBlock, soon());
    CHECK(blocks() == "10.7.0.72/32 a");
}

TEST_CASE_METHOD(Answers, "a Node that is not there yet may come, and a host name that no Node has is refused") {
    if (!is_there()) return;
    TestNode late(*this, space + "-late", "boot");
    CHECK_THAT(say(late, "c", {claim(kRange)}), Contains("temporary: ") && Contains("\"nodeName\""));
    for (const char* name : {"../../version", "a?b#c%2f d", "My_Host"}) {
        TestNode stranger(*this, name, "boot");
        const std::string said = say(stranger, "c", {claim(kRange)});
        CHECK_THAT(said, !Contains("temporary") && Contains("\"nodeName\"") && Contains(name));
    }
}
