#include "fixture.hpp"

#include <rdmanet/ipam/store/block_file.hpp>

#include <catch2/catch.hpp>

#include <fstream>

using namespace rdmanet;
using namespace rdmanet::ipam;
using namespace rdmanet::ipam::test;
using namespace std::chrono_literals;

namespace {

class FileFixture {
public:
    FileFixture() : file(options("boot")) { put(range); }

    [[nodiscard]] BlockFile::Options options(const std::string& boot) {
        return {.state_directory = directory.path(),
                .boot_id = boot,
                .known_leases = [this] { return known; },
                .clock = [this] { return now; }};
    }
    [[nodiscard]] Block block(std::string_view text, BlockState state = BlockState::open) const {
        return {.range_uid = range.uid,
                .space = "",
                .prefix = prefix(text),
                .state = state,
                .uid = "uid",
                .version = "1",
                .node_uid = "node",
                .boot_id = "boot",
                .confirmed = now.boot,
                .since = now.boot};
    }
    void put(const Block& one) {
        file.change(soon(), [&](BlockRows& rows) { rows.put(one); });
    }
    void put(const BlockRange& one) {
        file.change(soon(), [&](BlockRows& rows) { rows.put_range(one); });
    }
    [[nodiscard]] std::string reserve(const std::string& who, Claim one = claim("10.0.0.0/24"),
                                      Trust trust = Trust::fresh) {
        return text_of(file.reserve(owner(who), {std::move(one)}, trust, soon()));
    }
    [[nodiscard]] std::string release(const std::string& who) {
        return text_of(file.withdraw(owner(who).key, {}, soon()));
    }
    [[nodiscard]] bool close_idle() {
        bool is_going = false;
        file.change(soon(), [&](BlockRows& rows) { is_going = rows.close_idle(600s); });
        return is_going;
    }
    /// "BLOCK STATE" of each.
    [[nodiscard]] std::string states() {
        static constexpr const char* kNames[] = {"closed", "open", "lost", "going"};
        std::string text;
        for (const Block& one : file.blocks())
            text +=
                (text.empty() ? "" : ", ") + one.prefix.to_string() + " " + kNames[static_cast<std::size_t>(one.state)];
        return text;
    }

