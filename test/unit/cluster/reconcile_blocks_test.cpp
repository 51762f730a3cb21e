// When reconciling marks and frees blocks.
#include "reconcile_fixture.hpp"

#include <catch2/catch.hpp>

using namespace rdmanet;
using namespace rdmanet::cluster;
using namespace rdmanet::cluster::test;
using Catch::Matchers::Contains;

namespace {

constexpr const char* kBlock = "10.9.0.0/28";
constexpr std::chrono::seconds kSoon{100}; // shorter than any wait by more than a run takes

} // namespace

TEST_CASE_METHOD(Leftovers,
                 "a block whose Node is missing is marked, and freed ten minutes after its node has stopped") {
    make_living_node("other");
    make_block(kBlock, "a", {.gone_after = kLeastGoneAfter});
    make_block("10.9.1.0/28", "other");
    const Reconciled first = run();
    CHECK(first.failure.empty());
    CHECK(freed(first).empty());
    CHECK_THAT(kept(first), Contains(kBlock) && Contains("no Node is the machine of node " + name_of("a")) &&
                                Contains("in 1200 s or later"));
    CHECK(mark_of_block(kBlock) == "gone");
    CHECK_THAT(kept(run_after(kLeastGoneAfter + kGoneMargin - kSoon)), Contains(kBlock));
    CHECK(count_asked("PATCH ") == 0);
    CHECK(count_asked("GET " + path_of(kBlock)) == 0); // the list says that it waits
    CHECK(freed(run_after(kSoon)) == std::string(kBlock) + " node-gone");
    CHECK(blocks() == "10.9.1.0/28 other");
    CHECK(mark_of_block("10.9.1.0/28").empty());
}

TEST_CASE_METHOD(Leftovers, "a block whose boot is over or whose machine is off is freed five minutes after its mark") {
    const std::string node = make_living_node("a");
    make_block(kBlock, "a");
    CHECK(run().needed == 1);
    std::string word;
    SECTION("over") {
        report_boot(node, "another");
        word = "over";
    }
    SECTION("off") {
        turn_off(node);
        word = "off";
    }
    CHECK(freed(run()).empty());
    CHECK(mark_of_block(kBlock) == word);
    CHECK(freed(run_after(kOver - kSoon)).empty());
    CHECK(freed(run_after(kSoon)) == std::string(kBlock) + " node-" + word);
    CHECK(blocks().empty());
}

TEST_CASE_METHOD(Leftovers, "another machine that has the name by now says nothing of a boot") {
    const std::string node = make_living_node("a");
    make_block(kBlock, "a");
    report_machine(node, "another");
    report_boot(node, "another");
    CHECK(freed(run()).empty());
    CHECK(mark_of_block(kBlock) == "gone");
    CHECK(freed(run_after(kOver)).empty());
}

TEST_CASE_METHOD(Leftovers, "while kubelet has not said which boot it is, the node is there") {
    report_boot(make_living_node("a"), "");
    make_block(kBlock, "a");
    CHECK(run().needed == 1);
    CHECK(mark_of_block(kBlock).empty());
}

TEST_CASE_METHOD(Leftovers, "a machine that has another name by now is there") {
    make_node("renamed", boot_of("a"));
    make_block(kBlock, "a");
    CHECK(run().needed == 1);
    CHECK(mark_of_block(kBlock).empty());
}

TEST_CASE_METHOD(Leftovers, "another reason starts again") {
    make_block(kBlock, "a");
    (void)run();
    CHECK(mark_of_block(kBlock) == "gone");
    make_node("a", "another");
    CHECK(freed(run_after(kLeastGoneAfter + kGoneMargin)).empty());
    CHECK(mark_of_block(kBlock) == "over");
    CHECK(freed(run_after(kOver - kSoon)).empty());
    CHECK(freed(run_after(kSoon)) == std::string(kBlock) + " node-over");
}

TEST_CASE_METHOD(Leftovers, "a node that comes back takes the mark away, and is gone for as long again") {
    declare("10.9.0.0/16");
    auto a = node("a");
    REQUIRE(a->reserve("c", {claim("10.9.0.0/16")}) != "exhausted");
    const std::string block = a->file->blocks().at(0).prefix.to_string();
    delete_node(a->name());
    (void)run();
    REQUIRE(mark_of_block(block) == "gone");
    make_living_node("a");
    a->store->confirm(soon());
    CHECK(mark_of_block(block).empty());
    delete_node(a->name());
    CHECK(freed(run_after(kGoneAfter + kGoneMargin)).empty());
    CHECK(mark_of_block(block) == "gone");
    CHECK(freed(run_after(kGoneAfter + kGoneMargin)) == block + " node-gone");
}

