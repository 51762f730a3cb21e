// What two nodes, a lost answer, a killed process or a person may do in between.
#include "blocks_fixture.hpp"
#include "relay.hpp"

#include <rdmanet/http/pause.hpp>

#include <catch2/catch.hpp>

#include <algorithm>
#include <ctime>
#include <set>
#include <sstream>
#include <thread>

using namespace rdmanet;
using namespace rdmanet::cluster;
using namespace rdmanet::cluster::test;
using Catch::Matchers::Contains;

namespace {

class Races : public BlocksFixture {
public:
    const std::string kRange = "10.0.0.0/24";

    static std::string name_of(const ipam::Block& block) {
        return block.prefix.network().to_string() + "-" + std::to_string(block.prefix.length());
    }
    /// When nobody remembers any more that the range was full.
    static std::string try_later(TestNode& node, const std::vector<ipam::Claim>& claims) {
        node.now.boot += 10;
        return try_to_reserve(node, "d", claims);
    }
    /// Until the server's memory has the range, confirmed.
    void await_in_memory(const std::string& range) {
        for (const auto end = soon(); !end.passed(); http::pause(1ms)) {
            const auto outcome = admin->get(path_of_range(range) + "?resourceVersion=0", soon());
            const auto* object = std::get_if<kube::Object>(&outcome);
            if (object != nullptr && object->content.root().at("spec").at("confirmed").boolean()) return;
        }
        FAIL("the API server's memory never got AddressRange " << range);
    }
    /// Patches the block's annotation as if its node had been missed for so long.
    void miss_since(const std::string& block, std::int64_t seconds_ago) {
        patch(path_of(block),
              R"([{"op":"add","path":"/metadata/annotations","value":{"rdmanet.cni/node-missing-since":")" +
                  std::to_string(std::time(nullptr) - seconds_ago) + "\"}}]");
    }
};

} // namespace

TEST_CASE_METHOD(Races, "a new block costs at most three requests, and an address in it none") {
    if (!is_there()) return;
    Relay relay("rdmanet");
    auto a = node_behind(relay, "a");
    CHECK(try_to_reserve(*a, "first", {claim(kRange)}) != "exhausted");
    (void)relay.take_requests();
    for (int number = 0; number < 100; ++number) {
        const std::size_t before = a->file->blocks(soon()).size();
        CHECK_THAT(try_to_reserve(*a, "c" + std::to_string(number), {claim(kRange)}), Contains("/24"));
        const std::size_t after = a->file->blocks(soon()).size();
        CHECK(relay.take_requests().size() <= (after == before ? 0 : 3));
    }
}

TEST_CASE_METHOD(Races, "the first block of a range that the cluster has costs four requests, one of them of memory") {
    if (!is_there()) return;
    Relay relay("rdmanet");
    auto a = node("a");
    auto b = node_behind(relay, "b");
    CHECK_THAT(try_to_reserve(*a, "c", {claim(kRange)}), Contains("/24"));
    await_in_memory("10.0.0.0-24");
    CHECK_THAT(try_to_reserve(*b, "c", {claim(kRange)}), Contains("/24"));
    const std::string range = "GET " + path_of_range("10.0.0.0-24");
    CHECK(relay.take_requests() ==
          std::vector<std::string>{range + "?resourceVersion=0",
                                   std::string("GET ") + kNodesPath + "/" + b->name() + "?resourceVersion=0",
                                   std::string("POST ") + kBlocksPath, range});
}