    Time now{.boot = 1000, .epoch = 1'700'000'000};
    TemporaryDirectory directory;
    std::vector<Lease> known;
    BlockRange range{.uid = "range",
                     .name = "pods",
                     .space = "",
                     .subnet = prefix("10.0.0.0/24"),
                     .requestable = prefix("10.0.0.240/28")};
    BlockFile file;
};

} // namespace

TEST_CASE_METHOD(FileFixture, "addresses come from open blocks only") {
    CHECK(reserve("a") == "exhausted");
    for (const BlockState state : {BlockState::closed, BlockState::lost, BlockState::going}) {
        put(block("10.0.0.16/28", state));
        CHECK(reserve("a") == "exhausted");
    }
    put(block("10.0.0.16/28"));
    CHECK(reserve("a") == "10.0.0.16/24");
    CHECK(reserve("a") == "10.0.0.16/24");
    CHECK(file.blocks().front().leases == 1);
    for (int number = 1; number < 16; ++number) CHECK(reserve("b" + std::to_string(number)) != "exhausted");
    CHECK(reserve("c") == "exhausted");
    put(block("10.0.0.48/28"));
    CHECK(reserve("c") == "10.0.0.48/24");
    CHECK(file.usage(claim("10.0.0.0/24")).leases == 17);
}

TEST_CASE_METHOD(FileFixture, "what is written is what is read") {
    BlockRange whole{.uid = "u\t1",
                     .name = "name",
                     .space = "blue",
                     .subnet = prefix("fd00::/64"),
                     .block_size = 256,
                     .gone_after = 600s,
                     .is_gone = true,
                     .is_fenced = true,
                     .held_by = {"kube-system/10.0.0.0-24", kOtherBlocks},
                     .kubeconfig = "/etc/kubeconfig",
                     .node_name = "node",
                     .is_scarce = true};
    put(whole);
    CHECK(file.ranges() == std::vector{range, whole});
    Block one = block("fd00::100/120", BlockState::lost);
    one.range_uid = whole.uid;
    one.space = "blue";
    one.confirmed.reset();
    one.holder = "other";
    put(one);
    put(block("10.0.0.16/28"));
    CHECK(file.blocks() == std::vector{block("10.0.0.16/28"), one});
}

TEST_CASE_METHOD(FileFixture, "a confirmation is fresh for two minutes, and is trusted until the range's limit") {
    range.gone_after = 600s;
    put(range);
    put(block("10.0.0.16/28"));
    now.boot += 120;
    CHECK(reserve("a") == "10.0.0.16/24");
    now.boot += 1;
    CHECK(reserve("b") == "exhausted");
    CHECK(reserve("b", claim("10.0.0.0/24"), Trust::lasting) == "10.0.0.17/24");
    CHECK(file.has_free(claim("10.0.0.0/24")));
    now.boot += 480;
    CHECK(reserve("c", claim("10.0.0.0/24"), Trust::lasting) == "exhausted");
    CHECK_FALSE(file.has_free(claim("10.0.0.0/24")));
    Block never = block("10.0.0.16/28");
    never.confirmed.reset();
    put(never);
    CHECK(reserve("c", claim("10.0.0.0/24"), Trust::lasting) == "exhausted");
}

TEST_CASE_METHOD(FileFixture, "a range that is gone gives nothing, and its blocks go as pods end") {
    put(block("10.0.0.16/28"));
    put(block("10.0.0.32/28"));
    CHECK(reserve("a") == "10.0.0.16/24");
    range.is_gone = true;
    put(range);
    CHECK(reserve("b") == "exhausted");
    CHECK(close_idle());
    CHECK(states() == "10.0.0.16/28 open, 10.0.0.32/28 going");
    CHECK(release("a") == "10.0.0.16/24");
    CHECK(states() == "10.0.0.16/28 going, 10.0.0.32/28 going");
    file.change(soon(), [&](BlockRows& rows) {
        rows.forget_range(range.uid);
        CHECK(rows.find_range(range.uid) != nullptr); // it has blocks
        for (const Block& one : rows.blocks()) rows.remove(one);
        rows.forget_range(range.uid);
    });
    CHECK(file.ranges().empty());
}

TEST_CASE_METHOD(FileFixture, "excludes cut through blocks") {
    put(block("10.0.0.16/28"));
    Claim one = claim("10.0.0.0/24", {{ip("10.0.0.18").value(), ip("10.0.0.18").value()},
                                      {ip("10.0.0.31").value(), ip("10.0.0.40").value()}});
    CHECK(reserve("a", one) == "10.0.0.18/24");
    CHECK(reserve("b", one) == "10.0.0.31/24");
    CHECK(reserve("c", one) == "exhausted");
}

TEST_CASE_METHOD(FileFixture, "a block that is for one request goes with its lease") {
    put(block("10.0.0.240/32"));
    CHECK(reserve("a", wanting(claim("10.0.0.0/24"), "10.0.0.240")) == "10.0.0.240/24");
    CHECK(reserve("b", wanting(claim("10.0.0.0/24"), "10.0.0.241")) == "exhausted");
    CHECK(reserve("b", wanting(claim("10.0.0.0/24"), "10.0.0.240")) == "taken by a");
    CHECK(reserve("b") == "exhausted"); // not without a request
    CHECK(release("a") == "10.0.0.240/24");
    CHECK(states() == "10.0.0.240/32 going");
    CHECK(reserve("b", wanting(claim("10.0.0.0/24"), "10.0.0.240")) == "exhausted");
}

TEST_CASE_METHOD(FileFixture, "one empty block is kept, others go when they are idle for long") {
    put(block("10.0.0.16/28"));
    put(block("10.0.0.32/28"));
    put(block("10.0.0.48/28"));
    CHECK(reserve("a") == "10.0.0.16/24");
    now.boot += 599;
    CHECK_FALSE(close_idle());
    now.boot += 1;
    CHECK(close_idle());
    CHECK(states() == "10.0.0.16/28 open, 10.0.0.32/28 going, 10.0.0.48/28 open");
    CHECK(release("a") == "10.0.0.16/24");
    CHECK(close_idle()); // the one that was just used is kept
    CHECK(states() == "10.0.0.16/28 open, 10.0.0.32/28 going, 10.0.0.48/28 going");
}

TEST_CASE_METHOD(FileFixture, "blocks of another boot give nothing") {
    put(block("10.0.0.16/28"));
    BlockFile later(options("later"));
    CHECK(text_of(later.reserve(owner("b"), {claim("10.0.0.0/24")}, Trust::lasting, soon())) == "exhausted");
    CHECK(reserve("a") == "10.0.0.16/24");
}

TEST_CASE_METHOD(FileFixture, "blocks of a file that was put back are unconfirmed") {
    put(block("10.0.0.16/28"));
    const auto copy = directory.path() + "/copy";
    std::filesystem::copy_file(file.path(), copy);
    CHECK(reserve("a") == "10.0.0.16/24");
    std::filesystem::rename(copy, file.path());
    CHECK(file.blocks().front().confirmed == std::nullopt);
    CHECK(reserve("b", claim("10.0.0.0/24"), Trust::lasting) == "exhausted");
    put(block("10.0.0.16/28"));
    std::filesystem::copy_file(file.path(), copy);
    CHECK(reserve("b") == "10.0.0.16/24");
    std::ofstream(file.path(), std::ios::trunc) << std::ifstream(copy).rdbuf(); // into the same file
    CHECK(reserve("c", claim("10.0.0.0/24"), Trust::lasting) == "exhausted");
}

TEST_CASE_METHOD(FileFixture, "a lost block gives nothing, names its holder, and is forgotten with its last lease") {
    put(block("10.0.0.16/28"));
    CHECK(reserve("a") == "10.0.0.16/24");
    Block lost = block("10.0.0.16/28", BlockState::lost);
    lost.holder = "other";
    put(lost);
    CHECK(reserve("b") == "exhausted");
    CHECK(file.find_rivals().at(0).holder == "other");
    CHECK(file.adopt(file.find(owner("a").key), owner("b"), soon()).empty());
    CHECK(release("a") == "10.0.0.16/24");
    CHECK(states().empty());
}

TEST_CASE_METHOD(FileFixture, "a file made anew has the leases that the journal knows, and no block of theirs") {
    known.push_back({.space = "", .slot = 0, .address = prefix("10.0.0.20/24"), .owner = owner("a"), .since = 1});
    std::filesystem::remove(file.path());
    CHECK(text_of(file.find(owner("a").key)) == "10.0.0.20/24");
    CHECK(file.blocks().empty());
    file.change(soon(), [&](BlockRows& rows) {
        CHECK(text_of(rows.leases_without_block()) == "10.0.0.20/24");
        rows.put_range(range);
        rows.put(block("10.0.0.16/28"));
        CHECK(rows.leases_without_block().empty());
    });
    CHECK(release("a") == "10.0.0.20/24");
}

TEST_CASE_METHOD(FileFixture, "of a scarce range the node keeps no empty block") {
    put(block("10.0.0.16/28"));
    put(block("10.0.0.32/28"));
    CHECK(reserve("a") == "10.0.0.16/24");
    range.is_scarce = true;
    put(range);
    CHECK(close_idle());
    CHECK(states() == "10.0.0.16/28 open, 10.0.0.32/28 going");
    CHECK(release("a") == "10.0.0.16/24");
    CHECK(states() == "10.0.0.16/28 going, 10.0.0.32/28 going");
}

TEST_CASE_METHOD(FileFixture, "what rests in a block is forgotten with it") {
    put(block("10.0.0.16/28"));
    CHECK(reserve("a", resting(claim("10.0.0.0/24"), 300)) == "10.0.0.16/24");
    CHECK(release("a") == "10.0.0.16/24");
    CHECK(file.usage(claim("10.0.0.0/24")).cooling == 1);
    file.change(soon(), [&](BlockRows& rows) { rows.remove(block("10.0.0.16/28")); });
    CHECK(states().empty());
    CHECK(file.usage(claim("10.0.0.0/24")).cooling == 0);
}
