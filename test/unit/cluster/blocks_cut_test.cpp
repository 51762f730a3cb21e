// How a node gets a block: which requests it sends, and what it does with each answer.
#include "blocks_fixture.hpp"
#include "by_proxy.hpp"
#include "relay.hpp"

#include "blocks/objects.hpp"

#include <catch2/catch.hpp>

#include <set>

using namespace rdmanet;
using namespace rdmanet::cluster;
using namespace rdmanet::cluster::test;

namespace {

class Cuts : public BlocksFixture {
public:
    const std::string kPost = std::string("POST ") + kBlocksPath;
    const std::string kListRanges = std::string("GET ") + kRangesPath + "?limit=500"; // from etcd

    /// Runs `act` when the node lists ranges from etcd, that is after its POST.
    static void before_the_second_look(Relay& relay, std::function<void()> act) {
        relay.decide([act = std::move(act), is_done = false](const std::string& request) mutable {
            const bool is_look = request.starts_with(std::string("GET ") + kRangesPath) &&
                                 request.find("resourceVersion=0") == std::string::npos;
            if (is_look && !std::exchange(is_done, true)) act();
            return Fate::passes;
        });
    }
};

} // namespace

TEST_CASE_METHOD(Cuts, "the first block of a boot costs six requests, and two more for each pool that is marked") {
    declare(kRange);
    const int pools = GENERATE(0, 2);
    if (pools != 0) {
        make_pool(kRange, "{}");
        make_pool("10.0.0.0/25", "{}");
    }
    Relay relay("rdmanet");
    auto a = node_behind(relay, "a");
    std::optional<DeclaredRanges> recalled;
    CHECK(find_keeper({{.space = space, .subnet = prefix(kRange)}}, {}, {}, a->options().api, soon(), &recalled) ==
          Keeper::blocks);
    REQUIRE(recalled);
    BlocksStore::Options options = a->options();
    options.recalled = recalled;
    BlocksStore store(a->file, options);
    CHECK_THAT(text_of(store.reserve(owner("c", "p"), {claim(kRange)}, soon())), EndsWith("/24"));
    const auto requests = relay.take_requests();
    CAPTURE(requests);
    CHECK(requests.size() == 6 + 2 * static_cast<std::size_t>(pools));
    CHECK(requests.back() == kListRanges);

    std::size_t own = a->file->blocks().size();
    for (int number = 0; number < 40; ++number) {
        CHECK_THAT(a->reserve("c" + std::to_string(number), {claim(kRange)}), EndsWith("/24"));
        const auto more = relay.take_requests();
        CAPTURE(more);
        CHECK(more.size() == (a->file->blocks().size() == own ? 0U : 2U)); // the POST, and the look after it
        own = a->file->blocks().size();
    }
}

TEST_CASE_METHOD(Cuts, "a block is opened only if its range is there after the POST, with that UID, and alone") {
    const std::string uid = declare(kRange);
    const auto again = GENERATE("deleted", "applied again", "going", "overlapped");
    INFO(again);
    Relay relay("rdmanet");
    auto a = node_behind(relay, "a");
    before_the_second_look(relay, [&] {
        const std::string what = again;
        CHECK_THAT(blocks(), EndsWith(" a")); // it is there, so whoever looks now sees it
        CHECK_THAT(a->states(), EndsWith(" closed"));
        if (what == "going")
            patch(path_of_range(kRange), R"([{"op":"add","path":"/metadata/finalizers","value":["a/b"]}])");
        if (what != "overlapped") delete_object(path_of_range(kRange));
        if (what == "applied again") declare(kRange);
        if (what == "overlapped") declare("10.0.0.0/25");
    });
    CHECK_THAT(a->reserve("c", {claim(kRange)}), Contains("is not what it was"));
    CHECK(blocks().empty());
    CHECK(a->states().empty());
    relay.decide({});
    const std::string next = a->reserve("c", {claim(kRange)});
    if (again == std::string("deleted")) CHECK_THAT(next, Contains("no AddressRange has range 10.0.0.0/24 any more"));
    if (again == std::string("going")) {
        CHECK_THAT(next, Contains("somebody has deleted AddressRange") && Contains("finalizers"));
        patch(path_of_range(kRange), R"([{"op":"remove","path":"/metadata/finalizers"}])");
    }
    if (again == std::string("applied again")) CHECK_THAT(next, EndsWith("/24"));
    if (again == std::string("overlapped"))
        CHECK_THAT(next, Contains(space + "-10.0.0.0-24") && Contains(space + "-10.0.0.0-25"));
}