TEST_CASE_METHOD(Races,
                 "a server that remembers a range as it was gives nobody a block that the present record lacks") {
    if (!is_there()) return;
    Relay relay("rdmanet");
    auto a = node_behind(relay, "a");
    auto c = node("c");
    auto maker = node("maker");
    CHECK_THAT(try_to_reserve(*maker, "c", {claim(kRange)}), Contains("/24")); // a block of 16
    const std::string path = path_of_range("10.0.0.0-24");
    const auto before = admin->get(path, soon());
    const std::string as_it_was = std::get<kube::Object>(before).content.root().to_text();
    CHECK(maker->release("c") != "");
    delete_object(path);
    CHECK(maker->store->tidy(soon()));
    CHECK(ranges().empty());
    std::optional<http::Response> remembered = http::Response{.status = 200, .body = as_it_was};
    c->block_size = 32;
    std::string first;
    SECTION("it is gone") {
        first = "-";
    }
    SECTION("it is cut otherwise by now") {
        first = try_to_reserve(*c, "c", {claim(kRange)});
    }
    SECTION("it is cut otherwise by now, as this node has it") {
        a->block_size = 32;
        first = try_to_reserve(*c, "c", {claim(kRange)});
    }
    SECTION("it is not remembered") {
        first = try_to_reserve(*c, "c", {claim(kRange)});
        remembered = http::Response{.status = 404, .body = R"({"reason":"NotFound","message":"not there"})"};
    }
    SECTION("it is remembered as not confirmed") {
        first = try_to_reserve(*c, "c", {claim(kRange)});
        const std::string confirmed = "\"confirmed\":true";
        REQUIRE(remembered->body.find(confirmed) != std::string::npos);
        remembered->body.replace(remembered->body.find(confirmed), confirmed.size(), "\"confirmed\":false");
    }
    SECTION("another store has it by now") {
        CHECK_THAT(try_to_reserve(*c, "c", {claim(kRange)}), Contains("/24"));
        CHECK(c->release("c") != "");
        c->now.boot += 600;
        c->store->settle(kIdleBlock, soon());
        patch(path, R"([{"op":"replace","path":"/spec/store","value":"whereabouts"}])");
    }
    const std::string of_others = blocks();
    relay.replace_answers([&](const std::string& request) {
        return request == "GET " + path + "?resourceVersion=0" ? remembered : std::nullopt;
    });
    const std::string got = try_to_reserve(*a, "a", {claim(kRange)});
    INFO(first << "; " << got << "; " << blocks());
    if (first.empty()) {
        CHECK_THAT(got, Contains("\"store\" blocks"));
        CHECK(blocks() == of_others);
        return;
    }
    CHECK_THAT(got, Contains("/24"));
    REQUIRE(a->file->blocks(soon()).size() == 1);
    CHECK(a->file->blocks(soon()).front().prefix.length() == (first == "-" ? 28 : 27));
    std::set<std::string> given{first, got};
    for (int number = 0; number < 40; ++number)
        for (TestNode* one : {a.get(), c.get()}) {
            if (one == c.get() && first == "-") continue;
            const std::string address = try_to_reserve(*one, "c" + std::to_string(number), {claim(kRange)});
            INFO(address);
            CHECK(given.insert(address).second);
        }
    CHECK_THAT(first == "-" ? "" : blocks(), !Contains("/28"));
}

TEST_CASE_METHOD(Races,
                 "an ADD asks for no list of blocks, and a node that reboots has its blocks again as it needs them") {
    if (!is_there()) return;
    Relay relay("rdmanet");
    auto a = node_behind(relay, "a");
    const auto lists = [&] {
        std::string all;
        for (const std::string& request : relay.take_requests())
            if (request.find("addressblocks?") != std::string::npos) all += request + "\n";
        return all;
    };
    const auto fill = [&](int from, int to) {
        for (int number = from; number < to; ++number)
            CHECK_THAT(try_to_reserve(*a, "c" + std::to_string(number), {claim(kRange)}), Contains("/24"));
    };
    CHECK_THAT(node("b")->reserve("first", {claim(kRange)}), Contains("/24")); // records the range
    CHECK_THAT(try_to_reserve(*a, "c", {claim(kRange)}), Contains("/24"));
    const auto requests = relay.take_requests(); // range, node, block, and the range again
    CHECK((requests.size() == 4 || std::count_if(requests.begin(), requests.end(), [](const std::string& one) {
                                       return one.starts_with("POST ");
                                   }) == 2)); // it has met the other node's block
    fill(0, 17);
    CHECK(lists().empty());
    const std::string before = blocks();
    CHECK(std::count(before.begin(), before.end(), ',') == 2);
    a->reboot(space + "-boot-2");
    report_boot(a->name(), space + "-boot-2");
    fill(20, 25);
    fill(25, 42);
    CHECK(lists().empty());
    std::istringstream kept(before);
    for (std::string block; std::getline(kept >> std::ws, block, ',');) CHECK_THAT(blocks(), Contains(block));
    a->store->settle(kIdleBlock, soon());
    CHECK_THAT(lists(), Contains("resourceVersion=0")); // whatever etcd has by now
    a->store->settle(kIdleBlock, soon());
    CHECK(lists().empty());
}

