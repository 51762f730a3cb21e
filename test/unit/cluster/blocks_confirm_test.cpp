// What the cluster says of a node's blocks, and what the node does about it.
#include "blocks_fixture.hpp"
#include "relay.hpp"

#include "unit/http/scripted_server.hpp"

#include <catch2/catch.hpp>

#include <chrono>
#include <filesystem>

using namespace rdmanet;
using namespace rdmanet::cluster;
using namespace rdmanet::cluster::test;

namespace {

class Confirmations : public BlocksFixture {
public:
    /// A node with a pod in a block.
    std::unique_ptr<TestNode> node_with_pod(Relay* relay = nullptr) {
        declare(kRange, {.gone_after = "20m"});
        auto one = relay == nullptr ? node("a") : node_behind(*relay, "a");
        given = one->reserve("c", {claim(kRange)});
        REQUIRE_THAT(given, EndsWith("/24"));
        block = one->block().prefix.to_string();
        return one;
    }
    /// Another node takes its block, whose object is gone.
    std::unique_ptr<TestNode> thief() {
        auto one = node("b");
        REQUIRE(one->reserve("thief", {wanting(kRange, prefix(given).address().to_string())}) == given);
        return one;
    }
    /// As a network namespace that has an address.
    static BlocksStore::FindUse has(const std::string& address) {
        return [address](const base::IpPrefix& addresses, const std::vector<base::IpAddress>& known) {
            const base::IpAddress one = prefix(address).address();
            const bool is_known = std::find(known.begin(), known.end(), one) != known.end();
            return addresses.contains(one) && !is_known ? "network namespace /proc/7/ns/net has it" : "";
        };
    }
    [[nodiscard]] static std::optional<std::int64_t> confirmed(TestNode& node) { return node.block().confirmed; }

    std::string given; // to pod c
    std::string block;
};

} // namespace

TEST_CASE_METHOD(Confirmations,
                 "a confirmation asks etcd for the Node, the ranges and each block, and writes nothing") {
    Relay relay("rdmanet");
    auto a = node_with_pod(&relay);
    a->now.boot += 121;
    CHECK_THAT(a->reserve("c2", {claim(kRange)}), EndsWith("/24")); // the first one looks for unknown blocks, too
    a->now.boot += 121;
    (void)relay.take_requests();
    CHECK_THAT(a->reserve("d", {claim(kRange)}), EndsWith("/24"));
    CHECK(relay.take_requests() == std::vector<std::string>{std::string("GET ") + kNodesPath + "/" + a->name(),
                                                            std::string("GET ") + kRangesPath + "?limit=500",
                                                            "GET " + path_of(block)});
    CHECK(confirmed(*a) == a->now.boot);
    a->now.boot += 120;
    CHECK_THAT(a->reserve("e", {claim(kRange)}), EndsWith("/24"));
    CHECK(relay.take_requests().empty());
}

TEST_CASE_METHOD(Confirmations, "while no Node of its name and machine exists, a node confirms nothing") {
    auto a = node_with_pod();
    const auto before = confirmed(*a);
    if (GENERATE(true, false))
        delete_node(a->name());
    else
        report_machine(a->name(), "another");
    a->now.boot += 121;
    CHECK_THAT(a->confirm(), Contains("\"nodeName\""));
    CHECK(confirmed(*a) == before);
    CHECK_THAT(a->reserve("d", {claim(kRange)}), EndsWith("/24")); // until the range's goneAfter
    a->now.boot += 1200;
    CHECK_THAT(a->reserve("e", {claim(kRange)}), Contains("\"nodeName\""));
}

