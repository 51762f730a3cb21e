#include "blocks_fixture.hpp"

#include <catch2/catch.hpp>

#include <rdmanet/base/file_lock.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <map>
#include <set>
#include <thread>

using namespace rdmanet;
using namespace rdmanet::cluster;
using namespace rdmanet::cluster::test;
using Catch::Matchers::Contains;

namespace {

class Blocks : public BlocksFixture {
public:
    const std::string kRange = "10.0.0.0/24";
    /// The error of a reservation.
    static std::string refusal(TestNode& node, const std::vector<ipam::Claim>& claims) try {
        node.start();
        const auto outcome = node.store->reserve(owner("refused", "refused"), claims, soon());
        const auto* none = std::get_if<ipam::Exhausted>(&outcome);
        return none != nullptr && none->refusal ? none->refusal->what() : "no error, but " + text_of(outcome);
    } catch (const base::Error& error) {
        return error.what();
    }
    std::vector<std::string> fill(TestNode& node, const std::string& range, int count,
                                  const std::string& prefix = "f") {
        std::vector<std::string> given;
        for (int number = 0; number < count; ++number)
            given.push_back(node.reserve(prefix + std::to_string(number), {claim(range)}));
        return given;
    }
};

} // namespace

TEST_CASE_METHOD(Blocks, "a node takes a block, and asks nobody for the addresses in it") {
    if (!is_there()) return;
    auto a = node("a");
    const std::string first = a->reserve("c0", {claim(kRange)});
    CHECK_THAT(first, Contains("/24"));
    CHECK(ranges() == kRange);
    const int calls = a->calls;
    for (int number = 1; number < 12; ++number)
        CHECK(a->reserve("c" + std::to_string(number), {claim(kRange)}) != first);
    CHECK(a->reserve("c0", {claim(kRange)}) == first);
    CHECK(a->release("c3") != "");
    CHECK(a->calls == calls);
    const std::string its = a->file->blocks(soon()).front().prefix.to_string();
    CHECK(blocks() == its + " a");
    CHECK_THAT(a->states(), Contains(its + " open"));
    std::string object = its;
    std::replace(object.begin(), object.end(), '/', '-');
    CHECK(spec_of(object, "bootID") == "\"" + a->boot() + "\"");
    CHECK(spec_of(object, "leaseFile") == "\"" + a->file->id(soon()) + "\"");
    CHECK(spec_of(object, "inUse") == "1");
}

TEST_CASE_METHOD(Blocks, "two nodes never have one block, and no address twice") {
    if (!is_there()) return;
    std::vector<std::unique_ptr<TestNode>> nodes;
    for (int number = 0; number < 6; ++number) nodes.push_back(node("n" + std::to_string(number)));
    std::vector<std::vector<std::string>> given(nodes.size());
    std::vector<std::thread> threads;
    for (std::size_t at = 0; at < nodes.size(); ++at)
        threads.emplace_back([&, at] { given[at] = fill(*nodes[at], kRange, 30); });
    for (std::thread& thread : threads) thread.join();
    std::set<std::string> all;
    for (const auto& list : given)
        for (const std::string& address : list) {
            INFO(address);
            CHECK(all.insert(address).second);
        }
    CHECK(all.size() == 180);
    CHECK(all.count("exhausted") == 0);
}

TEST_CASE_METHOD(Blocks, "a full range says who has it") {
    if (!is_there()) return;
    auto a = node("a");
    auto b = node("b");
    fill(*a, "10.0.0.0/28", 6);
    fill(*b, "10.0.0.0/28", 14);
    b->now.boot += 10; // it has known for a while that the range is full
    b->start();
    const auto outcome = b->store->reserve(owner("late", "late"), {claim("10.0.0.0/28")}, soon());
    const auto* none = std::get_if<ipam::Exhausted>(&outcome);
    REQUIRE(none != nullptr);
    CHECK_THAT(none->detail, Contains("node " + a->name() + " 2"));
    CHECK(a->release("f0") != "");
    CHECK_THAT(a->reserve("again", {claim("10.0.0.0/28")}), Contains("/28"));
}