TEST_CASE_METHOD(Races, "a request or an answer that is lost, whichever it is, leaves no address that is given twice") {
    if (!is_there()) return;
    for (const Fate fate : {Fate::is_lost, Fate::loses_its_answer})
        for (int unlucky = 0; unlucky < 9; ++unlucky) {
            space = own_space();
            Relay relay("rdmanet");
            auto a = node_behind(relay, "a");
            auto b = node("b");
            relay.decide(
                [&, count = 0](const std::string&) mutable { return count++ == unlucky ? fate : Fate::passes; });
            std::set<std::string> given;
            const auto use = [&](TestNode& node, const std::string& container) {
                const std::string got = try_to_reserve(node, container, {claim("10.0.0.0/26")});
                if (!got.ends_with("/26")) return;
                INFO(got << ", request " << unlucky);
                CHECK(given.insert(got).second);
            };
            for (int number = 0; number < 15; ++number) {
                use(*a, "a" + std::to_string(number));
                use(*b, "b" + std::to_string(number));
            }
            CHECK(given.size() >= 28); // at most one ADD of each node fails by it
            for (int number = 0; number < 15; ++number) {
                a->release("a" + std::to_string(number));
                b->release("b" + std::to_string(number));
            }
            for (TestNode* node : {a.get(), b.get()}) {
                node->now.boot += 600;
                node->store->settle(0s, soon());
                CHECK(node->file->blocks(soon()).size() == 1);
            }
            const std::string left = blocks();
            CHECK(std::count(left.begin(), left.end(), ',') == 1);
        }
}

TEST_CASE_METHOD(Races, "a claim that applies late is found again, and its block is not lost") {
    if (!is_there()) return;
    Relay relay("rdmanet");
    auto a = node_behind(relay, "a");
    CHECK_THAT(try_to_reserve(*a, "c0", {claim(kRange)}), Contains("/24"));
    for (int number = 1; number < 16; ++number) (void)try_to_reserve(*a, "c" + std::to_string(number), {claim(kRange)});
    relay.decide_next_change(Fate::comes_late);
    std::string said;
    for (int number = 16; said.empty() || said.ends_with("/24"); ++number)
        said = try_to_reserve(*a, "c" + std::to_string(number), {claim(kRange)});
    CHECK_THAT(said, Contains("no answer says whether") && Contains("http://") && Contains(", after "));
    CHECK_THAT(a->states(), Contains("claiming"));
    a->store->settle(kIdleBlock, soon()); // too early to say that it never came
    CHECK_THAT(a->states(), Contains("claiming"));
    CHECK(relay.deliver() == std::vector<unsigned>{201});
    a->now.boot += 60;
    a->store->settle(kIdleBlock, soon());
    CHECK_THAT(a->states(), !Contains("claiming"));
    (void)relay.take_requests();
    CHECK_THAT(try_to_reserve(*a, "again", {claim(kRange)}), Contains("/24"));
    CHECK(relay.take_requests().empty());
}