TEST_CASE_METHOD(Confirmations, "a Node that is registered again has its UID written before anything is confirmed") {
    Relay relay("rdmanet");
    auto a = node_with_pod(&relay);
    delete_node(a->name());
    make_node("a", a->boot());
    patch(path_of(block), // as reconcile
          R"([{"op":"add","path":"/metadata/annotations","value":{"rdmanet.cni/node-gone":"1700000000 gone"}}])");
    const auto before = confirmed(*a);
    a->now.boot += 121;
    SECTION("reconcile was faster") {
        relay.decide([&](const std::string& request) {
            if (request.starts_with("PATCH ")) delete_block(block);
            return Fate::passes;
        });
        CHECK(a->confirm() == "");
        CHECK(confirmed(*a) == before);
        return;
    }
    CHECK(a->confirm() == "");
    CHECK_THAT(spec_of(block, "node"), Contains(uid_of_node(a->name())));
    const auto object = std::get<kube::Object>(admin->get(path_of(block), soon()));
    CHECK_THAT(object.content.root().to_text(), !Contains("node-gone"));
    CHECK(confirmed(*a) == a->now.boot);
}

TEST_CASE_METHOD(Confirmations,
                 "a block whose object is gone is made again, if the range is there and nobody has its addresses") {
    auto a = node_with_pod();
    delete_block(block);
    const auto what = std::string(GENERATE("free", "range", "pool", "other"));
    INFO(what);
    if (what == "range") undeclare(kRange);
    if (what == "pool")
        make_pool(kRange, "{\"" + std::to_string(static_cast<unsigned>(prefix(given).address().value() & 0xffU)) +
                              R"(":{"id":"old","podref":"a/b"}})");
    std::unique_ptr<TestNode> b;
    if (what == "other") b = thief();
    a->now.boot += 121;
    CHECK(a->confirm() == "");
    if (what == "free") {
        CHECK(blocks() == block + " a");
        CHECK(a->states() == block + " open");
        CHECK(confirmed(*a) == a->now.boot);
        REQUIRE(a->warnings.size() == 1);
        CHECK_THAT(a->warnings.front(), Contains("created again"));
        CHECK(a->store->find_rivals(soon()).empty());
        return;
    }
    CHECK(a->states() == block + " lost");
    REQUIRE(a->reports.size() == 1); // which names the pods' addresses
    CHECK_THAT(a->reports.front(), Contains(block) && Contains("delete this node's pods"));
    if (b) CHECK_THAT(a->reports.front(), Contains("\"" + b->name() + "\""));
    CHECK(a->store->find_rivals(soon()).at(0).holder == (b ? b->name() : ""));
    CHECK(a->confirm() == "");
    CHECK(a->reports.size() == 1);                    // once
    CHECK(a->reserve("c", {claim(kRange)}) == given); // what its pod has already
    const std::string next = a->reserve("d", {claim(kRange)});
    CHECK((!next.ends_with("/24") || !prefix(block).contains(prefix(next).address())));
    CHECK(a->store->adopt(a->file->find(owner("c", "pod-c").key), owner("heir", "pod-c"), soon()).empty());
    (void)a->release("c");
    CHECK_THAT(a->states(), !Contains("lost"));
    if (b) CHECK_THAT(blocks(), Contains(block + " b"));
}

TEST_CASE_METHOD(Confirmations, "a lost block whose object goes is its node's again") {
    auto a = node_with_pod();
    delete_block(block);
    auto b = thief();
    CHECK(a->confirm() == "");
    REQUIRE(a->states() == block + " lost");
    (void)b->release("thief");
    delete_block(block);
    CHECK(a->confirm() == "");
    CHECK(a->states() == block + " open");
    CHECK(blocks() == block + " a");
}

TEST_CASE_METHOD(Confirmations, "the POST of a block that is made again and whose answer is lost leaves it closed") {
    Relay relay("rdmanet");
    auto a = node_with_pod(&relay);
    delete_block(block);
    relay.decide_next_change(Fate::loses_its_answer);
    CHECK_THAT(a->confirm(), Contains("no answer says whether the creation"));
    CHECK(a->states() == block + " closed");
    relay.decide({});
    CHECK(a->confirm() == "");
    CHECK(a->states() == block + " open");
}

