#include "fixture.hpp"

#include <rdmanet/ipam/store/block_file.hpp>

#include <catch2/catch.hpp>

using namespace rdmanet;
using namespace rdmanet::ipam;
using namespace rdmanet::ipam::test;
using namespace std::chrono_literals;

namespace {

class FileFixture {
public:
    FileFixture() : file(options("boot")) { file.put_range(range, soon()); }

    [[nodiscard]] BlockFile::Options options(const std::string& boot) {
        return {.state_directory = directory.path(),
                .boot_id = boot,
                .known_leases = [this] { return known; },
                .clock = [this] { return now; }};
    }
    [[nodiscard]] Block block(std::string_view text, BlockState state = BlockState::claiming) const {
        return {.space = "",
                .prefix = prefix(text),
                .range = range.subnet,
                .state = state,
                .version = "1",
                .node_uid = "uid",
                .boot_id = "boot"};
    }
    [[nodiscard]] std::string reserve(const std::string& who, Claim one = claim("10.0.0.0/24")) {
        return text_of(file.reserve(owner(who), {std::move(one)}, soon()));
    }
    /// "BLOCK STATE" of each.
    [[nodiscard]] std::string states() {
        static constexpr const char* kNames[] = {"claiming", "open", "closed", "earlier", "lost"};
        std::string text;
        for (const Block& one : file.blocks(soon()))
            text +=
                (text.empty() ? "" : ", ") + one.prefix.to_string() + " " + kNames[static_cast<std::size_t>(one.state)];
        return text;
    }