TEST_CASE_METHOD(Races, "a give-back that applies late does not take a block that its node has opened again") {
    if (!is_there()) return;
    Relay relay("rdmanet");
    auto a = node_behind(relay, "a");
    a->requestable = {prefix("10.0.0.64/26")};
    const auto wanted = std::vector{wanting(kRange, "10.0.0.70")};
    CHECK(try_to_reserve(*a, "c", wanted) == "10.0.0.70/24");
    CHECK(a->release("c") == "10.0.0.70/24");
    relay.decide_next_change(Fate::comes_late);
    CHECK_THROWS_AS(a->store->settle(kIdleBlock, soon()), ipam::StoreError);
    CHECK(try_to_reserve(*a, "d", wanted) == "10.0.0.70/24");
    CHECK(relay.deliver() == std::vector<unsigned>{422});
    CHECK(blocks() == "10.0.0.70/32 a");
    // And the other write of a give-back.
    CHECK(a->release("d") == "10.0.0.70/24");
    relay.decide([&, done = false](const std::string& request) mutable {
        if (done || !request.starts_with("DELETE ")) return Fate::passes;
        done = true;
        return Fate::comes_late;
    });
    CHECK_THROWS_AS(a->store->settle(kIdleBlock, soon()), ipam::StoreError);
    CHECK(blocks() == "10.0.0.70/32 a released");
    auto b = node("b");
    b->requestable = a->requestable;
    CHECK(try_to_reserve(*b, "e", wanted) == "10.0.0.70/24");
    CHECK(relay.deliver() == std::vector<unsigned>{409});
    CHECK(blocks() == "10.0.0.70/32 b");
    a->store->settle(kIdleBlock, soon());
    CHECK(a->states().empty());
    CHECK(blocks() == "10.0.0.70/32 b");
}

TEST_CASE_METHOD(Races, "a process that was killed between the file and the server is finished by the next one") {
    if (!is_there()) return;
    auto a = node("a");
    CHECK_THAT(a->reserve("c0", {claim(kRange)}), Contains("/24"));
    const ipam::Block open = a->file->blocks(soon()).front();
    // After the POST, before the file knew: what the file calls claiming, the server has.
    a->lose_state();
    a->file->put_range({.space = space, .subnet = prefix(kRange), .kubeconfig = "/k", .node_name = a->name()}, soon());
    ipam::Block claiming = open;
    claiming.state = ipam::BlockState::claiming;
    claiming.version.clear();
    a->file->add(claiming, soon());
    patch(path_of(name_of(open)),
          R"([{"op":"replace","path":"/spec/leaseFile","value":")" + a->file->id(soon()) + "\"}]");
    const std::string given = a->reserve("c1", {claim(kRange)});
    CHECK(open.prefix.contains(prefix(given).address()));
    CHECK(blocks() == open.prefix.to_string() + " a");
    // Before the POST: nobody has it, so the node takes another one, and forgets this one when no request can be left.
    claiming.prefix = prefix(open.prefix == prefix("10.0.0.32/28") ? "10.0.0.48/28" : "10.0.0.32/28");
    a->file->add(claiming, soon());
    a->now.boot += 60;
    a->store->settle(kIdleBlock, soon());
    CHECK(a->states() == open.prefix.to_string() + " open");
}

TEST_CASE_METHOD(Races, "a block of one whose ADD was killed before its lease goes back at the next call") {
    if (!is_there()) return;
    auto a = node("a");
    a->requestable = {prefix("10.0.0.64/26")};
    CHECK(try_to_reserve(*a, "c", {wanting(kRange, "10.0.0.70")}) == "10.0.0.70/24");
    const ipam::Block open = a->file->blocks(soon()).front();
    CHECK(a->release("c") == "10.0.0.70/24");
    a->file->open(open, soon()); // as ADD does after the server's answer
    CHECK(a->states() == "10.0.0.70/32 open");
    a->store->settle(kIdleBlock, soon());
    CHECK(a->states().empty());
    CHECK(blocks().empty());
}