TEST_CASE_METHOD(Confirmations,
                 "after a reboot, blocks without a living address go, and others get the boot and stay") {
    auto a = node_with_pod();
    const bool is_living = GENERATE(true, false);
    a->reboot("boot-2");
    if (is_living) a->find_use = has(given);
    CHECK_THAT(a->reserve("new", {claim(kRange)}), Contains("wait until kubelet has reported"));
    CHECK(blocks() == block + " a");
    report_boot(a->name(), "boot-2");
    a->now.boot += 10;
    CHECK_THAT(a->reserve("new", {claim(kRange)}), EndsWith("/24"));
    CHECK(a->block().boot_id == "boot-2");
    if (!is_living) {
        CHECK(blocks() == a->block().prefix.to_string() + " a");
        return;
    }
    CHECK_THAT(blocks(), Contains(block + " a") && Contains(", "));
    CHECK(spec_of(block, "bootID") == "\"boot-2\"");
    CHECK_FALSE(prefix(block).contains(a->block().prefix.address())); // it is never adopted
    REQUIRE(a->warnings.size() == 1);
    CHECK_THAT(a->warnings.front(), Contains("left alone") && Contains("/proc/7/ns/net"));
    a->find_use = nullptr;
    CHECK(a->confirm() == "");
    CHECK(blocks() == a->block().prefix.to_string() + " a");
}

TEST_CASE_METHOD(Confirmations, "the block of another machine that had the Node's name is left alone") {
    auto a = node_with_pod();
    TestNode b(*this, a->name(), "boot-of-b");
    b.machine_id = "another";
    report_machine(a->name(), "another");
    report_boot(a->name(), b.boot());
    CHECK_THAT(b.reserve("new", {claim(kRange)}), EndsWith("/24"));
    CHECK(b.confirm() == "");
    CHECK_THAT(blocks(), Contains(block + " a") && Contains(", "));
}

TEST_CASE_METHOD(Confirmations, "a lease file that was put back gives nothing that a network namespace has") {
    auto a = node_with_pod();
    const std::string copy = a->directory->path() + "/copy";
    std::filesystem::copy_file(a->file->path(), copy);
    const std::string later = a->reserve("later", {claim(kRange)});
    std::filesystem::rename(copy, a->file->path());
    a->find_use = has(later);
    CHECK_THAT(a->reserve("new", {claim(kRange)}), EndsWith("/24"));
    CHECK_THAT(a->states(), StartsWith(block + " closed") || EndsWith(block + " closed"));
    CHECK_FALSE(prefix(block).contains(prefix(text_of(a->file->find(owner("new", "p").key))).address()));
    CHECK_THAT(blocks(), Contains(block + " a"));
    a->find_use = has("192.0.2.1/24"); // that pod is gone
    CHECK(a->confirm() == "");
    CHECK_THAT(a->states(), !Contains("closed"));
}

TEST_CASE_METHOD(Confirmations,
                 "a file that was made again from the journal has its blocks again, and marks the pools") {
    auto a = node_with_pod();
    a->journal = a->file->list_all();
    a->lose_state();
    const bool is_gone = GENERATE(true, false);
    if (is_gone) delete_block(block);
    make_pool(kRange, "{}");
    CHECK(a->confirm() == "");
    CHECK(a->states() == block + " open");
    CHECK(blocks() == block + " a");
    if (is_gone) CHECK_FALSE(mark_of(path_of_pool(kRange)).empty());
    CHECK(a->reserve("d", {claim(kRange)}) != given);
    CHECK(a->block().leases == 2);
}

TEST_CASE_METHOD(Confirmations, "a range of another cluster is no concern of this one") {
    auto a = node_with_pod();
    delete_block(block);
    a->kubeconfig = "/other";
    a->now.boot += 121;
    CHECK(a->confirm() == "");
    CHECK(a->states() == block + " open");
    CHECK(blocks().empty());
    a->kubeconfig = "/k";
    CHECK(a->confirm() == "");
    CHECK(blocks() == block + " a");
}