    Time now{.boot = 1000, .epoch = 1'700'000'000};
    TemporaryDirectory directory;
    std::vector<Lease> known;
    BlockRange range{.space = "", .subnet = prefix("10.0.0.0/24"), .requestable = prefix("10.0.0.240/28")};
    BlockFile file;
};

} // namespace

TEST_CASE_METHOD(FileFixture, "addresses come from open blocks only") {
    CHECK(reserve("a") == "exhausted");
    file.add(block("10.0.0.16/28"), soon());
    CHECK(reserve("a") == "exhausted");
    file.open(block("10.0.0.16/28"), soon());
    CHECK(reserve("a") == "10.0.0.16/24");
    CHECK(reserve("a") == "10.0.0.16/24");
    CHECK(states() == "10.0.0.16/28 open");
    for (int number = 1; number < 16; ++number) CHECK(reserve("b" + std::to_string(number)) != "exhausted");
    CHECK(reserve("c") == "exhausted");
    file.open(block("10.0.0.48/28"), soon());
    CHECK(reserve("c") == "10.0.0.48/24");
    CHECK(file.usage(claim("10.0.0.0/24"), soon()).leases == 17);
    CHECK_NOTHROW(file.list_all(soon()));
}

TEST_CASE_METHOD(FileFixture, "a range that makes no sense is not written down, and one in the file is damage") {
    BlockRange wrong = range;
    wrong.block_size = 0; // as the cluster has it for another store
    CHECK_THROWS_AS(file.put_range(wrong, soon()), StoreError);
    CHECK(file.ranges(soon()) == std::vector{range});
    wrong.block_size = 1U << 30U;
    file.put_range(wrong, soon());
    CHECK_THROWS_AS(file.ranges(soon()), DamagedStore);
    CHECK(file.repair(soon()));
    CHECK(file.ranges(soon()).empty());
    CHECK(!file.repair(soon()));
}

TEST_CASE_METHOD(FileFixture, "excludes cut through blocks") {
    file.open(block("10.0.0.16/28"), soon());
    Claim one = claim("10.0.0.0/24", {{ip("10.0.0.5").value(), ip("10.0.0.18").value()},
                                      {ip("10.0.0.31").value(), ip("10.0.0.40").value()}});
    one.usable.front().first = ip("10.0.0.18").value();
    CHECK(reserve("a", one) == "10.0.0.18/24");
    CHECK(reserve("b", one) == "10.0.0.31/24");
    CHECK(reserve("c", one) == "exhausted");
}

TEST_CASE_METHOD(FileFixture, "a closed block gives nothing, and what it still had is released all the same") {
    file.open(block("10.0.0.240/32"), soon());
    CHECK(reserve("a", wanting(claim("10.0.0.0/24"), "10.0.0.240")) == "10.0.0.240/24");
    CHECK(reserve("b", wanting(claim("10.0.0.0/24"), "10.0.0.241")) == "exhausted");
    CHECK(reserve("b", wanting(claim("10.0.0.0/24"), "10.0.0.240")) == "taken by a");
    CHECK(reserve("b") == "exhausted"); // not without a request
    CHECK(text_of(file.release(owner("a").key, soon())) == "10.0.0.240/24");
    CHECK(states() == "10.0.0.240/32 closed");
    CHECK(reserve("b", wanting(claim("10.0.0.0/24"), "10.0.0.240")) == "exhausted");
    file.remove(block("10.0.0.240/32"), soon());
    CHECK(states().empty());
}

TEST_CASE_METHOD(FileFixture, "one empty block is kept, others go when they are idle for long") {
    file.open(block("10.0.0.16/28"), soon());
    file.open(block("10.0.0.32/28"), soon());
    file.open(block("10.0.0.48/28"), soon());
    CHECK(reserve("a") == "10.0.0.16/24");
    now.boot += 599;
    CHECK_FALSE(file.close_idle(600s, soon()));
    now.boot += 1;
    CHECK(file.close_idle(600s, soon()));
    CHECK(states() == "10.0.0.16/28 open, 10.0.0.32/28 closed, 10.0.0.48/28 open");
    CHECK(text_of(file.release(owner("a").key, soon())) == "10.0.0.16/24");
    CHECK(file.close_idle(600s, soon())); // the one that was just used is kept
    CHECK(states() == "10.0.0.16/28 open, 10.0.0.32/28 closed, 10.0.0.48/28 closed");
}

TEST_CASE_METHOD(FileFixture, "blocks of another boot give nothing until the cluster has answered") {
    file.open(block("10.0.0.16/28"), soon());
    CHECK(reserve("a") == "10.0.0.16/24");
    BlockFile later(options("later"));
    CHECK(text_of(later.reserve(owner("b"), {claim("10.0.0.0/24")}, soon())) == "exhausted");
    later.open(block("10.0.0.16/28"), soon());
    CHECK(text_of(later.reserve(owner("b"), {claim("10.0.0.0/24")}, soon())) == "10.0.0.17/24");
    CHECK(reserve("c") == "exhausted");
}

TEST_CASE_METHOD(FileFixture, "a file made anew has another name, and the leases that the journal knows") {
    const std::string id = file.id(soon());
    CHECK(id.size() == 49); // a random number and that of its place
    CHECK(file.id(soon()) == id);
    known.push_back({.space = "", .slot = 0, .address = prefix("10.0.0.20/24"), .owner = owner("a"), .since = 1});
    std::filesystem::remove(file.path());
    BlockFile anew(options("boot"));
    CHECK(text_of(anew.find(owner("a").key, soon())) == "10.0.0.20/24");
    CHECK(anew.id(soon()) != id);
    CHECK(anew.blocks(soon()).empty());
    CHECK(text_of(anew.release(owner("a").key, soon())) == "10.0.0.20/24");
}

TEST_CASE_METHOD(FileFixture, "what rests in a block is forgotten with it") {
    file.open(block("10.0.0.16/28"), soon());
    CHECK(reserve("a", resting(claim("10.0.0.0/24"), 300)) == "10.0.0.16/24");
    CHECK(text_of(file.release(owner("a").key, soon())) == "10.0.0.16/24");
    CHECK(file.usage(claim("10.0.0.0/24"), soon()).cooling == 1);
    file.open(block("10.0.0.32/28"), soon());
    now.boot += 600;
    CHECK(file.close_idle(600s, soon()));
    file.remove(block("10.0.0.16/28"), soon());
    file.remove(block("10.0.0.32/28"), soon()); // open: it stays
    CHECK(states() == "10.0.0.32/28 open");
    CHECK(file.usage(claim("10.0.0.0/24"), soon()).cooling == 0);
    CHECK_NOTHROW(file.list_all(soon()));
}
