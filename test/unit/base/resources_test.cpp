// What is given back on the way out: descriptors, undos; and time.
#include <rdmanet/base/deadline.hpp>
#include <rdmanet/base/error.hpp>
#include <rdmanet/base/rollback.hpp>
#include <rdmanet/base/unique_fd.hpp>

#include <catch2/catch.hpp>

#include <fcntl.h>

#include <chrono>
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

TEST_CASE("a descriptor is closed with its owner and on assignment") {
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
}

TEST_CASE("a released descriptor is not closed, a reset one is") {
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

TEST_CASE("undos run backwards, also past one that fails") {
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
}

TEST_CASE("nothing is undone after a commit") {
    bool undone = false;
    {
        Rollback rollback([](const std::string&, const char*) {});
        rollback.on_failure("x", [&] { undone = true; });
        rollback.commit();
    }
    CHECK_FALSE(undone);
}

TEST_CASE("a deadline runs out, and a part of it is never later than the whole") {
    const auto whole = Deadline::in(milliseconds{50});
    CHECK_FALSE(whole.passed());
    CHECK(whole.remaining() <= milliseconds{50});
    CHECK(whole.at_most(milliseconds{5000}).remaining() <= milliseconds{50});
    CHECK(whole.at_most(milliseconds{0}).passed());
    CHECK(Deadline::in(milliseconds{0}).remaining() == milliseconds{0});
}