TEST_CASE_METHOD(Confirmations, "a node goes on while nobody answers, after a second, until the range's goneAfter") {
    auto a = node_with_pod();
    const http::test::ScriptedServer silent([](http::test::Connection& connection) {
        (void)connection.read_request();
        (void)connection.read_request(); // until the client gives up
    });
    a->start();
    a->connect = [&] {
        return std::make_unique<kube::Api>(kube::Access{.server = http::Url::parse(silent.url())},
                                           http::Limits{.connect = 60s, .request = 60s});
    };
    const auto timed = [&](const std::string& container) {
        const auto begun = base::Deadline::Clock::now();
        const std::string got = a->reserve(container, {claim(kRange)});
        return std::pair(got, base::Deadline::Clock::now() - begun);
    };
    a->now.boot += 121;
    const auto [first, waited] = timed("d");
    CHECK_THAT(first, EndsWith("/24"));
    CHECK(waited >= 900ms);
    CHECK(waited < 5s);
    const int calls = a->calls;
    CHECK_THAT(a->reserve("e", {claim(kRange)}), EndsWith("/24")); // nobody is asked for ten seconds
    CHECK(a->calls == calls);
    a->now.boot += 10;
    CHECK_THAT(timed("f").first, EndsWith("/24"));
    CHECK(a->calls > calls);
    a->now.boot += 1200;
    const auto [last, its_wait] = timed("g");
    CHECK_THAT(last, StartsWith("temporary: ") && Contains(silent.url()));
    CHECK(its_wait < 5s);
}

TEST_CASE_METHOD(Confirmations,
                 "with the server away a node goes on as long as it has addresses, then it says why it stops") {
    auto a = node_with_pod();
    a->start();
    a->connect = [] {
        return std::make_unique<kube::Api>(kube::Access{.server = http::Url::parse("http://127.0.0.1:1")},
                                           http::Limits{});
    };
    std::string said;
    int count = 1;
    for (; said.empty() || said.ends_with("/24"); ++count)
        said = a->reserve("c" + std::to_string(count), {claim(kRange)});
    CHECK(count >= 15);
    CHECK_THAT(said, Contains("http://127.0.0.1:1") && Contains("connection refused"));
    const std::string freed = a->release("c3");
    CHECK(a->reserve("late", {claim(kRange)}) == freed);
}

TEST_CASE_METHOD(Confirmations, "kubectl delete waits until the node gives the block back") {
    auto a = node_with_pod();
    delete_object(path_of(block));
    CHECK(blocks() == block + " a going");
    CHECK(a->confirm() == "");
    CHECK(a->reserve("d", {claim(kRange)}) != "");
    CHECK(blocks() == block + " a going");
    for (const char* container : {"c", "d"}) (void)a->release(container);
    undeclare(kRange);
    CHECK(a->confirm() == "");
    CHECK(blocks().empty());
}

TEST_CASE_METHOD(Confirmations,
                 "what is in use is written when it is off by more than half, and with any other write") {
    auto a = node_with_pod();
    CHECK(spec_of(block, "inUse") == "1");
    CHECK(a->reserve("d", {claim(kRange)}) != "");
    CHECK(a->confirm() == "");
    CHECK(spec_of(block, "inUse") == "1"); // off by half
    CHECK(a->reserve("e", {claim(kRange)}) != "");
    CHECK(a->confirm() == "");
    CHECK(spec_of(block, "inUse") == "3");
    CHECK(a->reserve("f", {claim(kRange)}) != "");
    delete_node(a->name());
    make_node("a", a->boot());
    CHECK(a->confirm() == "");
    CHECK(spec_of(block, "inUse") == "4");
    for (const char* container : {"c", "d", "e", "f"}) (void)a->release(container);
    CHECK(a->confirm() == "");
    CHECK(spec_of(block, "inUse") == "0");
}