TEST_CASE_METHOD(Blocks, "kubectl shows range, node, size, and what was in use when") {
    if (!is_there()) return;
    auto a = node("a");
    CHECK_THAT(a->reserve("c", {claim(kRange)}), Contains("/24"));
    const ipam::Block block = a->file->blocks(soon()).front();
    const std::string name = block.prefix.network().to_string() + "-28";
    const auto outcome = admin->get(path_of(name), soon(), kube::Shape::table);
    const json::Reader table = std::get<kube::Object>(outcome).content.root();
    std::map<std::string, std::string> cells;
    const auto columns = table.at("columnDefinitions").elements();
    const auto row = table.at("rows").elements().at(0).at("cells").elements();
    for (std::size_t at = 0; at < columns.size(); ++at) cells[columns[at].at("name").string()] = row.at(at).to_text();
    CHECK(cells["Range"] == "\"10.0.0.0/24\"");
    CHECK(cells["Block"] == "\"" + block.prefix.to_string() + "\"");
    CHECK(cells["Space"] == "\"" + space + "\"");
    CHECK(cells["Node"] == "\"" + a->name() + "\"");
    CHECK(cells["Size"] == "16");
    CHECK(cells["In use"] == "1");
    CHECK(cells["Written"] != "");
    CHECK(cells["Written"] != "null");
}

TEST_CASE_METHOD(Blocks, "one empty block is kept, others go back after a while, for other nodes") {
    if (!is_there()) return;
    auto a = node("a");
    fill(*a, kRange, 33);
    for (int number = 0; number < 33; ++number) CHECK(a->release("f" + std::to_string(number)) != "");
    a->store->settle(kIdleBlock, soon()); // looks for what an earlier boot has left, once
    const int calls = a->calls;
    a->store->settle(kIdleBlock, soon());
    CHECK(a->calls == calls);
    a->now.boot += 600;
    a->store->settle(kIdleBlock, soon());
    const auto left = a->file->blocks(soon());
    REQUIRE(left.size() == 1);
    CHECK(blocks() == left.front().prefix.to_string() + " a");
    CHECK(left.front().state == ipam::BlockState::open);
}

TEST_CASE_METHOD(Blocks, "after a reboot a node goes on with its blocks, once the cluster knows the boot") {
    if (!is_there()) return;
    auto a = node("a");
    fill(*a, kRange, 17);
    const std::string before = blocks();
    const std::string old_file = a->file->id(soon());
    a->reboot("boot-a2");
    CHECK(a->reserve("new", {claim(kRange)}) == "exhausted"); // another machine could have its name
    CHECK(blocks() == before);
    report_boot(a->name(), "boot-a2");
    CHECK_THAT(a->reserve("new", {claim(kRange)}), Contains("/24"));
    CHECK(blocks() == before);
    CHECK_THAT(a->states(), Contains("open")); // the other one when it is needed
    CHECK(a->file->id(soon()) != old_file);
    fill(*a, kRange, 30); // the first address of a range is not usable
    CHECK(blocks() == before);
    for (const ipam::Block& block : a->file->blocks(soon())) CHECK(block.boot_id == "boot-a2");
}

TEST_CASE_METHOD(Blocks, "the blocks of another machine that was this Node are not taken, unless its id is not known") {
    if (!is_there()) return;
    auto a = node("a");
    const std::string first = a->reserve("c", {claim(kRange)});
    const std::string before = blocks();
    const std::string machine = GENERATE("", "another");
    TestNode b(*this, a->name(), "boot-of-b");
    b.machine_id = machine;
    report_machine(a->name(), machine);
    report_boot(a->name(), b.boot());
    const std::string second = b.reserve("new", {claim(kRange)});
    CHECK_THAT(second, Contains("/24"));
    if (machine.empty()) {
        CHECK(blocks() == before);
        return;
    }
    CHECK_FALSE(prefix(before.substr(0, before.find(' '))).contains(prefix(second).address()));
    b.now.boot += 600;
    b.store->settle(kIdleBlock, soon());
    CHECK_THAT(blocks(), Contains(before) && Contains(", "));
}