TEST_CASE("which ranges cover which") {
    const auto range = [](const char* name, const char* subnet) {
        return AddressRange{.name = name, .uid = name, .space = "blue", .subnet = prefix(subnet)};
    };
    const DeclaredRanges ranges{.declared = {range("a", "10.0.0.0/16"), range("b", "10.1.0.0/16"),
                                             range("c", "10.1.2.0/24"), range("six", "fd00::/64")}};
    const auto cover = [&](const char* subnet, const char* its_space = "blue") {
        const AddressRange* const found = find_cover(ranges, {.space = its_space, .subnet = prefix(subnet)});
        return found == nullptr ? "" : found->name;
    };
    CHECK(cover("10.0.0.0/16") == "a");
    CHECK(cover("10.0.7.0/24", "blue@10.0.7.0/24") == "a");
    CHECK(cover("10.0.7.0/24", "").empty());
    CHECK(cover("10.2.0.0/16").empty());
    CHECK(cover("fd00::/112") == "six");
    CHECK_THROWS_WITH(cover("10.0.0.0/8"),
                      Contains("AddressRange a (10.0.0.0/16) has only a part of range 10.0.0.0/8"));
    CHECK_THROWS_WITH(cover("10.1.2.0/25"), Contains("AddressRanges c") && Contains("and b") && Contains("overlap"));
    CHECK(cover("10.1.3.0/24") == "b");
}

TEST_CASE_METHOD(Cuts, "a network has all its ranges in one place") {
    declare(kRange);
    const auto keeper = [&](const std::vector<std::string>& subnets, const std::vector<ipam::BlockRange>& known = {}) {
        std::vector<Place> places;
        for (const std::string& subnet : subnets) places.push_back({.space = space, .subnet = prefix(subnet)});
        return find_keeper(
            places, known, {}, [&]() -> kube::Api& { return *admin; }, soon());
    };
    CHECK(keeper({kRange}) == Keeper::blocks);
    CHECK(keeper({"10.7.0.0/24"}) == Keeper::pools);
    CHECK_THROWS_WITH(keeper({kRange, "10.7.0.0/24"}), Contains(space + "-10.0.0.0-24") && Contains("10.7.0.0/24"));
    const ipam::BlockRange known{.uid = "u", .name = "n", .space = space, .subnet = prefix("10.7.0.0/16")};
    CHECK(keeper({"10.7.0.0/24"}, {known}) == Keeper::blocks); // nobody is asked
}

TEST_CASE_METHOD(Cuts, "a Node that is not there, not this machine, or not in this boot gets no block") {
    declare(kRange);
    TestNode late(*this, space + "-late", "boot");
    CHECK_THAT(late.reserve("c", {claim(kRange)}), StartsWith("temporary: ") && Contains("\"nodeName\""));
    for (const char* name : {"../../version", "a?b#c%2f d", "My_Host"}) {
        TestNode stranger(*this, name, "boot");
        CHECK_THAT(stranger.reserve("c", {claim(kRange)}),
                   !Contains("temporary") && Contains("\"nodeName\"") && Contains(name));
    }
    auto a = node("a");
    TestNode impostor(*this, a->name(), a->boot());
    impostor.machine_id = "another";
    CHECK_THAT(impostor.reserve("c", {claim(kRange)}), Contains("\"nodeName\"") && Contains("another"));
    report_boot(a->name(), "");
    CHECK_THAT(a->reserve("c", {claim(kRange)}), Contains("wait until kubelet has reported"));
    CHECK(blocks().empty());
}

TEST_CASE_METHOD(Cuts, "an answer to the POST that is lost, or is no answer, is looked up") {
    declare(kRange);
    Relay relay("rdmanet");
    auto a = node_behind(relay, "a");
    const auto fate = GENERATE(Fate::passes, Fate::is_lost, Fate::loses_its_answer, Fate::comes_late);
    if (fate == Fate::passes)
        relay.replace_answers([&, is_done = false](const std::string& request) mutable {
            if (is_done || request != kPost) return std::optional<http::Response>();
            is_done = true;
            return std::optional(http::Response{.status = 200, .body = "<html>welcome</html>"});
        });
    else
        relay.decide_next_change(fate);
    const std::string first = a->reserve("c", {claim(kRange)});
    if (fate == Fate::passes || fate == Fate::loses_its_answer) {
        CHECK_THAT(first, EndsWith("/24"));
        CHECK_THAT(a->states(), EndsWith(" open"));
        CHECK(blocks() == a->block().prefix.to_string() + " a");
        return;
    }
    CHECK_THAT(first, StartsWith("temporary: ") && Contains("no answer says whether the creation"));
    CHECK_THAT(a->states(), EndsWith(" closed"));
    CHECK(a->settle() == "");
    CHECK_THAT(a->states(), EndsWith(" closed")); // too early to say that it never comes
    if (fate == Fate::comes_late) CHECK(relay.deliver() == std::vector<unsigned>{201});
    a->now.boot += 60;
    CHECK(a->settle() == "");
    CHECK(a->states().empty());
    CHECK(blocks().empty());
    CHECK_THAT(a->reserve("c", {claim(kRange)}), EndsWith("/24"));
}

