// Many nodes take and give back addresses of a range, while it goes to another store and back again and again.
#include "migrate_fixture.hpp"

#include <catch2/catch.hpp>

#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace rdmanet;
using namespace rdmanet::cluster;
using namespace rdmanet::cluster::test;
using Catch::Matchers::Contains;

namespace {

/// Which addresses somebody has, over all stores.
class Given {
public:
    void take(const std::string& address, const std::string& who) {
        const std::lock_guard<std::mutex> guard(mutex_);
        const auto [at, is_new] = holders_.emplace(address, who);
        if (!is_new) twice_ += address + " of " + at->second + " and " + who + "\n";
        ++count_;
    }
    void give_back(const std::string& address) {
        const std::lock_guard<std::mutex> guard(mutex_);
        holders_.erase(address);
    }
    [[nodiscard]] std::string twice() const {
        const std::lock_guard<std::mutex> guard(mutex_);
        return twice_;
    }
    [[nodiscard]] int count() const {
        const std::lock_guard<std::mutex> guard(mutex_);
        return count_;
    }

private:
    mutable std::mutex mutex_;
    std::map<std::string, std::string> holders_;
    std::string twice_;
    int count_ = 0;
};

/// A node's pods in one of the stores, some at a time.
class Pods {
public:
    using Claiming = std::function<std::string(const std::string& container)>;
    Pods(Given& given, std::string name, Claiming claim, Claiming release)
        : given_(given), name_(std::move(name)), claim_(std::move(claim)), release_(std::move(release)) {}

    /// What the store says.
    std::string start_one() {
        const std::string container = name_ + std::to_string(++count_);
        std::string got = claim_(container);
        if (Moves::is_address(got)) {
            given_.take(got, container);
            alive_.emplace_back(container, got);
        }
        return got;
    }
    void end_oldest() {
        if (alive_.empty()) return;
        given_.give_back(alive_.front().second);
        (void)release_(alive_.front().first);
        alive_.pop_front();
    }
    void run(const std::atomic<bool>& ends) {
        while (!ends) {
            if (!Moves::is_address(start_one())) std::this_thread::sleep_for(10ms);
            if (alive_.size() > 4) end_oldest();
        }
    }

private:
    Given& given_;
    std::string name_;
    Claiming claim_;
    Claiming release_;
    int count_ = 0;
    std::deque<std::pair<std::string, std::string>> alive_; // container and address
};

class CrowdOfMoves : public Moves {
public:
    CrowdOfMoves() { kRange = "10.0.0.0/24"; }

    Pods in_blocks(const std::string& name) {
        TestNode& one = *nodes_.emplace_back(node(name));
        return {given, name,
                [this, &one](const std::string& container) {
                    one.now.boot += 60; // what it knows of a full range is old
                    return add_to_block(one, container);
                },
                [&one](const std::string& container) { return one.release(container); }};
    }
    Pods in_pools(const std::string& name) {
        const auto store = std::make_shared<Pool>(Pool{.api = connect(), .store = nullptr});
        store->store = std::make_unique<WhereaboutsStore>(*store->api, options_of_pools());
        return {given, name,
                [this, store](const std::string& container) {
                    return add_to_pool(*store->store, container, claim(kRange));
                },
                [store](const std::string& container) {
                    return text_of(store->store->release(owner(container, "pod-" + container).key, soon()));
                }};
    }

    /// Which words the command printed that did not move the range.
    std::vector<std::string> move_often(const std::string& to, int times) {
        const auto api = connect("admin");
        std::vector<std::string> refused;
        for (int at = 0; at < times; ++at)
            if (std::string said = migrate_to(to, *api); !said.starts_with("moved")) refused.push_back(said);
        return refused;
    }

    Given given;

private:
    struct Pool {
        std::unique_ptr<kube::Api> api;
        std::unique_ptr<WhereaboutsStore> store;
    };
    std::vector<std::unique_ptr<TestNode>> nodes_;
};

} // namespace

TEST_CASE_METHOD(CrowdOfMoves, "two opposite moves at once, again and again, while nodes of both stores take addresses",
                 "[moves]") {
    if (!is_there()) return;
    std::vector<Pods> pods;
    for (const char* name : {"p1", "p2"}) pods.push_back(in_pools(name));
    for (const char* name : {"b1", "b2", "b3"}) pods.push_back(in_blocks(name));
    REQUIRE(is_address(pods.front().start_one()));

    std::atomic<bool> ends{false};
    std::vector<std::thread> nodes;
    nodes.reserve(pods.size());
    for (Pods& one : pods) nodes.emplace_back([&] { one.run(ends); });
    std::vector<std::string> refused[2];
    std::thread there([&] { refused[0] = move_often("blocks", 10); });
    std::thread back([&] { refused[1] = move_often("whereabouts", 10); });
    there.join();
    back.join();
    ends = true;
    for (std::thread& one : nodes) one.join();
    CHECK(given.twice().empty());
    CHECK(given.count() > 5);
    for (const auto& side : refused)
        for (const std::string& said : side)
            CHECK_THAT(said, Contains("run this command again") || Contains("try again"));

    // Whoever is last wins, and then everybody who may gets an address.
    for (const char* to : {"blocks", "whereabouts", "blocks"}) {
        CAPTURE(to);
        CHECK_THAT(migrate_to(to), Catch::Matchers::StartsWith("moved"));
        const bool is_in_blocks = std::string(to) == "blocks";
        for (std::size_t at = 0; at < pods.size(); ++at)
            if ((at >= 2) == is_in_blocks) CHECK(is_address(pods[at].start_one()));
    }
    for (Pods& one : pods)
        for (int at = 0; at < 10; ++at) one.end_oldest();
    CHECK(given.twice().empty());
}
