// What a node gives from its blocks, and how blocks come and go while nothing goes wrong.
#include "blocks_fixture.hpp"

#include "unit/http/scripted_server.hpp"

#include <rdmanet/base/file_lock.hpp>

#include <catch2/catch.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <map>
#include <set>
#include <thread>

using namespace rdmanet;
using namespace rdmanet::cluster;
using namespace rdmanet::cluster::test;

namespace {

class Blocks : public BlocksFixture {
public:
    static std::vector<std::string> fill(TestNode& node, const ipam::Claim& claim, int count) {
        std::vector<std::string> given;
        for (int number = 0; number < count; ++number)
            given.push_back(node.reserve("f" + std::to_string(number), {claim}));
        return given;
    }
};

} // namespace

TEST_CASE_METHOD(Blocks, "a node takes a block, and asks nobody for the addresses in it") {
    const std::string uid = declare(kRange, {.gone_after = "20m"});
    auto a = node("a");
    const std::string first = a->reserve("c0", {claim(kRange)});
    CHECK_THAT(first, EndsWith("/24"));
    const int calls = a->calls;
    for (int number = 1; number < 12; ++number) {
        const std::string next = a->reserve("c" + std::to_string(number), {claim(kRange)});
        CHECK_THAT(next, EndsWith("/24") && !Contains(first));
    }
    CHECK(a->reserve("c0", {claim(kRange)}) == first);
    CHECK(a->release("c3") != "");
    CHECK(a->calls == calls);
    const std::string its = a->block().prefix.to_string();
    CHECK(blocks() == its + " a");
    CHECK(a->states() == its + " open");
    CHECK(spec_of(its, "rangeUID") == "\"" + uid + "\"");
    CHECK(spec_of(its, "bootID") == "\"" + a->boot() + "\"");
    CHECK(spec_of(its, "machineID") == "\"" + a->machine_id + "\"");
    CHECK(spec_of(its, "goneAfter") == "\"1200s\"");
    CHECK_THAT(spec_of(its, "node"), Contains(uid_of_node(a->name())));
}

TEST_CASE_METHOD(Blocks, "nodes that start at once never have one block, and no address twice") {
    declare(kRange);
    std::vector<std::unique_ptr<TestNode>> nodes;
    for (int number = 0; number < 6; ++number) nodes.push_back(node("n" + std::to_string(number)));
    std::vector<std::vector<std::string>> given(nodes.size());
    std::vector<std::thread> threads;
    for (std::size_t at = 0; at < nodes.size(); ++at)
        threads.emplace_back([&, at] { given[at] = fill(*nodes[at], claim(kRange), 30); });
    for (std::thread& thread : threads) thread.join();
    std::set<std::string> all;
    for (const auto& list : given)
        for (const std::string& address : list) {
            CHECK_THAT(address, EndsWith("/24"));
            all.insert(address);
        }
    CHECK(all.size() == 180);
}

TEST_CASE_METHOD(Blocks, "what a network excludes at the beginning of a range leaves whole blocks at its end") {
    declare(kRange);
    auto a = node("a");
    ipam::Claim one = claim(kRange);
    one.usable = {{ip("10.0.0.192").value(), ip("10.0.0.254").value()}};
    for (const std::string& address : fill(*a, one, 12)) CHECK_THAT(address, EndsWith("/24"));
    CHECK(a->block().prefix.length() == 28);
}

TEST_CASE_METHOD(Blocks, "kubectl shows range, node, size, and what was in use when") {
    declare(kRange);
    auto a = node("a");
    CHECK_THAT(a->reserve("c", {claim(kRange)}), EndsWith("/24"));
    const std::string block = a->block().prefix.to_string();
    const auto outcome = admin->get(path_of(block), soon(), kube::Shape::table);
    const json::Reader table = std::get<kube::Object>(outcome).content.root();
    std::map<std::string, std::string> cells;
    const auto columns = table.at("columnDefinitions").elements();
    const auto row = table.at("rows").elements().at(0).at("cells").elements();
    for (std::size_t at = 0; at < columns.size(); ++at) cells[columns[at].at("name").string()] = row.at(at).to_text();
    CHECK(cells["Range"] == "\"10.0.0.0/24\"");
    CHECK(cells["Block"] == "\"" + block + "\"");
    CHECK(cells["Network"] == "\"" + space + "\"");
    CHECK(cells["Node"] == "\"" + a->name() + "\"");
    CHECK(cells["Size"] == "16");
    CHECK(cells["In use"] == "1");
    for (const char* time : {"Counted", "Age"}) CHECK_THAT(cells[time], !Contains("null") && Contains("\""));
}