TEST_CASE_METHOD(Blocks, "a block of this boot that the file does not know is left alone") {
    if (!is_there()) return;
    auto a = node("a");
    const std::string first = a->reserve("lost", {claim(kRange)});
    const std::string before = blocks();
    a->lose_state();
    const std::string second = a->reserve("new", {claim(kRange)});
    CHECK(second != first);
    CHECK_THAT(blocks(), Contains(before) && Contains(", "));
    REQUIRE(a->warnings.size() == 1);
    CHECK_THAT(a->warnings.front(), Contains("left alone until the node reboots"));
}

TEST_CASE_METHOD(Blocks, "a block that a lost file had is used again when nothing on the node has its addresses") {
    if (!is_there()) return;
    auto a = node("a");
    const std::string first = a->reserve("lost", {claim(kRange)});
    const std::string of_first = blocks();
    a->empty_state();
    std::string use = "network namespace /proc/7/ns/net has " + first;
    std::vector<std::string> asked;
    const BlocksStore::FindUse find_use = [&](const base::IpPrefix& block) {
        asked.push_back(block.to_string() + " a");
        return use;
    };
    CHECK(a->reserve("new", {claim(kRange)}) != first);
    a->warnings.clear();
    SECTION("not before every ADD of before has ended") {
        CHECK_FALSE(a->store->tidy(soon(), find_use));
        CHECK(asked.empty());
        CHECK_THAT(a->warnings.front(), Contains("run `rdmanet gc` again"));
    }
    a->now.boot += 120;
    SECTION("not while something has one of them") {
        CHECK_FALSE(a->store->tidy(soon(), find_use));
        CHECK(asked == std::vector{of_first});
        CHECK_THAT(a->warnings.front(), Contains(use));
        a->warnings.clear();
    }
    SECTION("not by calls that cannot look at the node") {
        CHECK_FALSE(a->store->tidy(soon()));
        a->store->settle(kIdleBlock, soon());
        CHECK_THAT(a->states(), !Contains("earlier"));
    }
    SECTION("not if it was another directory's file") {
        a->lose_state();
        CHECK_FALSE(a->store->tidy(soon(), find_use));
        a->now.boot += 120;
        CHECK_FALSE(a->store->tidy(soon(), find_use));
        CHECK(asked.empty());
        CHECK_THAT(a->warnings.back(), Contains("another state directory"));
        return;
    }
    use.clear();
    CHECK(a->store->tidy(soon(), find_use));
    CHECK_THAT(a->states(), Contains("earlier"));
    std::set<std::string> given;
    for (const std::string& address : fill(*a, kRange, 29)) CHECK(given.insert(address).second); // .0 is not usable
    CHECK(given.contains(first));
    asked.clear();
    CHECK(a->store->tidy(soon(), find_use)); // nothing is left to look for
    CHECK(asked.empty());
}

TEST_CASE_METHOD(Blocks, "a new file goes on with a block that the journal shows, and gives none of its leases twice") {
    if (!is_there()) return;
    auto a = node("a");
    std::set<std::string> given;
    for (const std::string& address : fill(*a, kRange, 5)) given.insert(address);
    a->journal = a->file->list_all(soon());
    const std::string before = blocks();
    a->lose_state();
    for (const std::string& address : fill(*a, kRange, 10, "new")) CHECK(given.insert(address).second);
    CHECK(blocks() == before);
    CHECK(a->warnings.empty());
}

TEST_CASE_METHOD(Blocks, "a new file leaves a block alone if not all of the journal can be read") {
    if (!is_there()) return;
    auto a = node("a");
    const std::string first = a->reserve("seen", {claim(kRange)});
    a->journal = a->file->list_all(soon());
    (void)a->reserve("unreadable", {claim(kRange)}); // what its record has
    const std::string before = blocks();
    a->lose_state();
    a->has_unreadable_records = true;
    CHECK(a->reserve("seen", {claim(kRange)}) == first);
    const std::string second = a->reserve("new", {claim(kRange)});
    CHECK_THAT(blocks(), Contains(before) && Contains(", "));
    const auto mine = a->file->blocks(soon());
    REQUIRE(mine.size() == 1);
    CHECK(mine.front().prefix.contains(prefix(second).address()));
    CHECK(!mine.front().prefix.contains(prefix(first).address()));
    REQUIRE(a->warnings.size() == 1);
    CHECK_THAT(a->warnings.front(), Contains("1 block of this node") && Contains("cannot be read"));
}