TEST_CASE_METHOD(Races, "ranges that overlap, made at once: at most one stays") {
    if (!is_there()) return;
    for (int round = 0; round < 6; ++round) {
        space = own_space();
        const std::vector<std::string> subnets = {"10.0.0.0/16", "10.0.3.0/24", "10.0.0.0/22", "10.0.3.128/25"};
        std::vector<std::unique_ptr<TestNode>> nodes;
        for (std::size_t at = 0; at < subnets.size(); ++at) nodes.push_back(node("n" + std::to_string(at)));
        std::vector<std::string> got(nodes.size());
        std::vector<std::thread> threads;
        for (std::size_t at = 0; at < nodes.size(); ++at)
            threads.emplace_back([&, at] { got[at] = try_to_reserve(*nodes[at], "c", {claim(subnets[at])}); });
        for (std::thread& thread : threads) thread.join();
        std::string all;
        for (const std::string& one : got) all += one + "; ";
        INFO(all);
        CHECK(std::count_if(got.begin(), got.end(), [](const std::string& one) { return one.size() < 16; }) == 1);
        CHECK(ranges().find(',') == std::string::npos);
        CHECK_THAT(all, Contains("overlaps range") && Contains("AddressRange " + space));
    }
}

TEST_CASE_METHOD(Races, "of many nodes that meet a new range at once, one looks at the blocks of the cluster") {
    if (!is_there()) return;
    constexpr std::size_t kNodes = 12;
    std::vector<std::unique_ptr<Relay>> relays;
    std::vector<std::unique_ptr<TestNode>> nodes;
    for (std::size_t at = 0; at < kNodes; ++at) {
        relays.push_back(std::make_unique<Relay>("rdmanet"));
        nodes.push_back(node_behind(*relays.back(), "n" + std::to_string(at)));
    }
    std::vector<std::string> got(kNodes);
    std::vector<std::thread> threads;
    for (std::size_t at = 0; at < kNodes; ++at)
        threads.emplace_back([&, at] { got[at] = try_to_reserve(*nodes[at], "c", {claim("10.0.0.0/20")}); });
    for (std::thread& thread : threads) thread.join();
    CHECK(std::set<std::string>(got.begin(), got.end()).size() == kNodes);
    CHECK(std::all_of(got.begin(), got.end(), [](const std::string& one) { return one.ends_with("/20"); }));
    std::ptrdiff_t looks = 0;
    for (const auto& relay : relays) {
        const std::vector<std::string> requests = relay->take_requests();
        looks += std::count_if(requests.begin(), requests.end(), [](const std::string& one) {
            return one.find("addressblocks?") != std::string::npos && one.find("%21%3D") != std::string::npos;
        });
    }
    CHECK(looks == 1);
}

TEST_CASE_METHOD(Races, "a node that is registered anew keeps its blocks, and writes its new UID into them") {
    if (!is_there()) return;
    auto a = node("a");
    CHECK(a->reserve("c0", {claim("10.0.0.0/29")}) == a->reserve("c0", {claim("10.0.0.0/29")}));
    const std::string before = blocks();
    delete_node(a->name());
    make_node("a", a->boot());
    auto b = node("b");
    for (int number = 0; number < 8; ++number) (void)b->reserve("c" + std::to_string(number), {claim("10.0.0.0/29")});
    CHECK_THAT(blocks(), Contains(before)); // the boot that the new Node reports is the one that the block names
    CHECK_THAT(blocks(), !Contains(" a, ") || Contains(before));
    const ipam::Block first = a->file->blocks(soon()).front();
    CHECK(spec_of(name_of(first), "node").find(uid_of_node(a->name())) == std::string::npos);
    (void)b->release("c0");
    (void)b->release("c1");
    b->store->settle(0s, soon());
    for (int number = 1; number < 4; ++number)
        (void)try_to_reserve(*a, "c" + std::to_string(number), {claim("10.0.0.0/29")});
    CHECK_THAT(spec_of(name_of(first), "node"), Contains(uid_of_node(a->name())));
}

