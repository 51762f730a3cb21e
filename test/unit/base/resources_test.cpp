// Errors, deadlines, and resources that are released at the end of a scope: descriptors and undos.
#include <rdmanet/base/deadline.hpp>
#include <rdmanet/base/error.hpp>
#include <rdmanet/base/rollback.hpp>
#include <rdmanet/base/unique_fd.hpp>
#include <rdmanet/base/wait.hpp>

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <new>
#include <optional>
#include <string>
#include <utility>

using namespace rdmanet::base;
using std::chrono::milliseconds;

namespace {

int open_null() {
    return ::open("/dev/null", O_RDONLY | O_CLOEXEC);
}
bool is_open(int fd) {
    return ::fcntl(fd, F_GETFD) >= 0;
}

} // namespace

TEST_CASE("a descriptor is closed with its owner, on assignment and on a reset, but not when it is released") {
    const int first = open_null();
    const int second = open_null();
    {
        UniqueFd owner(first);
        owner = UniqueFd(second);
        CHECK_FALSE(is_open(first));
        CHECK(is_open(second));
        UniqueFd moved(std::move(owner));
        CHECK(moved.get() == second);
    }
    CHECK_FALSE(is_open(second));
    UniqueFd owner(open_null());
    const int fd = owner.get();
    {
        UniqueFd other(std::move(owner));
        CHECK(other.release() == fd);
    }
    CHECK(is_open(fd));
    UniqueFd again(fd);
    again.reset();
    CHECK_FALSE(again);
    CHECK_FALSE(is_open(fd));
}

TEST_CASE("undos run backwards, continue after one that fails, and do not run after a commit") {
    std::string order;
    std::string failures;
    {
        Rollback rollback([&](const std::string& what, const char* why) { failures += what + ": " + why; });
        rollback.on_failure("first", [&] { order += "1"; });
        rollback.on_failure("second", [] { throw Error("kernel says no"); });
        rollback.on_failure("third", [&] { order += "3"; });
    }
    CHECK(order == "31");
    CHECK(failures == "second: kernel says no");
    {
        Rollback rollback([](const std::string&, const char*) {});
        rollback.on_failure("x", [&] { order = "undone"; });
        rollback.commit();
    }
    CHECK(order == "31");
}

TEST_CASE("any exception causes the undos, and is the one that propagates") {
    std::string undone;
    std::string failure;
    const auto undo = [&] { undone += "undone "; };
    const auto remember = [&](const char* why) { failure = why; };
    act_or_undo([] {}, undo, remember);
    CHECK(undone.empty());
    CHECK_THROWS_AS(act_or_undo([] { throw Error("pipe closed"); }, undo, remember), Error);
    CHECK_THROWS_AS(act_or_undo([] { throw std::bad_alloc(); }, undo, remember), std::bad_alloc);
    CHECK_THROWS_AS(act_or_undo([] { throw 5; }, undo, remember), int);
    CHECK(undone == "undone undone undone ");
    CHECK(failure.empty());
    const auto failing_undo = [] { throw Error("kernel says no"); };
    CHECK_THROWS_AS(act_or_undo([] { throw std::bad_alloc(); }, failing_undo, remember), std::bad_alloc);
    CHECK(failure == "kernel says no");
}

TEST_CASE("a deadline expires, and a part of it is never later than the whole") {
    const auto whole = Deadline::in(milliseconds{50});
    CHECK_FALSE(whole.passed());
    CHECK(whole.remaining() <= milliseconds{50});
    CHECK(whole.at_most(milliseconds{5000}).remaining() <= milliseconds{50});
    CHECK(whole.at_most(milliseconds{0}).passed());
    CHECK(whole.at_most(Deadline::in(milliseconds{0})).passed());
    CHECK(Deadline::in(milliseconds{0}).at_most(whole).passed());
    CHECK(Deadline::in(milliseconds{0}).remaining() == milliseconds{0});
}

TEST_CASE("a wait looks at once, again after each pause, and no longer than until its deadline") {
    int looks = 0;
    const auto find_at = [&](int most) {
        looks = 0;
        return [&looks, most] { return ++looks == most ? std::optional(looks) : std::nullopt; };
    };
    CHECK(wait_for(Deadline::in(milliseconds{0}), find_at(1)) == 1);
    CHECK(wait_for(Deadline::in(std::chrono::hours{1}), find_at(8)) == 8);
    CHECK_FALSE(wait_for(Deadline::in(milliseconds{0}), find_at(2)));
    CHECK(looks == 1);
    const Pauses endless{.first = std::chrono::hours{1}, .longest = std::chrono::hours{1}};
    CHECK(wait_for(Deadline::in(milliseconds{100}), find_at(2), endless) == 2); // looks once more at the deadline
}

TEST_CASE("a wait for a descriptor looks once, also if its deadline has passed") {
    int ends[2] = {};
    REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
    const UniqueFd reader(ends[0]);
    const UniqueFd writer(ends[1]);
    CHECK_FALSE(wait_for_events(reader.get(), POLLIN, Deadline::in(milliseconds{1})));
    REQUIRE(::write(writer.get(), "x", 1) == 1);
    CHECK(wait_for_events(reader.get(), POLLIN, Deadline::in(milliseconds{0})));
}

TEST_CASE("a system error names what was tried and why it failed") {
    const SystemError error("move link \"eth0\"", EBUSY);
    CHECK(std::string(error.what()) == "move link \"eth0\": device or resource busy");
    CHECK(error.errno_value() == EBUSY);
    CHECK(errno_text(123456) == "error 123456");
}

TEST_CASE("added context precedes the message, and the type stays") {
    try {
        in_context("add", [] { in_context("lease", []() -> void { throw SystemError("open", ENOENT); }); });
        FAIL("no error");
    } catch (const SystemError& error) {
        CHECK(std::string(error.what()) == "add: lease: open: no such file or directory");
        CHECK(error.errno_value() == ENOENT);
    }
    CHECK(in_context("nothing", [] { return 7; }) == 7);
}