TEST_CASE_METHOD(Blocks, "after a reboot, blocks of ranges that nobody uses any more go back") {
    if (!is_there()) return;
    auto a = node("a");
    const std::string other = "10.7.0.0/24";
    fill(*a, kRange, 1);
    fill(*a, other, 17, "other"); // two blocks
    const std::string before = blocks();
    CHECK(std::count(before.begin(), before.end(), ',') == 2);
    a->reboot("boot-a2");
    report_boot(a->name(), "boot-a2");
    fill(*a, kRange, 1);
    CHECK(blocks() == before);
    a->store->settle(kIdleBlock, soon());
    CHECK(blocks() == before);
    CHECK_THAT(a->states(), Contains("10.0.0.") && Contains("10.7.0.") && Contains("earlier"));
    a->now.boot += 600;
    a->store->settle(kIdleBlock, soon());
    const auto left = a->file->blocks(soon());
    REQUIRE(left.size() == 1);
    CHECK(blocks() == left.front().prefix.to_string() + " a");
    CHECK(left.front().range == prefix(kRange));
    CHECK_THAT(fill(*a, other, 1, "later").front(), Contains("/24"));
}

TEST_CASE_METHOD(Blocks, "two state directories of a node leave each other's blocks alone") {
    if (!is_there()) return;
    auto a = node("a");
    TestNode other(*this, a->name(), a->boot());
    std::set<std::string> given;
    for (int number = 0; number < 20; ++number) {
        CHECK(given.insert(a->reserve("a" + std::to_string(number), {claim(kRange)})).second);
        CHECK(given.insert(other.reserve("b" + std::to_string(number), {claim(kRange)})).second);
    }
}

TEST_CASE_METHOD(Blocks, "a requested address is a block of one, and goes back with its lease") {
    if (!is_there()) return;
    auto a = node("a");
    auto b = node("b");
    a->requestable = b->requestable = {prefix("10.0.0.64/26")};
    CHECK(a->reserve("c", {wanting(kRange, "10.0.0.70")}) == "10.0.0.70/24");
    CHECK(blocks() == "10.0.0.70/32 a");
    CHECK_THAT(refusal(*b, {wanting(kRange, "10.0.0.70")}), Contains("node " + a->name()) && Contains("rdmanet gc"));
    CHECK(a->release("c") == "10.0.0.70/24");
    CHECK(a->states() == "10.0.0.70/32 closed");
    a->store->settle(kIdleBlock, soon());
    CHECK(blocks().empty());
    CHECK(b->reserve("c", {wanting(kRange, "10.0.0.70")}) == "10.0.0.70/24");
    fill(*b, kRange, 3);
    CHECK(b->release("c") == "10.0.0.70/24");
    // Given back, and wanted again before the cluster knows: one write makes it ours again.
    CHECK(b->reserve("d", {wanting(kRange, "10.0.0.70")}) == "10.0.0.70/24");
    CHECK_THAT(blocks(), Contains("10.0.0.70/32 b"));
    // Outside of that part, an address comes with its block, and one of another node's block doesn't come.
    CHECK(b->reserve("e", {wanting(kRange, "10.0.0.20")}) == "10.0.0.20/24");
    CHECK_THAT(blocks(), Contains("10.0.0.16/28 b"));
    CHECK_THAT(refusal(*a, {wanting(kRange, "10.0.0.21")}), Contains("block 10.0.0.16/28 of node " + b->name()));
}