TEST_CASE_METHOD(Races, "a block that somebody has deleted is created again, unless another node was first") {
    if (!is_there()) return;
    auto a = node("a");
    auto b = node("b");
    a->requestable = b->requestable = {prefix("10.0.0.64/26")};
    const std::string given = a->reserve("c0", {claim(kRange)});
    const ipam::Block block = a->file->blocks(soon()).front();
    int count = 0;
    const auto look = [&] { // the node asks about itself, which it need not as long as it has addresses
        delete_node(a->name());
        make_node("a", a->boot());
        const std::string wanted = "10.0.0." + std::to_string(70 + count++);
        CHECK(a->reserve("w" + wanted, {wanting(kRange, wanted)}) == wanted + "/24");
    };
    delete_block(name_of(block));
    look();
    CHECK_THAT(blocks(), Contains(block.prefix.to_string() + " a"));
    CHECK_THAT(a->states(), Contains(block.prefix.to_string() + " open"));
    REQUIRE(a->warnings.size() == 1);
    CHECK_THAT(a->warnings.front(), Contains("created again"));
    CHECK(a->store->find_rivals(soon()).empty());

    delete_block(name_of(block));
    const std::string same = prefix(given).address().to_string();
    CHECK(b->reserve("other", {wanting(kRange, same)}) == given); // nobody can tell b
    look();
    CHECK_THAT(a->states(), Contains(block.prefix.to_string() + " lost"));
    REQUIRE(a->reports.size() == 1);
    CHECK_THAT(a->reports.front(), Contains("\"" + b->name() + "\"") && Contains(block.prefix.to_string()));
    const auto rivals = a->store->find_rivals(soon());
    REQUIRE(rivals.size() == 1);
    CHECK(rivals.front().holder == b->name());
    CHECK(a->reserve("c0", {claim(kRange)}) == given); // what its pod has already
    CHECK(!block.prefix.contains(prefix(a->reserve("c1", {claim(kRange)})).address()));
    const auto held = a->file->find(owner("c0", "pod-c0").key, soon());
    CHECK(a->store->adopt(held, owner("heir", "pod-c0"), soon()).empty());

    delete_block(name_of(block)); // nobody's again
    a->store->settle(kIdleBlock, soon());
    CHECK_THAT(a->states(), Contains(block.prefix.to_string() + " lost")); // it has looked just now
    a->now.boot += 60;
    a->store->settle(kIdleBlock, soon());
    CHECK_THAT(a->states(), Contains(block.prefix.to_string() + " open"));
    CHECK_THAT(blocks(), Contains(block.prefix.to_string() + " a"));
}

TEST_CASE_METHOD(Races, "a full node sees which of its blocks are another one's, and gives those back to nobody") {
    if (!is_there()) return;
    const std::string range = "10.0.0.0/30"; // blocks of one, two of which have a usable address
    auto a = node("a");
    auto b = node("b");
    CHECK(a->reserve("c0", {claim(range)}) != "exhausted");
    CHECK(a->reserve("c1", {claim(range)}) != "exhausted");
    for (const ipam::Block& one : a->file->blocks(soon())) delete_block(name_of(one));
    CHECK(b->reserve("d0", {claim(range)}) != "exhausted");
    CHECK(try_to_reserve(*a, "c2", {claim(range)}) == "exhausted");
    std::string states = a->states();
    CHECK_THAT(states, Contains("lost") && Contains("open"));
    const std::string before = blocks();
    CHECK_THAT(before, Contains(" a") && Contains(" b"));
    CHECK(a->release("c0") != "");
    CHECK(a->release("c1") != "");
    CHECK_THAT(a->states(), Contains("closed"));
    a->store->settle(kIdleBlock, soon());
    CHECK_THAT(a->states(), !Contains("closed"));
    CHECK(blocks() == before); // one empty block stays
}