TEST_CASE_METHOD(Cuts, "a closed row is opened by a write of its own, and only while its range is there") {
    declare(kRange);
    Relay relay("rdmanet");
    auto a = node_behind(relay, "a");
    relay.decide_next_change(Fate::comes_late);
    CHECK_THAT(a->reserve("c", {claim(kRange)}), Contains("no answer says whether"));
    REQUIRE(relay.deliver() == std::vector<unsigned>{201});
    SECTION("it is there") {
        CHECK(a->confirm() == "");
        CHECK_THAT(a->states(), EndsWith(" open"));
        (void)relay.take_requests();
        CHECK_THAT(a->reserve("c", {claim(kRange)}), EndsWith("/24"));
        CHECK(relay.take_requests().empty());
    }
    SECTION("somebody deletes it after the confirmation's look") {
        relay.decide([&, is_done = false](const std::string& request) mutable {
            if (request.starts_with("PATCH ") && !std::exchange(is_done, true)) undeclare(kRange);
            return Fate::passes;
        });
        CHECK(a->confirm() == "");
        CHECK_THAT(a->states(), !Contains("open"));
    }
}

TEST_CASE_METHOD(Cuts, "a removal that comes late does not take a block that its node has made again") {
    declare(kRange, {.requestable = "10.0.0.64/26"});
    Relay relay("rdmanet");
    auto a = node_behind(relay, "a");
    const auto wanted = std::vector{wanting(kRange, "10.0.0.70")};
    CHECK(a->reserve("c", wanted) == "10.0.0.70/24");
    CHECK(a->release("c") == "10.0.0.70/24");
    const std::string method = GENERATE("PATCH ", "DELETE ");
    relay.decide([&, is_done = false](const std::string& request) mutable {
        if (is_done || !request.starts_with(method)) return Fate::passes;
        is_done = true;
        return Fate::comes_late;
    });
    CHECK_THAT(a->settle(), Contains("no answer says whether the removal"));
    CHECK(a->reserve("d", wanted) == "10.0.0.70/24");
    const auto late = relay.deliver();
    CHECK(late == std::vector<unsigned>{method == "PATCH " ? 422U : 409U});
    CHECK(blocks() == "10.0.0.70/32 a");
}

TEST_CASE_METHOD(Cuts, "a request or an answer that is lost, whichever it is, leaves no address that is given twice") {
    for (const Fate fate : {Fate::is_lost, Fate::loses_its_answer})
        for (int unlucky = 0; unlucky < 8; ++unlucky) {
            INFO("request " << unlucky);
            space = own_space();
            declare("10.0.0.0/26");
            Relay relay("rdmanet");
            auto a = node_behind(relay, "a");
            auto b = node("b");
            relay.decide(
                [&, count = 0](const std::string&) mutable { return count++ == unlucky ? fate : Fate::passes; });
            std::set<std::string> given;
            for (int number = 0; number < 15; ++number)
                for (TestNode* one : {a.get(), b.get()}) {
                    const std::string got = one->reserve("c" + std::to_string(number), {claim("10.0.0.0/26")});
                    INFO(got);
                    if (got.ends_with("/26")) CHECK(given.insert(got).second);
                    if (!got.ends_with("/26")) one->now.boot += 10; // until when it asks nobody
                }
            CHECK(given.size() >= 28); // at most two ADDs fail by it
            for (TestNode* one : {a.get(), b.get()}) {
                for (int number = 0; number < 15; ++number) one->release("c" + std::to_string(number));
                one->now.boot += 600;
                CHECK(one->settle() == "");
                CHECK_THAT(one->states(), EndsWith(" open"));
            }
            CHECK(blocks().size() == std::string("10.0.0.00/28 a, 10.0.0.00/28 b").size() -
                                         (blocks().find("10.0.0.0/28") == std::string::npos ? 0 : 1));
        }
}