TEST_CASE_METHOD(Leftovers, "what is read right before a block is marked or freed counts") {
    make_block(kBlock, "a");
    const bool is_marked = GENERATE(false, true);
    if (is_marked) (void)run_after(std::chrono::seconds(0));
    if (is_marked) clock += (kLeastGoneAfter + kGoneMargin).count();
    const auto once = [](const std::string& what, const std::function<void()>& act) {
        return [=, is_done = false](const std::string& request) mutable {
            if (request.starts_with(what) && !std::exchange(is_done, true)) act();
            return Fate::passes;
        };
    };
    Reconciled result;
    SECTION("its Node is there again") {
        result = run({}, once("GET " + path_of(kBlock), [&] { make_living_node("a"); }));
        CHECK(kept(result).empty());
    }
    SECTION("its node has written it") {
        result = run({}, once("PATCH " + path_of(kBlock),
                              [&] { patch(path_of(kBlock), R"([{"op":"replace","path":"/spec/inUse","value":3}])"); }));
        CHECK(kept(result) == std::string(kBlock) + " somebody else has changed it meanwhile");
    }
    SECTION("its node has written it between the removal of the finalizer and its deletion") {
        if (!is_marked) return;
        result = run({}, once("DELETE " + path_of(kBlock),
                              [&] { patch(path_of(kBlock), R"([{"op":"replace","path":"/spec/inUse","value":3}])"); }));
        CHECK(kept(result) == std::string(kBlock) + " somebody else has changed it meanwhile");
    }
    SECTION("no answer comes") {
        result = run({}, [&](const std::string& request) {
            return request.starts_with("PATCH ") ? Fate::loses_its_answer : Fate::passes;
        });
        CHECK(kept(result) == std::string(kBlock) + " no answer says whether it was changed: run this again");
    }
    SECTION("somebody has removed it") {
        result = run({}, once("GET " + path_of(kBlock), [&] { delete_block(kBlock); }));
        CHECK(kept(result).empty());
        CHECK(blocks().empty());
        return;
    }
    CHECK(freed(result).empty());
    CHECK(blocks() == std::string(kBlock) + " a");
}

TEST_CASE_METHOD(Leftovers, "a process that only looks marks nothing, and names what would be freed") {
    make_block(kBlock, "a");
    const ReconcileOptions only_looks{.act = Act::only_looks};
    CHECK_THAT(kept(run(only_looks)), Contains(kBlock));
    CHECK(mark_of_block(kBlock).empty());
    (void)run();
    clock += (kLeastGoneAfter + kGoneMargin).count();
    CHECK(freed(run(only_looks)) == std::string(kBlock) + " node-gone");
    CHECK(static_cast<std::size_t>(count_asked("GET ")) == requests.size());
    CHECK(blocks() == std::string(kBlock) + " a");
}

TEST_CASE_METHOD(Leftovers, "the status of a range says how many blocks it has, and how many lie empty") {
    const std::string uid = declare("10.9.0.0/16", {.requestable = "10.9.5.0/24"});
    make_living_node("a");
    make_block("10.9.0.0/28", "a", {.range_uid = uid});
    make_block("10.9.0.16/28", "a", {.range_uid = uid, .in_use = 2});
    make_block("10.9.0.32/28", "gone", {.range_uid = uid});
    make_block("10.9.5.1/32", "a", {.range_uid = uid});  // requested
    make_block("10.9.0.48/28", "a", {.range_uid = "b"}); // of another range
    const auto status = [&] {
        const auto outcome = admin->get(path_of_range("10.9.0.0/16"), soon());
        return std::get<kube::Object>(outcome).content.root().at("status").to_text();
    };
    CHECK(run().failure.empty());
    CHECK(status() == R"({"blocks":3,"emptyBlocks":2})");
    (void)run();
    CHECK(count_asked("PATCH ") == 0);
    (void)run_after(kLeastGoneAfter + kGoneMargin);
    CHECK(status() == R"({"blocks":2,"emptyBlocks":1})");
    SECTION("and that no pool and no block of another range has addresses of it") {
        delete_block("10.9.0.48/28");
        (void)run();
        CHECK(status() == R"({"blocks":2,"emptyBlocks":1,"exclusiveUID":")" + uid + "\"}");
        create(objects("ippools"), R"({"apiVersion":"whereabouts.cni.cncf.io/v1alpha1","kind":"IPPool","metadata":{)"
                                   R"("name":")" +
                                       space + R"(-10.9.7.0-24"},"spec":{"range":"10.9.7.0/24","allocations":{}}})");
        (void)run();
        CHECK(status() == R"({"blocks":2,"emptyBlocks":1})");
    }
}

TEST_CASE_METHOD(Leftovers, "blocks that somebody else made stay, and are counted") {
    create(kBlocksPath, R"({"apiVersion":"rdmanet.cni/v1alpha1","kind":"AddressBlock","metadata":{"name":")" + space +
                            R"("},"spec":{"range":"x","block":"y","bootID":"","node":{"name":"..","uid":""}}})");
    const Reconciled result = run();
    CHECK(result.failure.empty());
    CHECK(result.unreadable == 1);
    CHECK(kept(result).empty());
    delete_object(std::string(kBlocksPath) + "/" + space);
}