TEST_CASE_METHOD(Blocks,
                 "an address that the configuration sets is in the range that has it, or that its prefix length says") {
    if (!is_there()) return;
    auto a = node("a");
    auto b = node("b");
    const auto fixed = [&](const char* range, const char* address) {
        ipam::Claim claim = wanting(range, address);
        claim.usable.clear();
        return claim;
    };
    SECTION("with a range of its own network") {
        const auto both = std::vector{claim("10.0.0.0/16"), fixed("10.0.0.5/32", "10.0.0.5")};
        CHECK_THAT(a->reserve("c", both), Contains("10.0.0.5/32"));
        CHECK(ranges() == "10.0.0.0/16");
        CHECK_THAT(b->reserve("d", {claim("10.0.0.0/16")}), Contains("/16"));
    }
    SECTION("without a range, and then another network has one") {
        CHECK(a->reserve("c", {fixed("10.9.0.0/24", "10.9.0.5")}) == "10.9.0.5/24");
        CHECK(ranges() == "10.9.0.0/24");
        CHECK_THAT(blocks(), Contains("10.9.0.0/28 a"));
        CHECK_THAT(b->reserve("d", {claim("10.9.0.0/24")}), Contains("/24"));
        CHECK_THAT(refusal(*b, {fixed("10.9.0.0/24", "10.9.0.6")}), Contains("10.9.0.6") && Contains(a->name()));
    }
    SECTION("in a range that the cluster has") {
        CHECK(a->reserve("c", {claim(kRange)}) != "");
        CHECK(b->reserve("d", {fixed("10.0.0.250/32", "10.0.0.250")}) == "10.0.0.250/32");
        CHECK_THAT(blocks(), Contains("10.0.0.250/32 b"));
        CHECK(ranges() == kRange);
    }
}

TEST_CASE_METHOD(Blocks, "a configured address does not keep its network's range from being recorded") {
    if (!is_there()) return;
    auto a = node("a");
    ipam::Claim fixed = wanting(kRange, "10.0.0.250");
    fixed.usable.clear();
    CHECK_THAT(a->reserve("c", {claim(kRange), fixed}), Contains("10.0.0.250/24"));
    CHECK(ranges() == kRange);
    CHECK_THAT(blocks(), Contains("10.0.0.250/32 a"));
    auto b = node("b");
    CHECK_THAT(b->reserve("d", {claim(kRange)}), Contains("/24"));
}

TEST_CASE_METHOD(Blocks, "blocks go back by the kubeconfig that the node has by now, if it names the same cluster") {
    if (!is_there()) return;
    auto a = node("a");
    a->requestable = {prefix("10.0.0.64/28")};
    const auto kubeconfig = [&] { return a->file->ranges(soon()).front().kubeconfig; };
    CHECK(a->reserve("c", {wanting(kRange, "10.0.0.70")}) == "10.0.0.70/24");
    CHECK(a->reserve("d", {wanting(kRange, "10.0.0.71")}) == "10.0.0.71/24");
    CHECK(a->release("c") != "");
    a->kubeconfig = "/new";
    a->start();
    a->store->settle(kIdleBlock, soon());
    CHECK(blocks() == "10.0.0.71/32 a");
    CHECK(kubeconfig() == "/new");
    CHECK(a->release("d") != "");
    delete_block("10.0.0.71-32"); // a cluster without the block may be another one
    a->kubeconfig = "/other";
    a->start();
    a->store->settle(kIdleBlock, soon());
    CHECK(kubeconfig() == "/new");
    CHECK(a->states() == "10.0.0.71/32 closed");
}

TEST_CASE_METHOD(Blocks, "the cluster's record of a range decides, and who differs is told both") {
    if (!is_there()) return;
    auto a = node("a");
    a->block_size = 32;
    fill(*a, kRange, 1);
    CHECK(a->file->blocks(soon()).front().prefix.length() == 27);
    auto b = node("b");
    fill(*b, kRange, 1);
    CHECK(b->file->blocks(soon()).front().prefix.length() == 27);
    auto c = node("c");
    c->block_size = 16;
    CHECK_THAT(refusal(*c, {claim(kRange)}), Contains("\"blockSize\" 16") && Contains("has 32"));
}

