// An AddressRange and whereabouts' pools that have addresses of it, and what happens when somebody deletes the range.
#include "blocks_fixture.hpp"
#include "pools/api.hpp"
#include "pools/check.hpp"
#include "relay.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <set>

using namespace rdmanet;
using namespace rdmanet::cluster;
using namespace rdmanet::cluster::test;

namespace {

class Ranges : public BlocksFixture {
public:
    /// A record of a pool.
    static std::string record(const std::string& offset) {
        return "{\"" + offset + R"(":{"id":"old","podref":"a/b","ifname":"net1"}})";
    }
    /// As one process of a node that uses the pool of the range. Its error, or the addresses.
    std::string from_pool(kube::Api& api, const std::string& container, const std::string& range,
                          const std::string& state_directory = {}) {
        WhereaboutsStore::Options own = options({range});
        own.state_directory = state_directory;
        own.node.boot_id = "boot";
        own.cluster = "/k";
        WhereaboutsStore store(api, own);
        try {
            return text_of(store.reserve(owner(container, "p"), {claim(range)}, soon()));
        } catch (const RangeMoved& moved) {
            return std::string("moved: ") + moved.what();
        } catch (const base::Error& error) {
            return error.what();
        }
    }
    std::string from_pool(const std::string& container, const std::string& range = "10.0.0.0/24") {
        return from_pool(*pools_api, container, range);
    }
    std::set<std::string> fill(TestNode& node, const ipam::Claim& claim) {
        std::set<std::string> given;
        for (int number = 0; number < 300; ++number) {
            const std::string next = node.reserve("f" + std::to_string(number), {claim});
            if (!next.ends_with("/24")) return given;
            CHECK(given.insert(next).second);
        }
        return given;
    }

    std::unique_ptr<kube::Api> pools_api = connect();
};

} // namespace

TEST_CASE_METHOD(Ranges, "a node lists no pools and blocks of a range that reconcile has found to be exclusive") {
    const std::string uid = declare(kRange);
    const bool is_of_this_range = GENERATE(true, false);
    patch(path_of_range(kRange) + "/status", R"([{"op":"add","path":"/status","value":{"exclusiveUID":")" +
                                                 (is_of_this_range ? uid : "another") + "\"}}]");
    Relay relay("rdmanet");
    auto a = node_behind(relay, "a");
    CHECK_THAT(a->reserve("c", {claim(kRange)}), EndsWith("/24"));
    const auto requests = relay.take_requests();
    CAPTURE(requests);
    CHECK(requests.size() == (is_of_this_range ? 4 : 6));
}

TEST_CASE_METHOD(Ranges, "that a range is exclusive is read again from etcd before a block is opened") {
    const std::string uid = declare(kRange);
    std::string records; // one in each block
    for (int number = 1; number < 256; number += 16)
        records += (records.empty() ? "\"" : ",\"") + std::to_string(number) + R"(":{"id":"c","podref":"default/p"})";
    make_pool(kRange, "{" + records + "}");
    Relay relay("rdmanet");
    relay.replace_answers([&](const std::string& request) -> std::optional<http::Response> {
        if (!request.starts_with(std::string("GET ") + kRangesPath + "?resourceVersion=0")) return std::nullopt;
        return http::Response{.status = 200,
                              .body = R"({"metadata":{},"items":[{"metadata":{"name":"r","uid":")" + uid +
                                      R"("},"spec":{"networkName":")" + space + R"(","range":")" + kRange +
                                      R"("},"status":{"exclusiveUID":")" + uid + R"("}}]})"};
    });
    auto a = node_behind(relay, "a");
    const std::string pool = pools_in("kube-system") + "/" + space + "-10.0.0.0-24";
    SECTION("who finds a pool then, gives the block back") {
        CHECK_THAT(a->reserve("c", {claim(kRange)}), Contains("try again"));
        CHECK(blocks().empty());
        CHECK_THAT(a->reserve("c", {claim(kRange)}), Contains("still have addresses of it"));
    }
    SECTION("and if nobody says what the pool has, no confirmation opens the block") {
        relay.decide([&, asked = 0](const std::string& request) mutable {
            return request == "GET " + pool && ++asked > 1 ? Fate::is_lost : Fate::passes; // behind the mark
        });
        CHECK_THAT(a->reserve("c", {claim(kRange)}), !EndsWith("/24"));
        REQUIRE(a->states() != "");
        relay.decide({});
        (void)a->confirm();
        CHECK_THAT(a->states(), !Contains("open"));
        CHECK_THAT(a->reserve("c", {claim(kRange)}), !EndsWith("/24"));
    }
    CHECK(mark_of(pool) == uid);
}