TEST_CASE_METHOD(Blocks, "one empty block is kept, others go back after a while") {
    declare(kRange);
    auto a = node("a");
    fill(*a, claim(kRange), 33);
    for (int number = 0; number < 33; ++number) CHECK(a->release("f" + std::to_string(number)) != "");
    const int calls = a->calls;
    a->store->settle(kIdleBlock, soon());
    CHECK(a->calls == calls);
    a->now.boot += 600;
    CHECK(a->settle() == "");
    CHECK(blocks() == a->block().prefix.to_string() + " a");
    CHECK(a->block().state == ipam::BlockState::open);
}

TEST_CASE_METHOD(Blocks, "a requested address is a block of one, and goes back with its lease") {
    declare(kRange, {.requestable = "10.0.0.64/26"});
    auto a = node("a");
    auto b = node("b");
    CHECK(a->reserve("c", {wanting(kRange, "10.0.0.70")}) == "10.0.0.70/24");
    CHECK(blocks() == "10.0.0.70/32 a");
    CHECK_THAT(b->reserve("c", {wanting(kRange, "10.0.0.70")}),
               Contains("node " + a->name()) && Contains("rdmanet gc"));
    CHECK(a->release("c") == "10.0.0.70/24");
    CHECK(a->states() == "10.0.0.70/32 going");
    CHECK(a->reserve("d", {wanting(kRange, "10.0.0.70")}) == "10.0.0.70/24"); // before the cluster has it back
    CHECK(a->release("d") == "10.0.0.70/24");
    CHECK(a->settle() == "");
    CHECK(blocks().empty());
    CHECK(b->reserve("c", {wanting(kRange, "10.0.0.70")}) == "10.0.0.70/24");
    // Outside of that part, an address comes with its block, and one of another node's block doesn't come.
    CHECK(b->reserve("e", {wanting(kRange, "10.0.0.20")}) == "10.0.0.20/24");
    CHECK(blocks() == "10.0.0.16/28 b, 10.0.0.70/32 b");
    CHECK_THAT(a->reserve("e", {wanting(kRange, "10.0.0.21")}), Contains("block 10.0.0.16/28 of node " + b->name()));
}

TEST_CASE_METHOD(Blocks, "an address that the configuration sets comes with the range of its network") {
    declare("10.0.0.0/16");
    auto a = node("a");
    ipam::Claim fixed = wanting("10.0.0.0/16", "10.0.0.5");
    fixed.usable.clear();
    CHECK_THAT(a->reserve("c", {claim("10.0.0.0/16"), fixed}), Contains("10.0.0.5/16"));
    CHECK_THAT(blocks(), Contains("10.0.0.0/28 a"));
    fixed.wanted = ip("10.0.7.9");
    CHECK(a->reserve("d", {fixed}) == "10.0.7.9/16"); // and without one of its network's
}

TEST_CASE_METHOD(Blocks, "processes of a node that need a block at once take one") {
    declare(kRange);
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
    CHECK(a->file->list_all().size() == kProcesses);
    CHECK(blocks() == a->block().prefix.to_string() + " a");
}

TEST_CASE_METHOD(Blocks, "a call that waits for another one of its node does not wait for the silent server as well") {
    auto a = node("a");
    a->file.reset();
    std::atomic<int> requests{0};
    const http::test::ScriptedServer silent([&](http::test::Connection& connection) {
        if (!connection.read_request().empty()) ++requests;
        (void)connection.read_request(); // until the client gives up
    });
    a->connect = [&] {
        return std::make_unique<kube::Api>(kube::Access{.server = http::Url::parse(silent.url())},
                                           http::Limits{.connect = 60s, .request = 1500ms});
    };
    const pid_t first = ::fork();
    if (first == 0) {
        a->start();
        (void)a->reserve("first", {claim(kRange)});
        ::_exit(0);
    }
    REQUIRE(comes_true([&] { return requests == 1; })); // the first one has the lock
    a->start();
    CHECK_THAT(a->reserve("second", {claim(kRange)}),
               Contains(silent.url()) && Contains("did not answer a moment ago"));
    CHECK(requests == 1);
    int status = 0;
    REQUIRE(::waitpid(first, &status, 0) == first);
    a->now.boot += 10;
    CHECK_THAT(a->reserve("third", {claim(kRange)}), Contains(silent.url()) && !Contains("a moment ago"));
    CHECK(requests == 2);
}

TEST_CASE_METHOD(Blocks, "a call that gives up waiting for another one of its node says which server that one asks") {
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