TEST_CASE_METHOD(Blocks, "a range in which a node has a slice of whereabouts with leases is not cut into blocks") {
    if (!is_there()) return;
    auto a = node("a");
    const std::string pools = "/apis/whereabouts.cni.cncf.io/v1alpha1/namespaces/kube-system/ippools";
    const auto make_pool = [&](const std::string& name, const std::string& range) {
        create(pools, R"({"apiVersion":"whereabouts.cni.cncf.io/v1alpha1","kind":"IPPool","metadata":{"name":")" +
                          name + R"("},"spec":{"range":")" + range +
                          R"(","allocations":{"1":{"id":"old","podref":"a/b"}}}})");
    };
    make_pool(space + "-other-10.0.1.0-24", "10.0.1.0/24"); // no node has this name: it is a network's
    make_pool(space + "-" + a->name() + "-10.8.1.0-24", "10.8.1.0/24");
    make_pool(space + "-" + a->name() + "-fd00-8---112", "fd00:8::/112");
    CHECK_THAT(refusal(*a, {claim("10.8.0.0/16")}),
               Contains("1 lease in whereabouts' IPPool " + space + "-" + a->name() + "-10.8.1.0-24"));
    CHECK_THAT(refusal(*a, {claim("fd00:8::/64")}), Contains("-fd00-8---112"));
    CHECK(ranges().empty());
    CHECK_THAT(a->reserve("c", {claim("10.0.0.0/16")}), Contains("/16"));
}

TEST_CASE_METHOD(Blocks, "a range in which whereabouts has leases is not cut into blocks") {
    if (!is_there()) return;
    auto a = node("a");
    const std::string pools = "/apis/whereabouts.cni.cncf.io/v1alpha1/namespaces/kube-system/ippools";
    const std::string pool = pools + "/" + space + "-10.0.0.0-24";
    create(pools,
           R"({"apiVersion":"whereabouts.cni.cncf.io/v1alpha1","kind":"IPPool","metadata":{"name":")" + space +
               R"(-10.0.0.0-24"},"spec":{"range":"10.0.0.0/24","allocations":{"1":{"id":"old","podref":"a/b"}}}})");
    CHECK_THAT(refusal(*a, {claim(kRange)}), Contains("1 lease in whereabouts' IPPool " + space + "-10.0.0.0-24"));
    // The pool of a smaller or larger subnet has the same addresses.
    CHECK_THAT(refusal(*a, {claim("10.0.0.0/20")}), Contains("IPPool " + space + "-10.0.0.0-24"));
    CHECK_THAT(refusal(*a, {claim("10.0.0.0/28")}), Contains("IPPool " + space + "-10.0.0.0-24"));
    CHECK(ranges().empty());
    // Whoever may not look does not know that there is none.
    a->connect = [this] { return connect("limited"); };
    CHECK_THAT(refusal(*a, {claim(kRange)}), Contains("forbidden"));
    a->connect = nullptr;
    a->start();
    patch(pool, R"([{"op":"remove","path":"/spec/allocations/1"}])");
    CHECK_THAT(a->reserve("new", {claim(kRange)}), Contains("/24"));
}

TEST_CASE_METHOD(Blocks, "both families, or none") {
    if (!is_there()) return;
    auto a = node("a");
    CHECK_THAT(a->reserve("c", {claim(kRange), claim("fd00:1:2::/64")}), Contains("/24 fd00:1:2:") && Contains("/64"));
    CHECK_THAT(blocks(), Contains("/28 a") && Contains("/124 a"));
    auto b = node("b");
    ipam::Claim taken = wanting(kRange, a->file->list_all(soon()).front().address.address().to_string());
    CHECK_THAT(refusal(*b, {claim("fd00:1:2::/64"), taken}), Contains("of node " + a->name()));
    CHECK(b->file->list_all(soon()).empty());
    CHECK(a->release("c") != "");
    CHECK(a->file->list_all(soon()).empty());
}