TEST_CASE_METHOD(Ranges, "before the first cut every pool that overlaps is marked, whatever its namespace and size") {
    const std::string uid = declare("10.0.0.0/16");
    auto a = node("a");
    create("/api/v1/namespaces", R"({"metadata":{"name":")" + space + "\"}}");
    make_pool("10.0.0.0/24", "{}");
    make_pool("10.0.0.0/12", "{}");
    make_pool("10.0.3.0/24", record("1"), space);
    make_pool("10.0.4.0/24", record("1"), "kube-system", space + "-" + a->name()); // a slice of this node
    make_pool("10.0.5.0/24", record("1"), "kube-system", space + "-other"); // of another network: no Node is called so
    make_pool("10.7.0.0/24", record("1"));                                  // elsewhere
    CHECK_THAT(a->reserve("c", {claim("10.0.0.0/16")}), EndsWith("/16"));
    CHECK(mark_of(path_of_pool("10.0.0.0/24")) == uid);
    CHECK(mark_of(path_of_pool("10.0.0.0/12")) == uid);
    CHECK(mark_of(pools_in(space) + "/" + space + "-10.0.3.0-24") == uid);
    CHECK(mark_of(pools_in("kube-system") + "/" + space + "-" + a->name() + "-10.0.4.0-24") == uid);
    CHECK(mark_of(pools_in("kube-system") + "/" + space + "-other-10.0.5.0-24").empty());
    CHECK(mark_of(path_of_pool("10.7.0.0/24")).empty());
    auto held = a->file->ranges().front().held_by;
    CHECK(held.size() == 2);
}

TEST_CASE_METHOD(Ranges, "a cut leaves out what pools hold, and a pool drains as its pods end") {
    declare(kRange);
    make_pool(kRange, record("20"));
    auto a = node("a");
    CHECK(fill(*a, claim(kRange)).size() == 254 - 16); // without 10.0.0.16/28
    CHECK_THAT(blocks(), !Contains("10.0.0.16/28"));
    CHECK_THAT(a->reserve("w", {wanting(kRange, "10.0.0.21")}), Contains("of which another store still has addresses"));
    patch(path_of_pool(kRange), R"([{"op":"remove","path":"/spec/allocations/20"}])");
    CHECK(a->reserve("w", {wanting(kRange, "10.0.0.21")}) == "10.0.0.21/24");
}

TEST_CASE_METHOD(Ranges, "a record that names no address of its pool is refused with a fix") {
    declare(kRange);
    make_pool(kRange, record("x"));
    auto a = node("a");
    CHECK_THAT(a->reserve("c", {claim(kRange)}),
               StartsWith("IPPool kube-system/" + space + "-10.0.0.0-24 has 1 record") && Contains("remove those"));
    CHECK(blocks().empty());
}