TEST_CASE_METHOD(Races, "the blocks of a node that is gone are taken when it was missed twice, five minutes apart") {
    if (!is_there()) return;
    const std::string range = "10.0.0.0/30"; // blocks of one, two of which have a usable address
    auto a = node("a");
    auto b = node("b");
    CHECK(a->reserve("c0", {claim(range)}) != "exhausted");
    CHECK(a->reserve("c1", {claim(range)}) != "exhausted");
    const std::string before = blocks();
    const ipam::Block one = a->file->blocks(soon()).front();
    CHECK(try_later(*b, {claim(range)}) == "exhausted"); // a is there
    CHECK(blocks() == before);
    delete_node(a->name());
    CHECK(try_later(*b, {claim(range)}) == "exhausted"); // missed once
    miss_since(name_of(one), 290);
    CHECK(try_later(*b, {claim(range)}) == "exhausted");
    miss_since(name_of(one), 90'000); // that was another time
    CHECK(try_later(*b, {claim(range)}) == "exhausted");
    CHECK(blocks() == before);
    miss_since(name_of(one), GENERATE(301, 7200)); // by a node that has not asked since
    make_node("a", space + "-other-boot");         // its name alone is nothing
    CHECK(try_later(*b, {claim(range)}) == one.prefix.network().to_string() + "/30");
    CHECK_THAT(blocks(), Contains(one.prefix.to_string() + " b"));
    CHECK(spec_of(name_of(one), "bootID") == "\"" + b->boot() + "\"");
}

TEST_CASE_METHOD(Races,
                 "a block of a node that is gone is nobody's own until the cluster says so, and one that is back is") {
    if (!is_there()) return;
    const std::string range = "10.0.0.0/30";
    Relay relay("rdmanet");
    auto a = node("a");
    auto b = node_behind(relay, "b");
    CHECK(a->reserve("c0", {claim(range)}) != "exhausted");
    CHECK(a->reserve("c1", {claim(range)}) != "exhausted");
    const std::string before = blocks();
    const ipam::Block one = a->file->blocks(soon()).front();
    miss_since(name_of(one), 301);
    CHECK(try_later(*b, {claim(range)}) == "exhausted"); // it is back
    delete_node(a->name());
    CHECK(try_later(*b, {claim(range)}) == "exhausted");
    CHECK(blocks() == before);
    miss_since(name_of(one), 301);
    std::string seen; // what a process that is killed before its PATCH leaves
    relay.decide([&](const std::string& request) {
        if (!request.starts_with("PATCH ")) return Fate::passes;
        ipam::BlockFile file({.state_directory = b->directory->path(), .boot_id = b->boot(), .known_leases = [] {
                                  return std::vector<ipam::Lease>{};
                              }});
        for (const ipam::Block& block : file.blocks(soon()))
            if (block.prefix == one.prefix && block.state == ipam::BlockState::claiming) seen = "claiming";
        return Fate::passes;
    });
    CHECK(try_later(*b, {claim(range)}) == one.prefix.network().to_string() + "/30");
    CHECK(seen == "claiming");
}

TEST_CASE_METHOD(Races, "a block of a node that is gone is not forgotten when no answer says whether it was taken") {
    if (!is_there()) return;
    const std::string range = "10.0.0.0/30";
    Relay relay("rdmanet");
    auto a = node("a");
    auto b = node_behind(relay, "b");
    CHECK(a->reserve("c0", {claim(range)}) != "exhausted");
    CHECK(a->reserve("c1", {claim(range)}) != "exhausted");
    const ipam::Block one = a->file->blocks(soon()).front();
    delete_node(a->name());
    miss_since(name_of(one), 301);
    const Fate fate = GENERATE(Fate::is_lost, Fate::loses_its_answer, Fate::comes_late);
    CAPTURE(fate);
    relay.decide([&, done = false](const std::string& request) mutable {
        if (done || request != "PATCH " + path_of(name_of(one))) return Fate::passes;
        done = true;
        return fate;
    });
    CHECK_THAT(try_later(*b, {claim(range)}), Contains("no answer says whether"));
    CHECK(b->states() == one.prefix.to_string() + " claiming");
    b->store->settle(kIdleBlock, soon());
    CHECK(b->states() == one.prefix.to_string() + (fate == Fate::loses_its_answer ? " open" : " claiming"));
    if (fate == Fate::comes_late) CHECK(relay.deliver() == std::vector<unsigned>{200});
    b->now.boot += 60;
    b->store->settle(kIdleBlock, soon());
    CHECK(b->states() == (fate == Fate::is_lost ? "" : one.prefix.to_string() + " open"));
    CHECK(try_later(*b, {claim(range)}) == one.prefix.network().to_string() + "/30");
}

TEST_CASE_METHOD(Races, "kubectl delete waits until the node has given the block back") {
    if (!is_there()) return;
    auto a = node("a");
    CHECK(a->reserve("c0", {claim(kRange)}) != "exhausted");
    const ipam::Block first = a->file->blocks(soon()).front();
    const auto object = std::get<kube::Object>(admin->get(path_of(name_of(first)), soon()));
    (void)admin->remove(path_of(name_of(first)), {.uid = object.content.root().at("metadata").at("uid").string()},
                        soon());
    CHECK(blocks() == first.prefix.to_string() + " a going");
    CHECK(a->reserve("c1", {claim(kRange)}) != "exhausted");
    CHECK(blocks() == first.prefix.to_string() + " a going");
    for (int number = 2; number < 18; ++number) (void)a->reserve("c" + std::to_string(number), {claim(kRange)});
    for (int number = 0; number < 18; ++number) (void)a->release("c" + std::to_string(number));
    const std::string keeper = a->reserve("keeper", {claim(kRange)});
    a->now.boot += 600;
    a->store->settle(0s, soon());
    (void)a->release("keeper");
    CHECK_THAT(blocks(), Contains("going") || !Contains(first.prefix.to_string() + " "));
}

TEST_CASE_METHOD(Races, "with the server away a node goes on as long as it has addresses, then it says why it stops") {
    if (!is_there()) return;
    auto a = node("a");
    CHECK_THAT(a->reserve("c0", {claim(kRange)}), Contains("/24"));
    a->start();
    a->connect = [] {
        return std::make_unique<kube::Api>(kube::Access{.server = http::Url::parse("http://127.0.0.1:1")},
                                           http::Limits{});
    };
    std::string said;
    int count = 1;
    for (; said.empty() || said.ends_with("/24"); ++count)
        said = try_to_reserve(*a, "c" + std::to_string(count), {claim(kRange)});
    CHECK(count >= 15);
    CHECK_THAT(said, Contains("http://127.0.0.1:1") && Contains("connection refused"));
    const std::string freed = a->release("c3");
    CHECK(try_to_reserve(*a, "late", {claim(kRange)}) == freed);
}

TEST_CASE_METHOD(Races, "a machine that says the name of another one's Node gets no block") {
    if (!is_there()) return;
    auto a = node("a");
    TestNode impostor(*this, a->name(), a->boot());
    BlocksStore::Options options = impostor.options();
    options.machine_id = "another";
    impostor.store = std::make_unique<BlocksStore>(impostor.file, options);
    const auto outcome = impostor.store->reserve(owner("c", "c"), {claim(kRange)}, soon());
    const auto* none = std::get_if<ipam::Exhausted>(&outcome);
    REQUIRE(none != nullptr);
    REQUIRE(none->refusal);
    CHECK_THAT(none->refusal->what(), Contains("\"nodeName\"") && Contains("another"));
    CHECK(blocks().empty());
}