TEST_CASE_METHOD(Blocks, "ranges that are unique only in themselves have objects of their own") {
    if (!is_there()) return;
    auto a = node("a");
    ipam::Claim narrow = claim("10.0.0.0/24");
    narrow.space = space + "@10.0.0.0/24";
    ipam::Claim wide = claim("10.0.0.0/16");
    wide.space = space + "@10.0.0.0/16";
    CHECK_THAT(a->reserve("c", {narrow, wide, claim("10.0.0.0/20")}), Contains("/24 ") && Contains("/16 "));
    const auto object = std::get<kube::Object>(
        admin->get(std::string(kRangesPath) + "/" + space + "--10.0.0.0-24--10.0.0.0-24", soon()));
    CHECK(object.content.root().at("spec").at("space").string() == narrow.space);
}

TEST_CASE_METHOD(Blocks, "a call that waits for another one of its node does not wait for the silent server as well") {
    if (!is_there()) return;
    auto a = node("a");
    CHECK_THAT(a->reserve("before", {claim("10.1.0.0/24")}), Contains("/24")); // the file is there
    a->file.reset();
    std::atomic<int> requests{0};
    const http::test::ScriptedServer silent([&](http::test::Connection& connection) {
        if (!connection.read_request().empty()) ++requests;
        (void)connection.read_request(); // until the client gives up
    });
    a->connect = [&] {
        return std::make_unique<kube::Api>(kube::Access{.server = http::Url::parse(silent.url())},
                                           http::Limits{.connect = 60s, .request = 3s});
    };
    const pid_t first = ::fork();
    if (first == 0) {
        a->start();
        (void)try_to_reserve(*a, "first", {claim(kRange)});
        ::_exit(0);
    }
    REQUIRE(comes_true([&] { return requests == 1; })); // the first one has the lock
    a->start();
    std::string said = try_to_reserve(*a, "second", {claim(kRange)});
    CHECK_THAT(said, Contains(silent.url()) && Contains("no answer") && Contains("another call"));
    CHECK(requests == 1);
    int status = 0;
    REQUIRE(::waitpid(first, &status, 0) == first);
    // One that comes later asks for itself.
    a->start();
    said = try_to_reserve(*a, "third", {claim(kRange)});
    CHECK_THAT(said, Contains(silent.url()) && !Contains("another call"));
    CHECK(requests == 2);
}

TEST_CASE_METHOD(Blocks, "a call that gives up waiting for another one of its node says which server that one asks") {
    if (!is_there()) return;
    auto a = node("a");
    int ready[2];
    REQUIRE(::pipe(ready) == 0);
    const pid_t holder = ::fork();
    if (holder == 0) {
        const base::FileLock lock(a->directory->path() + "/blocks.lock", 0, "nothing", soon());
        (void)!::write(ready[1], "x", 1);
        for (;;) ::pause();
    }
    char byte = 0;
    REQUIRE(::read(ready[0], &byte, 1) == 1);
    a->start();
    try {
        (void)a->store->reserve(owner("c", "p"), {claim(kRange)}, base::Deadline::in(1s));
        FAIL("there is no block");
    } catch (const base::LockTimeout& error) {
        CHECK_THAT(error.what(),
                   Contains(connect()->server()) && Contains(", after ") && Contains(std::to_string(holder)));
    }
    (void)::kill(holder, SIGKILL);
    int status = 0;
    (void)::waitpid(holder, &status, 0);
    for (const int fd : ready) (void)::close(fd);
}

TEST_CASE_METHOD(Blocks, "processes of a node that need a block at once take one") {
    if (!is_there()) return;
    auto a = node("a");
    a->file.reset();
    constexpr int kProcesses = 6;
    for (int number = 0; number < kProcesses; ++number) {
        if (::fork() != 0) continue;
        bool is_done = false;
        try {
            a->start();
            is_done = a->reserve("c" + std::to_string(number), {claim(kRange)}).ends_with("/24");
        } catch (const std::exception&) {
        }
        ::_exit(is_done ? 0 : 1);
    }
    for (int number = 0; number < kProcesses; ++number) {
        int status = 0;
        REQUIRE(::wait(&status) > 0);
        CHECK(status == 0);
    }
    a->start();
    CHECK(a->file->list_all(soon()).size() == kProcesses);
    CHECK(a->file->blocks(soon()).size() == 1);
    CHECK(blocks().find(',') == std::string::npos);
}