TEST_CASE_METHOD(Ranges, "blocks that a former range has left are left out, and drain") {
    declare(kRange);
    auto a = node("a");
    auto b = node("b");
    const std::string first = a->reserve("c", {claim(kRange)});
    const base::IpPrefix its = a->block().prefix;
    undeclare(kRange);
    declare(kRange, {.block_size = 32});
    const std::set<std::string> given = fill(*b, claim(kRange));
    const base::IpPrefix left_out = *base::IpPrefix::make(its.network(), 27);
    const bool is_at_an_edge = left_out.contains(ip("10.0.0.0")) || left_out.contains(ip("10.0.0.255"));
    CHECK(given.size() == (is_at_an_edge ? 254 - 31 : 254 - 32));
    CHECK_FALSE(given.contains(first));
    a->now.boot += 600;
    CHECK(a->confirm() == "");
    CHECK_THAT(a->states(), EndsWith(" open"));
    CHECK_THAT(a->reserve("d", {claim(kRange)}),
               !EndsWith("/24")); // nothing of the former one, and its block is in the way
    (void)a->release("c");
    CHECK(a->settle() == "");
    b->now.boot += 600;
    CHECK_THAT(b->reserve("more", {claim(kRange)}), EndsWith("/24"));
}

TEST_CASE_METHOD(Ranges, "a claim in a pool tests its UID and that it has no mark") {
    Relay relay("rdmanet");
    const auto api = relay.connect();
    REQUIRE(from_pool("old", kRange) == "10.0.0.1/24");
    const ipam::test::TemporaryDirectory state;
    REQUIRE(from_pool(*api, "own", kRange, state.path()) == "10.0.0.2/24"); // and it knows the pool
    const bool is_marked = GENERATE(true, false);
    INFO(is_marked);
    auto a = node("a");
    std::string given;
    relay.decide([&, is_done = false](const std::string& request) mutable {
        if (!request.starts_with("PATCH ") || std::exchange(is_done, true)) return Fate::passes;
        if (!is_marked) delete_object(path_of_pool(kRange));
        declare(kRange);
        given = a->reserve("c", {claim(kRange)});
        if (!is_marked) make_pool(kRange, "{}"); // after the first cut, so nobody marks it
        return Fate::passes;
    });
    CHECK_THAT(from_pool(*api, "late", kRange, state.path()),
               StartsWith("moved: ") && Contains("AddressRange " + space + "-10.0.0.0-24 covers it by now"));
    CHECK_THAT(given, EndsWith("/24"));
    CHECK_FALSE(knows_pool({.space = space, .subnet = prefix(kRange)}, state.path(), "boot", "/k"));
}

TEST_CASE_METHOD(Ranges, "each network of a node that uses pools looks for a range that was declared since") {
    const ipam::test::TemporaryDirectory state;
    const std::string other = "10.7.0.0/24";
    const auto keeper = [&](const std::string& subnet) {
        return find_keeper(
            {{.space = space, .subnet = prefix(subnet)}}, {},
            {.state_directory = state.path(), .boot_id = "boot", .kubeconfig = "/k"},
            [&]() -> kube::Api& { return *admin; }, soon());
    };
    for (const std::string& subnet : {kRange, other})
        CheckedPools(state.path(), "boot", "/k").note({.space = space, .subnet = prefix(subnet)}, "uid");
    CHECK(keeper(other) == Keeper::pools);
    declare(kRange);
    CHECK(keeper(other) == Keeper::pools);
    CHECK(keeper(kRange) == Keeper::blocks); // whatever the other network has looked for a moment ago
}

TEST_CASE_METHOD(Ranges, "a pool is used after a look for ranges and blocks, which is remembered for its UID") {
    Relay relay("rdmanet");
    const auto api = relay.connect();
    const ipam::test::TemporaryDirectory state;
    const auto looks = [&] {
        const auto requests = relay.take_requests();
        return std::count_if(requests.begin(), requests.end(), [](const auto& request) {
            return request.find("/apis/rdmanet.cni/") != std::string::npos;
        });
    };
    CHECK(from_pool(*api, "a", kRange, state.path()) == "10.0.0.1/24");
    CHECK(looks() == 2);
    CHECK(knows_pool({.space = space, .subnet = prefix(kRange)}, state.path(), "boot", "/k"));
    CHECK(from_pool(*api, "b", kRange, state.path()) == "10.0.0.2/24");
    CHECK(relay.take_requests().size() == 3); // pool, claim and reservation
    delete_object(path_of_pool(kRange));
    CHECK(from_pool(*api, "c", kRange, state.path()) == "10.0.0.3/24"); // what is reserved is left alone
    CHECK(looks() == 2);
}