TEST_CASE_METHOD(Cuts, "a connection that ends at any byte of a cut or of a removal costs the cluster no block") {
    const auto by = [](TestNode& node, const TcpProxy* proxy) -> TestNode& {
        node.connect =
            proxy == nullptr ? std::function<std::unique_ptr<kube::Api>()>() : [proxy] { return connect_by(*proxy); };
        node.start();
        return node;
    };
    const auto expect_temporary = [](const std::string& said) {
        CHECK_THAT(said, Contains("lease store: ") || Contains("closed") || Contains("reset"));
    };
    const auto make = [&] {
        space = own_space();
        declare(kRange);
        return node("a");
    };
    Traffic cut;
    Traffic removal;
    {
        const auto a = make();
        const TcpProxy first(server_port());
        REQUIRE_THAT(by(*a, &first).reserve("c", {claim(kRange)}), EndsWith("/24"));
        cut = {.requests = first.bytes_of_requests(), .answers = first.bytes_of_answers()};
        undeclare(kRange);
        REQUIRE(by(*a, nullptr).confirm() == "");
        (void)a->release("c");
        const TcpProxy second(server_port());
        REQUIRE(by(*a, &second).settle() == "");
        removal = {.requests = second.bytes_of_requests(), .answers = second.bytes_of_answers()};
    }
    constexpr std::size_t kPoints = 4;
    int given = 0;
    cut_at_each(cut, kPoints, [&](const TcpProxy& proxy, const std::string& where) {
        INFO(where);
        const auto a = make();
        const std::string got = by(*a, &proxy).reserve("c", {claim(kRange)});
        if (got.ends_with("/24"))
            ++given;
        else
            expect_temporary(got);
        a->now.boot += 60; // what applies late has applied by now
        CHECK(by(*a, nullptr).settle() == "");
        const std::string again = a->reserve("c", {claim(kRange)});
        CHECK_THAT(again, EndsWith("/24"));
        if (got.ends_with("/24")) CHECK(again == got);
        CHECK(blocks() == a->block().prefix.to_string() + " a"); // and no other one
    });
    CHECK(given > 0);
    cut_at_each(removal, kPoints, [&](const TcpProxy& proxy, const std::string& where) {
        INFO(where);
        const auto a = make();
        REQUIRE_THAT(a->reserve("c", {claim(kRange)}), EndsWith("/24"));
        undeclare(kRange);
        REQUIRE(a->confirm() == "");
        (void)a->release("c");
        if (const std::string said = by(*a, &proxy).settle(); !said.empty()) expect_temporary(said);
        a->now.boot += 60;
        CHECK(by(*a, nullptr).settle() == "");
        CHECK(a->states().empty());
        CHECK(blocks().empty());
    });
}

TEST_CASE_METHOD(Cuts, "a node that is too slow for block after block does not call the range full") {
    const std::string range = "10.0.0.0/25";
    declare(range, {.block_size = 4});
    Relay relay("rdmanet");
    auto a = node("a");
    auto b = node_behind(relay, "b");
    for (int number = 0; number < 95; ++number)
        CHECK_THAT(a->reserve("c" + std::to_string(number), {claim(range)}), EndsWith("/25"));
    relay.replace_answers([](const std::string& request) -> std::optional<http::Response> {
        if (request.find("includeObject=None") == std::string::npos) return std::nullopt;
        return http::Response{.status = 200, .body = R"({"kind":"Table","metadata":{},"rows":[]})"}; // as it was before
    });
    std::string said;
    for (int attempt = 0; attempt < 8; ++attempt) { // until it happens not to guess a free one
        said = b->reserve("d" + std::to_string(attempt), {claim(range)});
        if (!said.ends_with("/25")) break;
        for (int number = 0; number < 4; ++number)
            (void)b->reserve("d" + std::to_string(attempt) + std::to_string(number), {claim(range)});
    }
    if (!said.ends_with("/25"))
        CHECK_THAT(said, StartsWith("temporary: ") && Contains("faster") && Contains("http://"));
    CHECK(b->store->has_free(claim(range), soon()));
}

TEST_CASE_METHOD(Cuts, "a removal that the server refuses for one block does not keep the others") {
    declare(kRange, {.requestable = "10.0.0.64/28"});
    Relay relay("rdmanet");
    auto a = node_behind(relay, "a");
    for (const char* address : {"10.0.0.70", "10.0.0.71"}) {
        CHECK(a->reserve(address, {wanting(kRange, address)}) == std::string(address) + "/24");
        CHECK(a->release(address) != "");
    }
    relay.replace_answers([](const std::string& request) -> std::optional<http::Response> {
        if (request.find("10.0.0.70-32") == std::string::npos) return std::nullopt;
        return http::Response{.status = 403, .body = R"({"reason":"Forbidden","message":"not this one"})"};
    });
    CHECK_THAT(a->settle(), Contains("not this one"));
    CHECK(blocks() == "10.0.0.70/32 a");
    relay.replace_answers({});
    CHECK(a->settle() == "");
    CHECK(blocks().empty());
    CHECK(a->states().empty());
}