TEST_CASE_METHOD(Ranges, "a range that is deleted gives nothing new, and its last block gives the pool free") {
    declare(kRange);
    auto a = node("a");
    make_pool(kRange, "{}");
    const std::string given = a->reserve("c", {claim(kRange)});
    CHECK_THAT(given, EndsWith("/24"));
    REQUIRE_FALSE(mark_of(path_of_pool(kRange)).empty());
    CHECK_THAT(from_pool("p"), StartsWith("moved: "));
    undeclare(kRange);
    CHECK_THAT(from_pool("p"),
               Contains("1 block of an AddressRange that is gone still has addresses of it, on node " + a->name()) &&
                   Contains("apply that range again"));
    CHECK_FALSE(mark_of(path_of_pool(kRange)).empty());
    a->now.boot += 121; // its confirmation is too old, so it looks
    CHECK_THAT(a->reserve("d", {claim(kRange)}), Contains("no AddressRange has range"));
    CHECK(a->reserve("c", {claim(kRange)}) == given); // what its pod has
    (void)a->release("c");
    CHECK(a->settle() == "");
    CHECK(blocks().empty());
    CHECK(a->file->ranges().empty());
    CHECK(from_pool("p") == "10.0.0.1/24");
    CHECK(mark_of(path_of_pool(kRange)).empty());
}

TEST_CASE_METHOD(Ranges, "an unmarking tests the mark that it saw") {
    make_pool(kRange, "{}");
    declare(kRange);
    auto a = node("a");
    REQUIRE_THAT(a->reserve("c", {claim(kRange)}), EndsWith("/24"));
    (void)a->release("c");
    undeclare(kRange);
    CHECK(a->confirm() == "");
    REQUIRE(blocks().empty());
    Relay relay("rdmanet");
    const auto api = relay.connect();
    std::string uid;
    std::string given;
    relay.decide([&, is_done = false](const std::string& request) mutable {
        if (!request.starts_with("PATCH ") || std::exchange(is_done, true)) return Fate::passes;
        uid = declare(kRange); // after the look of who wants to take the mark away
        given = a->reserve("c", {claim(kRange)});
        return Fate::passes;
    });
    CHECK_THAT(from_pool(*api, "p", kRange), StartsWith("moved: "));
    CHECK_THAT(given, EndsWith("/24"));
    CHECK(mark_of(path_of_pool(kRange)) == uid);
}

TEST_CASE_METHOD(Ranges,
                 "a range that is applied again with equal content gets its blocks back, and no other one does") {
    declare(kRange);
    auto a = node("a");
    const std::string given = a->reserve("c", {claim(kRange)});
    const std::string before = blocks();
    undeclare(kRange);
    const unsigned size = GENERATE(16U, 32U);
    const std::string uid = declare(kRange, {.block_size = size});
    a->now.boot += 121;
    const std::string next = a->reserve("d", {claim(kRange)});
    CHECK_THAT(next, EndsWith("/24"));
    if (size == 16) {
        CHECK(blocks() == before);
        CHECK(spec_of(before.substr(0, before.find(' ')), "rangeUID") == "\"" + uid + "\"");
        CHECK(a->block().prefix.contains(prefix(next).address()));
        CHECK(a->file->ranges().size() == 1);
        return;
    }
    CHECK_THAT(blocks(), Contains(before) && Contains("/27 a"));
    CHECK_FALSE(prefix(before.substr(0, before.find(' '))).contains(prefix(next).address()));
    CHECK(a->reserve("c", {claim(kRange)}) == given);
}
